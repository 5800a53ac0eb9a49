"""One point of the growth curves, in a process of its own: ``python -m benchmarks.growth_point``.

Reads a JSON object {kind, D, N, R, M, iterations, entries_per_column} on standard input, and
prints another: seconds, peak bytes above those of the process before the data, bytes of
the data and of the retained particles.
"""

import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import seconds
from bnmf_core import Dataset, RunSpec, run

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
SHORT = 1.0


def measure(point: dict[str, Any]) -> dict[str, Any]:
    """Time and peak memory of one run with a fixed number of iterations."""
    spec = _spec(point)
    # Compile, and allocate the libraries' buffers, before the measurement.
    run(_dataset(point | {"D": 80, "N": 80}), _spec(point | {"M": 1, "R": min(point["R"], 8)}))
    before = _resident("VmRSS")
    data = _dataset(point)
    peak_counts_generation = not _forget_peak()
    results = []
    took = [seconds(lambda: results.append(run(data, spec)))]
    peak = _resident("VmHWM") - before
    if took[0] < SHORT:
        took += [seconds(lambda: run(data, spec)) for _ in range(2)]
    X = data.X
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if data.is_sparse else X.nbytes
    return point | {
        "seconds": min(took),
        "peak": peak,
        "peak_counts_generation": peak_counts_generation,
        "entries": data.stored_entries,
        "data": stored,
        "kept": results[0].A.nbytes + results[0].W.nbytes,
    }


def _spec(point: dict[str, Any]) -> RunSpec:
    settings = {"max_iterations": point["iterations"], "tolerance": 0.0}
    # A fixed noise level: its estimation takes a varying number of iterations.
    return RunSpec(
        "random_restarts",
        rank=point["R"],
        particles=point["M"],
        settings=settings,
        model_settings={"sigma": 1.0},
    )


def _dataset(point: dict[str, Any]) -> Dataset:
    D, N = point["D"], point["N"]
    rng = np.random.default_rng(0)
    if point["kind"] == "dense":
        X = rng.random((D, N))
        return Dataset.from_array(X)
    each = min(point["entries_per_column"], D)
    # One entry in each band of rows, so that no position repeats.
    width = D // each
    rows = np.arange(each) * width + rng.integers(width, size=(N, each))
    starts = np.arange(0, N * each + 1, each)
    X = sparse.csc_array((rng.random(N * each) + 0.1, rows.ravel(), starts), shape=(D, N))
    return Dataset.from_array(X)


def _resident(name: str) -> int:
    if STATUS.is_file():
        for line in STATUS.read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _forget_peak() -> bool:
    """Reset the peak to the current memory; False if the system cannot."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return True


if __name__ == "__main__":
    print(json.dumps(measure(json.load(sys.stdin))))
