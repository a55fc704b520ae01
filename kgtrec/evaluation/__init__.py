"""Runs and answer ranks to scores."""
