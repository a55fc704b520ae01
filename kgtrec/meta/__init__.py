"""Scores of many systems -> which measures can be trusted: correlation, stability, discriminative power."""
