"""Frozen columnar types, integer-coded, no I/O."""
