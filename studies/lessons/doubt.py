"""Three kinds of uncertainty about one small matrix of counts.

The 6×6 matrix of paper 1, eq. 7, which two factorizations explain exactly, as the means of Poisson
counts. Restarts end in both. Counts are drawn again and solved from the best restart, and Gibbs
chains draw from the posterior around it.
"""

import numpy as np

from bnmf_core import Dataset, RunSpec, laurberg, registry, run
from bnmf_core.analysis.posterior import sample_within
from bnmf_core.analysis.resampling import CountsAgain, solved, turned
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.settled import settled
from bnmf_core.core.problem import Problem

COUNTS, EACH, SEED = (300, 3_000, 30_000), 40, 0
RANK, MODEL = 3, "poisson"
# Draws of each of four chains, and sweeps of the longest warm-up.
DRAWS, LONGEST = 500, 20_000


def counted(counts: int, seed: int = SEED) -> Dataset:
    """A matrix with about this number of counts in a column."""
    X = laurberg("two").X
    rng = np.random.default_rng([seed, counts])
    return Dataset.from_array(rng.poisson(counts * X / X.sum(axis=0)).astype(float), name="counts")


def largest(A: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """(K,) the largest angle of bases (K, D, R) to a reference, in degrees."""
    return component_angles(A, reference, matching(A, reference)).max(axis=1)


def measured(counts: int, seed: int = SEED) -> dict[str, object]:
    """Angles from the best restart to other restarts, resamples and draws, and R̂ of the draws."""
    data, model = counted(counts, seed), registry.model(MODEL)
    problem = Problem.prepare(data, model, model.Settings(), RANK)
    restarts = run(data, RunSpec("random_restarts", RANK, MODEL, EACH, seed))
    best = int(np.argmin(restarts.error))
    A, W, _ = solved(problem, restarts.A[best], restarts.W[best])
    rngs = np.random.default_rng([seed, 1]).spawn(EACH)
    resampled = [turned(problem, CountsAgain(problem), A, W, rng)[0].max() for rng in rngs]
    start_A, start_W = model.scale(A[None], W[None])
    generators = np.random.default_rng([seed, 2]).spawn(2)
    parts = [
        sample_within(problem, start_A[0], start_W[0], 2 * half, DRAWS, LONGEST, rng)
        for half, rng in enumerate(generators)
    ]
    drawn, weights, chain = (np.concatenate(part) for part in zip(*parts, strict=True))
    verdict = settled(drawn, weights, model.log_joint(problem, drawn, weights), chain, None)
    chosen = np.linspace(0, len(drawn) - 1, EACH).round().astype(int)
    found = {
        "counts": np.array(resampled),
        "starts": largest(restarts.A, A),
        "draws": largest(drawn[chosen], A),
    }
    angles = {name: np.sort(values).round(2).tolist() for name, values in found.items()}
    return {"counts": counts, "r_hat": round(verdict.r_hat, 3), "angles": angles}


def make(counts: tuple[int, ...] = COUNTS, seed: int = SEED) -> dict[str, object]:
    """The angles at every number of counts in a column."""
    return {"levels": [measured(count, seed) for count in counts]}
