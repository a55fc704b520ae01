"""Measures of ranked lists, and the effect of ties on them."""
