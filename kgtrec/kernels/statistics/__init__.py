"""Agreement, correlation, tests, intervals."""
