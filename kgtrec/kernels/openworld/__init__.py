"""Moments and simulation of scores under missing labels."""
