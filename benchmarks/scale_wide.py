"""Cost of one wide block on one core, and an estimate of a pass over very many of them.

A block of 100,000 features with 1,000 stored entries an observation is measured. The rest is
arithmetic: observations, workers, and a network of 10 Gbit/s to the process where sums are
added.
"""

import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import harness
from benchmarks.scale import PARTICLES, RANK
from bnmf_core.blocks.source import MOST_OBSERVATIONS
from bnmf_core.blocks.whole import in_blocks
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.passes import counts, squared_error

OBSERVATIONS, FEATURES, ENTRIES, WORKERS = 10**8, 10**5, 1_000, 100
NETWORK = 10e9 / 8
TARGETS = {"workers below the limit of the network": 100}
COLUMNS = ("", "squared error", "Kullback–Leibler")


def measure(quick: bool = False) -> dict[str, Any]:
    """The table of the plan."""
    n, D, entries = (300, 2_000, 50) if quick else (8_000, FEATURES, ENTRIES)
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, D, (n, entries)), axis=1).ravel().astype(np.int32)
    values = rng.integers(1, 5, n * entries).astype(np.float32)
    X = sparse.csr_array((values, places, np.arange(0, n * entries + 1, entries)), (n, D))
    X.sum_duplicates()
    A = rng.gamma(0.3, 1.0, (PARTICLES, RANK, D))
    A /= A.sum(axis=2, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.npz"
        sparse.save_npz(path, X, compressed=False)
        data = in_blocks(path, sample=200, block_bytes=2**30)
        losses = {SQUARED_ERROR: squared_error.sums, KULLBACK_LEIBLER: counts.sums}
        rates = [
            _rate(Problem.without_model(data, RANK, loss=loss), A, sums)
            for loss, sums in losses.items()
        ]
    return {
        "title": "Very many observations in blocks, planned",
        "summary": [
            f"One block of {D:,} features with {entries:,} stored entries an observation, "
            f"R={RANK}, {PARTICLES} particles, was measured on one core. The rest is arithmetic: "
            f"{OBSERVATIONS:,} observations, single precision and places of 32 bits on the disk."
        ],
        "tables": [{"title": "A pass", "columns": COLUMNS, "rows": _plan(rates, A.nbytes)}],
        "raw": {},
    }


def _rate(problem: Problem, A: np.ndarray, sums: Callable[..., Any]) -> tuple[float, int, float]:
    """Seconds per observation and particle, returned bytes, and seconds to add them."""
    judged = np.zeros(len(A), dtype=bool)
    sums(problem, 0, A, judged)
    start = time.perf_counter()
    found, _ = sums(problem, 0, A, judged)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    for part in (found.slope, found.curvature):
        part + part
    adding = time.perf_counter() - start
    whole = problem.dataset.whole
    return seconds / whole.N / len(A), len(pickle.dumps(found, 5)), adding


def _plan(rates: list[tuple[float, int, float]], sent: int) -> list[list[Any]]:
    tasks = -(-OBSERVATIONS // MOST_OBSERVATIONS)
    read = 8.0 * OBSERVATIONS * ENTRIES
    columns = []
    for each, back, adding in rates:
        work = each * OBSERVATIONS * PARTICLES / WORKERS
        moved = tasks * (sent + back)
        through = moved / NETWORK + tasks * adding
        columns.append(
            {
                "one core, µs an observation and factorization": 1e6 * each,
                "TB of X read": read / 1e12,
                f"s a pass, {WORKERS} workers": work,
                "MB a second that each worker reads": read / WORKERS / work / 1e6,
                f"tasks, of {MOST_OBSERVATIONS:,} observations": tasks,
                "MB to each task": sent / 1e6,
                "MB back from it": back / 1e6,
                "TB to and from tasks": moved / 1e12,
                "s for that at 10 Gbit/s, and to add": through,
                "workers beyond which the network is the limit": work / through * WORKERS,
            }
        )
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    (target,) = TARGETS.values()
    return [*rows, [f"at least {target}", *(beyond >= target for beyond in rows[-1][1:])]]


if __name__ == "__main__":
    harness.main(measure)
