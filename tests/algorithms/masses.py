"""The mass of each solution of the problem with exactly two."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from bnmf_core.data.synthetic import laurberg


def nearest_solution(particles) -> np.ndarray:
    """0 or 1 for each particle: to which of the two known bases it has the larger cosines, (M,)."""
    truths = [truth.A / np.linalg.norm(truth.A, axis=0) for truth in laurberg("two").truth]
    A = np.asarray(particles.A)
    A = A / np.linalg.norm(A, axis=1, keepdims=True)

    def alike(one, truth):
        cosines = one.T @ truth
        return cosines[linear_sum_assignment(-cosines)].sum()

    return np.array([int(alike(one, truths[1]) > alike(one, truths[0])) for one in A])


def mass_of_first(particles) -> float:
    """The weight of the particles near the first solution."""
    return float(particles.weights[nearest_solution(particles) == 0].sum())
