"""Cost of solving factorizations to convergence, and its effect on modes."""

import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness
from benchmarks.residual import driven
from benchmarks.tables import spread
from bnmf_core import Particles, RunSpec, distances, find_modes, laurberg, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.explorers.from_starts import AS_PUBLISHED
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import Solution, Stopping, random_start, solve_with
from bnmf_core.solvers.stationarity import turned

TARGETS = {
    "time": 3.0,
    "share of faces": 0.85,
    "modes of signatures": 6,
    "default fits": 1.0,
    "slowest": 10.0,
}
# Sample, rank, factorizations.
CASES = (("faces", 10, 50), ("newsgroups", 10, 50), ("digits", 10, 50), ("signatures", 4, 100))
QUICK = 4
# Largest distance of two members of a mode, in degrees.
THRESHOLD = 10.0
COLUMNS = (
    "data",
    "before, ms",
    "now, ms",
    "ratio (range)",
    "target",
    "met",
    "converged",
    "modes before → now",
    "largest share before → now",
    "movement at most",
    "turned when doubled: 95 %, most",
    "within its movement",
)

# Sample and ranks of factorizations that are timed one by one against scikit-learn.
TIMED = (
    ("faces", 10),
    ("digits", 10),
    ("samson", 3),
    ("samson", 6),
    ("jasper", 4),
    ("jasper", 6),
    ("posts", 8),
    ("posts", 16),
    ("posts, log(1 + count)", 8),
    ("posts, log(1 + count)", 16),
    ("bbc", 16),
    ("golub", 3),
    ("tumours", 5),
    ("laurberg", 3),
)
# Factorizations of a case, and their time limit; default fits of scikit-learn; seconds that one
# factorization of ours, and one that scikit-learn is driven to, may take.
MOST, SECONDS, FITS, PATIENCE = 12, 20.0, 3, 20.0
TIMES = (
    "data",
    "restarts",
    "median, ms",
    "default fit, ms",
    "of default fits (range)",
    "target",
    "met",
    "driven as far, ms",
    "its times",
    "slowest over median",
    "target",
    "met",
    "converged",
    "ridge",
    "unfinished",
    "median error",
    "of the default fit",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """Solver time, movement and modes, stopped by a drop in error and when converged."""
    rows, raw = [], {}
    for name, rank, count in CASES:
        found = raw[name] = _case(harness.dataset(name), rank, QUICK if quick else count, quick)
        judged = harness.against(found["ratio"]["median"], TARGETS["time"], at_least=False)
        rows.append(
            [
                f"{name} R={rank}, {found['count']} restarts",
                1e3 * min(found["before"]) / found["count"],
                1e3 * min(found["now"]) / found["count"],
                spread(found["ratio"]),
                judged["target"],
                judged["met"],
                f"{found['converged']:.0%}",
                f"{found['modes'][0][0]} → {found['modes'][1][0]}",
                f"{found['modes'][0][1]:.2f} → {found['modes'][1][1]:.2f}",
                f"{found['movement']:.2g}°",
                f"{np.percentile(found['turned'], 95):.2g}°, {max(found['turned']):.2g}°",
                f"{found['within']:.0%}",
            ]
        )
    times, raw["times"] = _times(quick)
    return {
        "title": "Convergence: until factorizations turn no more",
        "summary": [
            "Random restarts by the default solver, processor time of one thread, stopped when "
            "five iterations lower the squared error by less than 5e-5 of it, 300 at most "
            "(before), and when converged (now). Modes: complete linkage at "
            f"{THRESHOLD:g}°. Wanted: a largest share of at least "
            f"{TARGETS['share of faces']:.2f} on faces, at most "
            f"{TARGETS['modes of signatures']} modes of 100 on signatures. Each converged "
            "factorization is then continued for as many iterations again: what it turns, and "
            "how many turn by at most their movement. Against scikit-learn, restarts go one by "
            f"one, {MOST} of them or as many as begin within {SECONDS:g} seconds; one that takes "
            f"more than {PATIENCE:g} seconds is left unfinished and counts with these. A default "
            'fit is NMF(R, init="random"); driven as far: coordinate descent from the first start '
            f"until its KKT residual is that of ours, or for {PATIENCE:g} seconds (>).",
        ],
        "tables": [
            {"title": "Time and modes", "columns": COLUMNS, "rows": rows},
            {"title": "One by one, against scikit-learn", "columns": TIMES, "rows": times},
        ],
        "raw": raw,
    }


def _case(dataset: Dataset, rank: int, count: int, quick: bool) -> dict[str, Any]:
    problem = Problem.without_model(dataset, rank)
    pairs = [random_start(dataset, rank, np.random.default_rng([1, i])) for i in range(count)]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    most = 200 if quick else 10_000
    stops = (Stopping(300, 5e-5), Stopping(most, None))
    with one_blas_thread():
        for stopping in stops:  # compiled, compressed
            _solved(problem, A[:2], W[:2], stopping)
        before, now = harness.in_turn(
            1 if quick else 3,
            lambda _: _seconds(problem, A, W, stops[0]),
            lambda _: _seconds(problem, A, W, stops[1]),
        )
        solution = _solved(problem, A, W, stops[1])
        done = stops[1].converged(solution.kkt, solution.movement, solution.gain)
        going_on = np.flatnonzero(done)
        angles = [_turned(problem, solution, i) for i in going_on] or [np.nan]
    published = RunSpec("random_restarts", rank, particles=count, settings=dict(AS_PUBLISHED))
    usual = RunSpec("random_restarts", rank, particles=count, settings={"max_iterations": most})
    return {
        "count": count,
        "before": before,
        "now": now,
        "ratio": harness.ratio(now, before),
        "converged": float(done.mean()),
        "movement": float(np.max(solution.movement[done], initial=0.0)),
        "turned": [float(angle) for angle in angles],
        "within": float(np.mean(np.array(angles) <= solution.movement[done])) if done.any() else 0,
        "modes": [_modes(run(dataset, spec)) for spec in (published, usual)],
    }


def _times(quick: bool) -> tuple[list[list[Any]], dict[str, Any]]:
    rows, raw = [], {}
    for name, rank in TIMED[1:2] if quick else TIMED:
        label = f"{name} R={rank}"
        try:
            problem = Problem.without_model(_timed_data(name), rank)
        except harness.Unavailable as reason:
            rows.append([label, f"skipped: {reason}", *[None] * (len(TIMES) - 2)])
            continue
        raw[label] = found = _one_by_one(problem, quick)
        ours = np.array(found["seconds"])
        middle, slowest = float(np.median(ours)), float(ours.max() / np.median(ours))
        times = harness.ratio(found["seconds"], [median(found["default"])] * ours.size)
        to_median = harness.against(times["median"], TARGETS["default fits"], at_least=False)
        to_slowest = harness.against(slowest, TARGETS["slowest"], at_least=False)
        late = ">" if found["driven residual"] > found["aim"] else ""
        rows.append(
            [
                label,
                ours.size,
                1e3 * middle,
                1e3 * median(found["default"]),
                spread(times),
                to_median["target"],
                to_median["met"],
                f"{late}{1e3 * found['driven']:,.3g}",
                f"{late}{found['driven'] / middle:.3g}×",
                slowest,
                to_slowest["target"],
                to_slowest["met"],
                *(f"{np.mean(found[kind]):.0%}" for kind in ("converged", "ridge", "unfinished")),
                f"{np.median(found['error']):.5f}",
                f"{np.median(found['default error']):.5f}",
            ]
        )
    return rows, raw


@lru_cache(1)
def _timed_data(name: str) -> Dataset:
    if name == "laurberg":
        return laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    file, _, logarithm = name.partition(", ")
    data = harness.dataset(file)
    if not logarithm:
        return data
    X = sparse.csc_array(data.X)
    X.data = np.log1p(X.data)
    return Dataset.from_array(X, name=name)


def _one_by_one(problem: Problem, quick: bool) -> dict[str, Any]:
    """Seconds and results of factorizations in sequence, and scikit-learn's."""
    data, rank, stopping = problem.dataset, problem.rank, Stopping(10_000, None)
    norm = np.sqrt(data.squared_norm)
    found: dict[str, Any] = {
        key: [] for key in ("seconds", "converged", "ridge", "unfinished", "error", "kkt")
    }
    with one_blas_thread():
        for i in range(-1, 2 if quick else MOST):
            if i > 0 and sum(found["seconds"]) > SECONDS:
                break
            A, W = random_start(data, rank, np.random.default_rng([2, i + 1]))
            began, solution = time.thread_time(), hals.SOLVER.start(problem, A[None], W[None])
            # An uncounted first one compiles and compresses.
            until = stopping if i >= 0 else Stopping(60, None)
            while solution.active.any() and time.thread_time() - began < PATIENCE:
                solution = hals.advance(problem, solution, until)
            seconds = time.thread_time() - began
            if i < 0:
                continue
            done = stopping.converged(solution.kkt, solution.movement, solution.gain)
            for key, value in {
                "seconds": seconds,
                "converged": bool(done[0]),
                "ridge": bool(solution.ridge[0]),
                "unfinished": not (done[0] or solution.ridge[0]),
                "error": float(np.sqrt(solution.squared_error[0])) / norm,
                "kkt": float(solution.kkt[0]),
            }.items():
                found[key].append(value)
        found["default"], found["default error"] = [], []
        X = sparse.csr_array(data.X.T) if data.is_sparse else np.ascontiguousarray(data.X.T)
        for i in range(FITS):
            model = NMF(rank, init="random", random_state=i)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found["default"].append(_processor(lambda model=model: model.fit(X)))
            found["default error"].append(float(model.reconstruction_err_) / norm)
        known = [kkt for kkt in found["kkt"] if np.isfinite(kkt)]
        found["aim"] = median(known) if known else stopping.kkt
        start = random_start(data, rank, np.random.default_rng([2, 1]))
        patience = 0.0 if quick else PATIENCE
        found["driven"], found["driven residual"], _ = driven(
            problem, *start, found["aim"], patience
        )
    return found


def _solved(problem: Problem, A: np.ndarray, W: np.ndarray, stopping: Stopping) -> Solution:
    solution = hals.SOLVER.start(problem, A, W)
    while solution.active.any():
        solution = hals.advance(problem, solution, stopping)
    return solution


def _seconds(problem: Problem, A: np.ndarray, W: np.ndarray, stopping: Stopping) -> float:
    return _processor(lambda: _solved(problem, A, W, stopping))


def _processor(function: Callable[[], Any]) -> float:
    began = time.thread_time()
    function()
    return time.thread_time() - began


def _turned(problem: Problem, solution: Solution, i: int) -> float:
    """Degrees that one factorization turns in the same number of further iterations."""
    A, W = (factor[i : i + 1] for factor in solution.particles)
    on = Stopping(int(solution.iterations[i]), None, movement=0.0, kkt=0.0)
    after, _ = solve_with(hals.SOLVER, problem, A, W, on)
    return float(turned(solution.A[i : i + 1], after.transpose(0, 2, 1))[0])


def _modes(particles: Particles) -> tuple[int, float]:
    modes = find_modes(distances(particles), THRESHOLD)
    return modes.count, float(modes.share[0])


if __name__ == "__main__":
    harness.main(measure)
