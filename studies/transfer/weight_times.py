"""Times of Stein weights, for random and for good parameters (paper 3, figure 33)."""

import time
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bnmf_core.core.errors import RunError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import low_rank
from bnmf_core.explorers.from_starts import AS_PUBLISHED
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.posterior.stein import kernel_matrix
from bnmf_core.posterior.weights import SOLVERS, stein_weights
from bnmf_core.runs.engine import run
from studies.transfer import starts

RANK = 3
REPEATS = 3
KINDS = {"random": "random parameters", "good": "NMF parameters"}
LABELS = {
    f"{solver}_{kind}": f"{solver}, {words}" for solver in SOLVERS for kind, words in KINDS.items()
}


def measure(column: str, M: int, most: int, seed: int) -> list[float | None]:
    """Processor seconds that a solver takes for the weights of M particles.

    Parameters
    ----------
    column : solver and kind of parameters, "HIGHS_good". most : how many particles there are in
        all; M is at most that.

    Returns
    -------
    Three times, of random collections; None where there was no answer.
    """
    solver, kind = column.split("_")
    K = _kernel(kind, most, seed)
    stein_weights(K[:2, :2], solver)  # the solver is loaded when it is first used
    found: list[float | None] = []
    for repetition in range(REPEATS):
        part = np.random.default_rng([seed, M, repetition]).permutation(most)[:M]
        collection = K[np.ix_(part, part)]
        with one_blas_thread():
            began = time.process_time()
            answered = _answers(collection, solver)
            found.append(time.process_time() - began if answered else None)
    return found


def _answers(K: np.ndarray, solver: str) -> bool:
    try:
        stein_weights(K, solver)
    except RunError:
        return False
    return True


@lru_cache(maxsize=2)
def _kernel(kind: str, M: int, seed: int) -> np.ndarray:
    """The published kernel between M random or solved factorizations of a 30×40 matrix."""
    dataset = low_rank(30, 40, RANK, noise=0.1, rng=np.random.default_rng(seed))
    particles = run(
        dataset, RunSpec("random_restarts", RANK, particles=M, seed=seed, settings=AS_PUBLISHED)
    )
    if kind == "random":
        problem = Problem.without_model(dataset, RANK)
        A, W = starts.random(problem, M, seed)
        particles = replace(particles, A=A, W=W)
    return kernel_matrix(particles, dataset, form="paper")
