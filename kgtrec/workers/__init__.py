"""Work shared by processes, by a cluster, or by whatever has ``submit``."""
