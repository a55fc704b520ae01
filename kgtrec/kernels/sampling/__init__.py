"""Drawing, fusing and estimating from samples."""
