"""Core types: data, factorizations, algorithms, models, errors."""
