"""Unpublished settings of paper 1 inferred from its numbers: σ, updates, and restarts.

Angles between samples are proportional to σ where it is small. Gibbs has nothing else to choose,
so its rows give σ; with it, the single-mode rows give the number of updates. Restarts are tried on
the infinite problem, where the published ones are the furthest from ours.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from bnmf_core import RunSpec, distances, run
from bnmf_core.compare.quality import FACTOR
from bnmf_core.core.dataset import Dataset
from bnmf_core.numerics.residuals import relative_errors
from studies.coverage.lin import factorize
from studies.coverage.problems import COLUMNS, PROBLEMS, SIGMA
from studies.result import published

SIGMAS = (0.5e-3, 0.7e-3, 1e-3, 1.4e-3, 2e-3)
UPDATES = (1, 2, 3, 5, 10, 20, 30, 50, 100)
# Fewer repetitions of the large problems, whose largest angle is hardly above the mean.
SAMPLES, LARGE_SAMPLES = 1000, 100
REPETITIONS = 3
# Restarts: the engine's solvers by iterations, Lin's own code by its tolerance; filters; how many.
ITERATIONS = (10, 30, 100, 1000)
TOLERANCES = (1e-3, 5e-4, 1e-4, 1e-6)
FACTORS = (1.0, 10.0, 100.0)
RESTARTS = 400


def measure(repetitions: int | None = None) -> dict[str, Any]:
    """Largest and mean angles against the published ones, and the misfit of each choice."""
    repetitions = repetitions or REPETITIONS
    gibbs_rows, update_rows, misfits = [], [], {}
    for sigma in SIGMAS:
        for key in ("unique_small", "two_small"):
            found = _angles(key, "gibbs", dict(COLUMNS["gibbs"].settings), sigma, repetitions)
            reference = published("coverage")[key]["gibbs"]
            gibbs_rows.append([f"{sigma:g}", PROBLEMS[key].label, *_beside(found, reference)])
            misfits.setdefault(sigma, []).append(_misfit(found, reference))
    best = min(misfits, key=lambda sigma: np.mean(misfits[sigma]))
    for key, problem in PROBLEMS.items():
        for updates in UPDATES:
            if problem.large and not 5 <= updates <= 50:
                continue
            settings = {"max_iterations": updates, "tolerance": 0.0}
            found = _angles(key, "single_mode", settings, SIGMA, repetitions)
            reference = published("coverage")[key]["single_mode"]
            update_rows.append([problem.label, updates, *_beside(found, reference)])
    words = (
        f"σ: the misfit to the Gibbs rows of table 3 is least at {best:g}; the study uses "
        f"{SIGMA:g}."
    )
    columns = ("largest angle", "published", "mean angle", "published")
    return {
        "title": "Calibration of what paper 1 does not print",
        "summary": [
            words,
            "The misfit is the mean of |ln(ours / published)| of the largest and the mean angle. "
            "Published angles of the 500×50 problems are rounded to 0.01.",
        ],
        "tables": [
            {"title": "Gibbs: σ", "columns": ("σ", "problem", *columns), "rows": gibbs_rows},
            {
                "title": f"Single mode: updates at σ = {SIGMA:g}",
                "columns": ("problem", "updates", *columns),
                "rows": update_rows,
            },
            _restarts(),
        ],
        "raw": {"sigma": best},
    }


def _restarts() -> dict[str, Any]:
    """Restarts of the small infinite problem by start, solver and convergence."""
    problem = PROBLEMS["infinite_small"]
    dataset = problem.dataset(SIGMA, 0, 0)
    model_settings = {"sigma": SIGMA, "rate": 1.0}
    gibbs = RunSpec(
        "gibbs",
        problem.rank,
        particles=SAMPLES,
        settings=dict(COLUMNS["gibbs"].settings),
        model_settings=model_settings,
    )
    largest = float(run(dataset, gibbs).error.max())
    rows = []
    for start in ("scaled", "uniform"):
        for solver in ("projected_gradient", "multiplicative"):
            for iterations in ITERATIONS:
                chosen = {"solver": solver, "start": start, "max_iterations": iterations}
                spec = RunSpec(
                    "random_restarts",
                    problem.rank,
                    particles=RESTARTS,
                    settings=chosen | {"tolerance": 0.0, "block": RESTARTS},
                    model_settings=model_settings,
                )
                found = run(dataset, spec)
                words = start, solver, f"{iterations} iterations"
                rows.append([*words, *_filtered(dataset, found.A, found.W, largest)])
    X = np.ascontiguousarray(dataset.X)
    (D, N), R = X.shape, problem.rank
    for tolerance in TOLERANCES:
        rng = np.random.default_rng(0)
        pairs = [
            factorize(X, rng.random((D, R)), rng.random((R, N)), tolerance) for _ in range(RESTARTS)
        ]
        A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
        words = "uniform", "Lin's own code", f"tolerance {tolerance:g}"
        rows.append([*words, *_filtered(dataset, A, W, largest)])
    printed = [
        published("coverage")["infinite_small"][column]["max_angle_average"]["mean"]
        for column in ("random_restarts", "filtered_restarts")
    ]
    rows.append(
        ["published", "", "", printed[0], *(printed[1] if f == FACTOR else None for f in FACTORS)]
    )
    filters = (f"error ≤ {factor:g} × Gibbs's largest" for factor in FACTORS)
    return {
        "title": f"Mean angle, °, of {RESTARTS} restarts: {problem.label}",
        "columns": ("start", "solver", "ran for", "all", *filters),
        "rows": rows,
    }


def _filtered(dataset: Dataset, A: np.ndarray, W: np.ndarray, largest: float) -> list[float | None]:
    """Mean angle of all, and within each filter; None for fewer than two."""
    error = relative_errors(dataset.X, A, W)
    apart = distances(SimpleNamespace(A=A, W=W), "max_angle")
    found = []
    for factor in (np.inf, *FACTORS):
        retained = np.flatnonzero(error <= factor * largest)
        found.append(float(apart[np.ix_(retained, retained)].mean()) if retained.size > 1 else None)
    return found


def _angles(
    key: str, algorithm: str, settings: dict, sigma: float, repetitions: int
) -> tuple[float, float]:
    """Largest and mean pairwise angle of the first samples, averaged over repetitions."""
    problem = PROBLEMS[key]
    found = []
    for repetition in range(repetitions):
        spec = RunSpec(
            algorithm,
            rank=problem.rank,
            particles=LARGE_SAMPLES if problem.large else SAMPLES,
            seed=repetition,
            settings=settings,
            model_settings={"sigma": sigma, "rate": 1.0},
        )
        matrix = distances(run(problem.dataset(sigma, 0, repetition), spec), "max_angle")
        found.append((matrix.max(), matrix.mean()))
    largest, average = np.mean(found, axis=0)
    return float(largest), float(average)


def _beside(found: tuple[float, float], reference: dict[str, Any]) -> list[float]:
    largest, average = (reference[f"max_angle_{name}"]["mean"] for name in ("largest", "average"))
    return [found[0], largest, found[1], average]


def _misfit(found: tuple[float, float], reference: dict[str, Any]) -> float:
    ours, _, mean, _ = _beside(found, reference)
    _, largest, _, average = _beside(found, reference)
    return float((abs(np.log(ours / largest)) + abs(np.log(mean / average))) / 2)
