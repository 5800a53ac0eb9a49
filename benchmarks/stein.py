"""The Stein kernel against the matrix products that it needs, and weights solver by solver."""

from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.tables import spread
from bnmf_core import Particles, RunSpec, kernel_matrix, run, stein_weights
from bnmf_core.core.errors import BNMFError
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.posterior.weights import SOLVERS, kkt_residual
from bnmf_core.runs.planning import make_plan

TARGETS = {"kernel": 3.0}
CASE, RANK = "newsgroups", 16
COUNT, QUICK_COUNT = 100, 10
WEIGHED, QUICK_WEIGHED = 1000, 60


def measure(quick: bool = False) -> dict[str, Any]:
    """The kernel of newsgroups R = 16 in both forms, then weights of a thousand particles."""
    count, repeats = (QUICK_COUNT, 2) if quick else (COUNT, harness.REPEATS)
    rows, raw = [], {}
    for form in ("interior", "paper"):
        found = _kernel(form, count, repeats, quick)
        raw[form] = found
        judged = harness.against(found["ratio"]["median"], TARGETS["kernel"], at_least=False)
        rows.append(
            [
                f"{CASE} R={RANK}, M={count}",
                form,
                median(found["kernel"]),
                median(found["products"]),
                spread(found["ratio"]),
                judged["target"],
                f"{judged['part']:.0%}",
                judged["met"],
            ]
        )
    size = QUICK_WEIGHED if quick else WEIGHED
    weights = [_weights(solver, size) for solver in SOLVERS]
    return {
        "title": "Stein kernels and weights",
        "summary": [
            "The products: X with A and with W of every particle, the Gram matrices of both, the "
            "terms of the gradients, and the M×M inner products of coordinates and slopes; one "
            "BLAS thread."
        ],
        "tables": [
            {
                "title": "Kernel matrix",
                "columns": (
                    "data",
                    "form",
                    "kernel, s",
                    "products, s",
                    "ratio (range)",
                    "target",
                    "of target",
                    "met",
                ),
                "rows": rows,
            },
            {
                "title": f"Stein weights of M={size}",
                "columns": ("solver", "seconds", "wᵀKw", "violation of the optimality conditions"),
                "rows": weights,
            },
        ],
        "raw": {"kernels": raw, "weights": weights},
    }


def _kernel(form: str, count: int, repeats: int, quick: bool) -> dict[str, Any]:
    dataset = harness.dataset(CASE)
    settings = {"max_iterations": 10} if quick else {}
    spec = RunSpec(
        "random_restarts", RANK, particles=count, settings=settings, model_settings={"sigma": 1.0}
    )
    particles, problem = run(dataset, spec), make_plan(dataset, spec).problem
    with one_blas_thread():
        kernel_matrix(particles, dataset, form)
        kernel, products = harness.in_turn(
            repeats,
            lambda _: harness.seconds(lambda: kernel_matrix(particles, dataset, form)),
            lambda _: harness.seconds(lambda: _products(problem, particles)),
        )
    return {"kernel": kernel, "products": products, "ratio": harness.ratio(kernel, products)}


def _products(problem: Any, particles: Particles) -> None:
    """The products that any computation of a Gaussian model's kernel needs."""
    A = np.ascontiguousarray(particles.A.transpose(0, 2, 1))
    W = particles.W
    by_A, by_W = problem.times_rows(W), problem.times_columns(A)
    by_A -= (W @ W.transpose(0, 2, 1)) @ A
    by_W -= (A @ A.transpose(0, 2, 1)) @ W
    for position, slope in ((A, by_A), (W, by_W)):
        x, s = (F.reshape(F.shape[0], -1) for F in (position, slope))
        _ = x @ x.T, s @ s.T, s @ x.T


def _weights(solver: str, size: int) -> list[Any]:
    rng = np.random.default_rng(0)
    # Slopes about a common direction: many particles are needed, and some get no weight.
    slopes = rng.standard_normal((size, 2 * size)) + rng.exponential(size=(size, 1))
    K = slopes @ slopes.T
    try:
        took = harness.seconds(lambda: stein_weights(K, solver))
        w = stein_weights(K, solver)
    except BNMFError as error:
        return [solver, None, str(error), None]
    return [solver, took, float(w @ K @ w), kkt_residual(K, w)]


if __name__ == "__main__":
    harness.main(measure)
