"""Gibbs sweeps per second, against nimfa's Bd and against whole columns at a time in numpy."""

from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from benchmarks import harness, peers
from benchmarks.tables import part, spread
from bnmf_core import Dataset, RunSpec, laurberg, run
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import make_plan
from bnmf_core.samplers import gibbs
from bnmf_core.solvers.solution import random_start

TARGETS = {
    "one chain": {"nimfa Bd": 6.0, "numpy columns": 1.5},
    "whole run": {"nimfa Bd": 15.0, "numpy columns": 1.5},
}
CASES = (("faces", 10), ("digits", 10), ("signatures", 4), ("laurberg 6×6", 3))
CHAINS = 64
# Seconds of a repeat, long against its start and a tick of the clock.
SECONDS = 0.6
QUICK_SECONDS = 0.1
COLUMNS = (
    "data",
    "ours",
    "against",
    "ours, sweeps/s",
    "theirs, sweeps/s",
    "ratio (range)",
    "target",
    "of target",
    "met",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """Sweeps of one chain on four data sets, and whole runs of many small chains."""
    rows, raw = [], {}
    for name, rank in CASES[2:] if quick else CASES:
        found = _case(name, rank, quick)
        raw[f"{name} R={rank}"] = found
        rows += _rows(f"{name} R={rank}", found)
    return {
        "title": "Gibbs: sweeps per second",
        "summary": [
            "One sweep redraws all of A and all of W under the same Gaussian model with σ fixed. "
            "“one chain” is the sampler's kernel on one core; “whole run” is one call of "
            f"`run` with {CHAINS} chains on all cores, everything counted (starts, warm-up, "
            "scores of what is kept), the sweeps of all chains together. nimfa 1.4.0: Bd's own "
            "update, without its objective, its draws of σ, and its start. numpy columns: the "
            "same sweep, one column of A or W at a time, by inverse CDF with SciPy's log_ndtr "
            "and ndtri_exp. Repeats take turns; ratios are medians of pairs.",
        ],
        "tables": [{"title": "Sweeps per second", "columns": COLUMNS, "rows": rows}],
        "raw": raw,
    }


def numpy_sweep(
    problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The sweep of ``samplers.gibbs`` for one chain, component by component: new arrays.

    A (1, R, D) and W (1, R, N).
    """
    X = problem.dataset.X
    A = _numpy_rows(problem, A[0], W[0] @ X.T, W[0] @ W[0].T, rng)
    W = _numpy_rows(problem, W[0], A @ X, A @ A.T, rng)
    return A[None], W[None]


def _numpy_rows(
    problem: Problem, F: np.ndarray, C: np.ndarray, G: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    F = F.copy()
    variance, rate = problem.model_settings.sigma**2, problem.model_settings.rate
    log_uniform = np.log(1.0 - rng.random(F.shape))
    for r in range(F.shape[0]):
        rest = G[r] @ F - G[r, r] * F[r]
        mean = (C[r] - rest - rate * variance) / G[r, r]
        sd = np.sqrt(variance / G[r, r])
        log_survival = log_uniform[r] + log_ndtr(mean / sd)
        F[r] = np.maximum(mean - sd * ndtri_exp(log_survival), 0.0)
    return F


def _data(name: str) -> Dataset:
    if name == "laurberg 6×6":
        return laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    return harness.dataset(name)


def _case(name: str, rank: int, quick: bool) -> dict[str, Any]:
    data = _data(name)
    problem = make_plan(data, RunSpec("gibbs", rank=rank, particles=2)).problem
    start_A, start_W = random_start(data, rank, np.random.default_rng(0))
    start = np.ascontiguousarray(start_A.T)[None], start_W[None]
    enough = QUICK_SECONDS if quick else SECONDS

    def chain(sweep, sweeps: int, seed: int) -> float:
        rng, (A, W) = np.random.default_rng(seed), start
        # The program holds BLAS to one thread a worker; the small products are faster so.
        with one_blas_thread():
            return harness.seconds(lambda: _repeat(sweep, sweeps, problem, A, W, rng))

    def rate(timed, sweeps: int = 2):
        """A side that measures sweeps per second over a fixed time."""
        timed(sweeps, 0)
        count = max(2, int(sweeps * enough / timed(sweeps, 0)))
        count = max(2, int(count * enough / timed(count, 0)))
        return lambda repeat: count / timed(count, repeat)

    sides = {
        "one chain": rate(partial(chain, gibbs.sweep)),
        "numpy columns": rate(partial(chain, numpy_sweep)),
        "whole run": _many_chains(data, rank, enough),
    }
    repeats = harness.QUICK_REPEATS if quick else harness.REPEATS
    note = "nimfa Bd"
    options = {
        "rank": rank,
        "sigma": problem.model_settings.sigma,
        "rate": problem.model_settings.rate,
    }
    try:
        with peers.opened("nimfa", {"X": np.asarray(data.X)}) as peer:
            sides["nimfa Bd"] = rate(
                lambda sweeps, repeat: peer.ask(sweeps=sweeps, **options)["seconds"]
            )
            rates = harness.in_turn(repeats, *sides.values())
    except harness.Unavailable as reason:
        sides.pop("nimfa Bd", None)
        note = f"nimfa Bd: skipped: {reason}"
        rates = harness.in_turn(repeats, *sides.values())
    return {"rates": dict(zip(sides, rates, strict=True)), "nimfa": note}


def _repeat(sweep, sweeps: int, problem: Problem, A, W, rng) -> None:
    for _ in range(sweeps):
        A, W = sweep(problem, A, W, rng)


def _many_chains(data: Dataset, rank: int, enough: float):
    def timed(sweeps: int, seed: int) -> float:
        each = max(sweeps // CHAINS, 1)  # keep the last draw of each chain
        settings = {"chains": CHAINS, "warm_up": 0, "thinning": each, "start": "prior"}
        spec = RunSpec("gibbs", rank=rank, particles=CHAINS, seed=seed, settings=settings)
        return harness.seconds(lambda: run(data, spec))

    timed(CHAINS, 0)
    # The set-up time is excluded from the choice of the number of sweeps only.
    base, more = timed(CHAINS, 0), timed(11 * CHAINS, 0)
    each = max(more - base, 1e-3) / (10 * CHAINS)
    sweeps = CHAINS * max(2, min(5000, int(2 * enough / each / CHAINS)))
    return lambda repeat: sweeps / timed(sweeps, repeat)


def _rows(name: str, found: dict[str, Any]) -> list[list[Any]]:
    rows, rates = [], found["rates"]
    for ours, targets in TARGETS.items():
        for other, target in targets.items():
            if other not in rates:
                rows.append([name, ours, found["nimfa"], *[None] * (len(COLUMNS) - 3)])
                continue
            ratio = harness.ratio(rates[ours], rates[other])
            verdict = harness.against(ratio["median"], target)
            rows.append(
                [
                    name,
                    ours,
                    other,
                    median(rates[ours]),
                    median(rates[other]),
                    spread(ratio),
                    verdict["target"],
                    part(verdict["part"]),
                    verdict["met"],
                ]
            )
    return rows


if __name__ == "__main__":
    harness.main(measure)
