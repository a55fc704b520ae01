"""Scores to ranks."""
