"""Experiments of the papers: runs, measurements, and comparisons with published numbers."""
