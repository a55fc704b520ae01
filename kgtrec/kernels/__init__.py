"""Arrays in, arrays out: no labels, no files, no frames."""
