"""Measures of ranked lists, and what ties do to them."""
