"""Data larger than memory: stores that are read some observations at a time."""
