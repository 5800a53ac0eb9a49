"""Durable storage of datasets, runs and checkpoints."""
