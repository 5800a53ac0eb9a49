"""Factorizations beside each other: arrays in, arrays out."""
