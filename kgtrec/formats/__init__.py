"""Files <-> data, one file per format; the only place that opens files."""
