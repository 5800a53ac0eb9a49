"""What it costs to solve factorizations until they have converged, and what that changes."""

import time
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.tables import spread
from bnmf_core import Particles, RunSpec, distances, find_modes, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.explorers.from_starts import AS_PUBLISHED
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import Solution, Stopping, random_start, solve_with
from bnmf_core.solvers.stationarity import turned

TARGETS = {"time": 3.0, "share of faces": 0.85, "modes of signatures": 6}
# Sample, rank, factorizations.
CASES = (("faces", 10, 50), ("newsgroups", 10, 50), ("digits", 10, 50), ("signatures", 4, 100))
QUICK = 4
# Two members of a mode are at most so many degrees apart.
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
            "how many turn by at most their movement.",
        ],
        "tables": [{"title": "Time and modes", "columns": COLUMNS, "rows": rows}],
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
        done = stops[1].converged(solution.kkt, solution.movement)
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


def _solved(problem: Problem, A: np.ndarray, W: np.ndarray, stopping: Stopping) -> Solution:
    solution = hals.start(problem, A, W)
    while solution.active.any():
        solution = hals.advance(problem, solution, stopping)
    return solution


def _seconds(problem: Problem, A: np.ndarray, W: np.ndarray, stopping: Stopping) -> float:
    began = time.thread_time()
    _solved(problem, A, W, stopping)
    return time.thread_time() - began


def _turned(problem: Problem, solution: Solution, i: int) -> float:
    """Degrees that one factorization turns in as many iterations again."""
    A, W = (factor[i : i + 1] for factor in solution.particles)
    on = Stopping(int(solution.iterations[i]), None, movement=0.0, kkt=0.0)
    after, _ = solve_with(hals.SOLVER, problem, A, W, on)
    return float(turned(solution.A[i : i + 1], after.transpose(0, 2, 1))[0])


def _modes(particles: Particles) -> tuple[int, float]:
    modes = find_modes(distances(particles), THRESHOLD)
    return modes.count, float(modes.share[0])


if __name__ == "__main__":
    harness.main(measure)
