"""Findings of an analysis: typed facts and their sentences."""
