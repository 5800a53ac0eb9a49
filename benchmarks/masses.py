"""The masses of two modes: tempered SMC and mode jumps against parallel tempering."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import harness
from bnmf_core import RunSpec, laurberg, run
from bnmf_core.core.model import EntryPrior
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import make_plan
from bnmf_core.samplers import gibbs, scale_move
from bnmf_core.solvers.solution import gram

# Mean squared error of the mass times processor seconds, theirs over ours.
TARGETS = {"parallel tempering": 1.0}
SIGMAS = (0.05, 0.001)
SEEDS, QUICK_SEEDS = 12, 2
# Neighbouring powers are this factor apart.
APART, SWEEPS = 2.0, 8000
PARTICLES = {"tempered_smc": 800, "mode_jumps": 20_000}
SETTINGS = {
    "tempered_smc": {"population": 200},
    "mode_jumps": {"chains": 40, "sweeps": 1},
}
COLUMNS = (
    "σ",
    "method",
    "mean mass (truth ½)",
    "error of one run",
    "processor s a run",
    "error² × s",
    "parallel tempering's over it",
    "met",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """Error and cost of the mass of one solution, which is ½ by symmetry."""
    seeds = QUICK_SEEDS if quick else SEEDS
    rows, raw = [], {}
    with one_blas_thread():
        for sigma in SIGMAS[:1] if quick else SIGMAS:
            found = {name: _repeated(method, sigma, seeds) for name, method in _methods(quick)}
            raw[f"σ={sigma}"] = found
            rows += _rows(sigma, found)
    return {
        "title": "Masses of two modes",
        "summary": [
            "The 6×6 problem with exactly two solutions of equal mass. The error is the root mean "
            f"square of mass − ½ over {seeds} seeds; error² × seconds is what a run of one "
            "second would leave of variance, so that methods of different length compare. "
            f"Parallel tempering: powers of the likelihood from 1e-3·σ² to 1, each {APART:g} times "
            f"the last, started at prior draws, {SWEEPS:,} rounds of a Gibbs sweep and a scale "
            "move, then swaps of even and odd neighbours in turn (Okabe and others 2001; "
            "non-reversible: Syed and others 2022), the first half thrown away. Processor time of "
            "the process.",
        ],
        "tables": [{"title": "Error of the mass", "columns": COLUMNS, "rows": rows}],
        "raw": raw,
    }


def parallel_tempering(
    problem: Problem, lowest: float, sweeps: int, rng: np.random.Generator
) -> np.ndarray:
    """Bases (sweeps, D, R) of the chain at the whole likelihood."""
    rungs = 1 + int(np.ceil(-np.log(lowest) / np.log(APART)))
    powers = np.geomspace(lowest, 1.0, rungs)
    raised, prior = powers[:, None, None], EntryPrior(problem.model_settings.rate)
    variance = problem.model_settings.sigma**2
    pairs = [problem.model.prior(problem, rng) for _ in powers]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    A = np.ascontiguousarray(A.transpose(0, 2, 1))
    visited = np.empty((sweeps, problem.dataset.D, problem.rank))
    for t in range(sweeps):
        # Linear and quadratic terms to a power are a power of the likelihood, all rungs at once.
        A = gibbs.draw(A, raised * problem.times_rows(W), raised * gram(W), variance, prior, rng)
        W = gibbs.draw(W, raised * problem.times_columns(A), raised * gram(A), variance, prior, rng)
        A, W, _ = scale_move.move(problem, A, W, rng)
        squared = squared_errors(problem.dataset.X, A.transpose(0, 2, 1), W)
        low = np.arange(t % 2, rungs - 1, 2)
        gained = (powers[low + 1] - powers[low]) * (squared[low + 1] - squared[low]) / variance / 2
        swapped = low[np.log1p(-rng.random(low.size)) < gained]
        order = np.arange(rungs)
        order[swapped], order[swapped + 1] = swapped + 1, swapped
        A, W = np.ascontiguousarray(A[order]), W[order]
        visited[t] = A[-1].T
    return visited


def mass_of_first(A: np.ndarray, weights: np.ndarray) -> float:
    """The weight of the bases (M, D, R) nearer to the first solution."""
    truths = [truth.A / np.linalg.norm(truth.A, axis=0) for truth in laurberg("two").truth]
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)

    def alike(one: np.ndarray, truth: np.ndarray) -> float:
        cosines = one.T @ truth
        return float(cosines[linear_sum_assignment(-cosines)].sum())

    first = np.array([alike(basis, truths[0]) > alike(basis, truths[1]) for basis in unit])
    return float(weights[first].sum() / weights.sum())


Method = Callable[[float, int], float]


def _methods(quick: bool) -> list[tuple[str, Method]]:
    def ours(key: str) -> Method:
        def one(sigma: float, seed: int) -> float:
            count = PARTICLES[key] // (10 if quick else 1)
            known = {"sigma": sigma, "rate": 1.0}
            spec = RunSpec(key, 3, "gaussian", count, seed, SETTINGS[key], known)
            particles = run(laurberg("two"), spec)
            return mass_of_first(particles.A, particles.weights)

        return one

    def theirs(sigma: float, seed: int) -> float:
        spec = RunSpec("gibbs", 3, model_settings={"sigma": sigma, "rate": 1.0})
        problem = make_plan(laurberg("two"), spec).problem
        sweeps = SWEEPS // (20 if quick else 1)
        visited = parallel_tempering(problem, 1e-3 * sigma**2, sweeps, np.random.default_rng(seed))[
            sweeps // 2 :
        ]
        return mass_of_first(visited, np.ones(len(visited)))

    return [
        ("tempered SMC", ours("tempered_smc")),
        ("mode jumps", ours("mode_jumps")),
        ("parallel tempering", theirs),
    ]


def _repeated(method: Method, sigma: float, seeds: int) -> dict[str, Any]:
    method(sigma, seeds)  # compile
    masses, took = [], []
    for seed in range(seeds):
        began = time.process_time()
        masses.append(method(sigma, seed))
        took.append(time.process_time() - began)
    return {"masses": masses, "seconds": took}


def _rows(sigma: float, found: dict[str, Any]) -> list[list[Any]]:
    def cost(one: dict[str, Any]) -> float:
        return float(np.mean((np.array(one["masses"]) - 0.5) ** 2) * np.mean(one["seconds"]))

    rows: list[list[Any]] = []
    for name, result in found.items():
        error = float(np.sqrt(np.mean((np.array(result["masses"]) - 0.5) ** 2)))
        ratio = cost(found["parallel tempering"]) / cost(result)
        theirs = name == "parallel tempering"
        rows.append(
            [
                sigma,
                name,
                float(np.mean(result["masses"])),
                error,
                float(np.mean(result["seconds"])),
                cost(result),
                None if theirs else ratio,
                None if theirs else ratio > TARGETS["parallel tempering"],
            ]
        )
    return rows


if __name__ == "__main__":
    harness.main(measure)
