"""Counts under Poisson noise in blocks outside memory; a pass takes about ten times as long."""

from functools import partial

from benchmarks import harness, scale

SIZES = (10_000, 100_000)
measure = partial(scale.measure, kinds=(("counts", "poisson"),), sizes=SIZES)

if __name__ == "__main__":
    harness.main(measure)
