"""Counts under Poisson noise in blocks outside memory; a pass takes about ten times as long."""

from typing import Any

from benchmarks import harness
from benchmarks.scale import TARGETS, measured

__all__ = ["TARGETS", "measure"]

SIZES = (10_000, 100_000)


def measure(quick: bool = False) -> dict[str, Any]:
    """Planted counts of two sizes."""
    return measured((("counts", "poisson"),), (2_000, 6_000) if quick else SIZES, quick)


if __name__ == "__main__":
    harness.main(measure)
