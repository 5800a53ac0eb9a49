"""Data larger than memory: X in blocks of observations, and what is computed block by block."""
