"""Precomputed results of the dashboard's lessons."""
