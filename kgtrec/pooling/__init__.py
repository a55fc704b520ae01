"""Runs to pools."""
