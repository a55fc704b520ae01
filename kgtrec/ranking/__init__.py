"""Scores to answer ranks and runs."""
