"""The whole of it, restartable: a configuration file to a report."""
