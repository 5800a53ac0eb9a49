"""Clusters of a test's own."""

from tests.runs.conftest import losable

__all__ = ["losable"]
