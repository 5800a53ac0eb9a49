"""How time and memory grow with the data, the particles and the rank; limits of the kernels."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from benchmarks import harness, kernels, svg
from benchmarks.tables import part
from bnmf_core import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers.kernels import sweep
from bnmf_core.solvers.solution import gram

TARGETS = {"slope in stored entries": 1.05, "memory over data and particles": 2.0}
PLOTS = Path(__file__).resolve().parent / "plots"
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
BASE = {"M": 10, "R": 5, "iterations": 20, "entries_per_column": 10}
SERIES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "sparse": ("entries", [BASE | {"kind": "sparse", "D": 2000, "N": N} for N in SIZES]),
    "dense": ("entries", [BASE | {"kind": "dense", "D": 50, "N": N} for N in SIZES]),
    "particles": (
        "M",
        [
            BASE | {"kind": "dense", "D": 64, "N": 1800, "R": 10, "M": M}
            for M in (1, 3, 10, 30, 100, 300, 1000)
        ],
    ),
    "rank": (
        "R",
        [
            BASE | {"kind": "dense", "D": 600, "N": 400, "R": R, "M": 20}
            for R in (2, 4, 8, 16, 32, 64)
        ],
    ),
}
AXES = {"entries": "stored entries of X", "M": "particles M", "R": "rank R"}
# A slope is taken where the growing part is the larger one: over the last points of a series.
LAST = 4
# Below this many bytes of data and particles the program's own memory dominates.
LARGE = 50e6
POINT_SECONDS = 300
COLUMNS = ("series", "from … to", "seconds", "slope", "target", "of target", "met")
MEMORY = (
    "series",
    "at",
    "data, MB",
    "particles kept, MB",
    "compressed X, MB",
    "peak, MB",
    "peak over both",
    "target",
    "of target",
    "met",
)


PASSES = ("columns N", "X, MB", "AᵀX", "XWᵀ", "sweep")


def measure(quick: bool = False) -> dict[str, Any]:
    """Every point in a fresh process, the slopes, and the kernels."""
    found = {}
    for name, (_, points) in SERIES.items():
        if not quick:
            found[name] = [_point(point) for point in points]
        elif name == "sparse":
            found[name] = [_point(point) for point in points[:2]]
    limits = kernels.measure(quick)
    return {
        "title": "Growth, memory and the limits of the kernels",
        "summary": [
            f"random_restarts with {BASE['iterations']} iterations and the noise level given, "
            "each point in a fresh process. N: sparse with D=2000 and 10 entries a column, dense "
            f"with D=50; M={BASE['M']}, R={BASE['R']}. M: a dense 64×1800 matrix, R=10. R: a "
            "dense 600×400 matrix, M=20. Slopes are least squares on logarithms over the last "
            f"{LAST} points; peak memory is what the process held at most beyond what it held "
            "before the data were there. Beside data and particles that "
            "is X compressed twice in single precision, the state before and after a step, and "
            "what is handed over. Time grows faster than the data where X leaves the cache: what "
            "a column takes then stands below.",
        ],
        "tables": [
            {"title": "Time", "columns": COLUMNS, "rows": _time_rows(found)},
            {
                "title": "Peak memory at the largest points",
                "columns": MEMORY,
                "rows": _memory_rows(found),
            },
            {
                "title": "Nanoseconds a column of a dense X, one core",
                "columns": PASSES,
                "rows": _columns(quick),
            },
            *limits["tables"],
        ],
        "plots": [] if quick else _plots(found),
        "raw": {"points": found, **limits["raw"]},
    }


def _point(point: dict[str, Any]) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.growth_point"],
            input=json.dumps(point),
            capture_output=True,
            text=True,
            cwd=harness.ROOT,
            timeout=POINT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return point | {"failed": f"took over {POINT_SECONDS} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        return point | {"failed": last}
    return json.loads(done.stdout)


def _good(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [point for point in points if "failed" not in point]


def _time_rows(found: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    rows = []
    for name, points in found.items():
        axis = SERIES[name][0]
        good = _good(points)
        if len(good) < 2:
            reason = next(point["failed"] for point in points if "failed" in point)
            rows.append([name, f"failed: {reason}", *[None] * (len(COLUMNS) - 2)])
            continue
        last = good[-LAST:]
        exponent = harness.slope([p[axis] for p in last], [p["seconds"] for p in last])
        verdict = None
        if axis == "entries":
            # A slope of 0 or less is optimal.
            verdict = harness.against(max(exponent, 0.1), TARGETS["slope in stored entries"], False)
        rows.append(
            [
                name,
                f"{AXES[axis]} {good[0][axis]:,} … {good[-1][axis]:,}",
                f"{good[0]['seconds']:.3g} … {good[-1]['seconds']:.3g}",
                f"{exponent:.2f}",
                verdict and verdict["target"],
                part(verdict and verdict["part"]),
                verdict and verdict["met"],
            ]
        )
    return rows


def _memory_rows(found: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    rows = []
    for name, points in found.items():
        axis = SERIES[name][0]
        for point in _good(points)[-2:]:
            both = point["data"] + point["kept"]
            verdict = None
            if both >= LARGE:
                target = TARGETS["memory over data and particles"]
                verdict = harness.against(point["peak"] / both, target, False)
            rows.append(
                [
                    name,
                    f"{AXES[axis]} {point[axis]:,}",
                    point["data"] / 1e6,
                    point["kept"] / 1e6,
                    _compressed(point) / 1e6,
                    point["peak"] / 1e6,
                    point["peak"] / both,
                    verdict["target"] if verdict else "too small to judge",
                    part(verdict and verdict["part"]),
                    verdict and verdict["met"],
                ]
            )
    return rows


def _compressed(point: dict[str, Any]) -> float:
    """Bytes of X compressed for the approach, and to twice that rank for the Hessian."""
    shape = SimpleNamespace(D=point["D"], N=point["N"])
    rank = Problem.without_model(cast(Dataset, shape), point["R"]).compression_rank
    return 0.0 if rank is None else 4.0 * 3 * rank * (point["D"] + point["N"])


def _columns(quick: bool) -> list[list[Any]]:
    """Time of a column of a dense X, in the cache and outside it."""
    rows, rng, R, D = [], np.random.default_rng(0), BASE["R"], 50
    with one_blas_thread():
        for N in SIZES[2:4] if quick else SIZES[2:]:
            X, A, W = rng.random((D, N)), rng.random((1, R, D)), rng.random((1, R, N))
            C, G = A @ X, gram(A)
            passes = (
                lambda A=A, X=X: A[0] @ X,
                lambda W=W, X=X: W[0] @ X.T,
                lambda W=W, C=C, G=G: sweep(W, C, G, 1),
            )
            taken = []
            for measured_pass in passes:
                measured_pass()
                taken.append(1e9 / N * min(harness.seconds(measured_pass) for _ in range(5)))
            rows.append([f"{N:,}", X.nbytes / 1e6, *taken])
    return rows


def _plots(found: dict[str, list[dict[str, Any]]]) -> list[dict[str, str]]:
    PLOTS.mkdir(exist_ok=True)
    plots = []
    for axis, label in AXES.items():
        chosen = {name: _good(found[name]) for name in found if SERIES[name][0] == axis}
        for what, unit, factor in (("seconds", "seconds", 1.0), ("peak", "MB at the peak", 1e-6)):
            series = {
                name: [(p[axis], max(p[what] * factor, 1e-3)) for p in points]
                for name, points in chosen.items()
                if points
            }
            if not series:
                continue
            title = f"{'Time' if what == 'seconds' else 'Memory'} against {label}"
            path = PLOTS / f"{'time' if what == 'seconds' else 'memory'}-{axis}.svg"
            path.write_text(svg.curves(title, label, unit, series))
            plots.append({"title": title, "path": f"plots/{path.name}"})
    return plots


if __name__ == "__main__":
    harness.main(measure)
