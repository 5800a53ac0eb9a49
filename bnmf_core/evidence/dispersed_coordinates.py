"""Coordinates of negative binomial counts: logarithms of all entries, and the dispersion's.

Given k, the density takes one look at AW, where an integral over k takes one for each of its nodes
and for every step to its middle.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.model import required
from bnmf_core.core.problem import Problem
from bnmf_core.numerics import dispersed
from bnmf_core.samplers import sources
from bnmf_core.samplers.coordinates import Density, EntryCoordinates


@dataclass(frozen=True)
class DispersedCoordinates(EntryCoordinates):
    """q (c, R, D + N + 1): log A, log W, and in the last column standard normals.

    The first of them is (log k − log m)/s, with the dispersion's prior log k ~ N(log m, s²); the
    others, of which X says nothing, leave every integral as it is.
    """

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Logarithms; k = m."""
        q = super().to_position(A, W)
        return np.concatenate((q, np.zeros((*q.shape[:2], 1))), axis=2)

    def to_factors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and W, k left out."""
        return super().to_factors(q[:, :, :-1])

    def density(self, problem: Problem) -> Density:
        """log p + Σ log x′ with all its constants, and the gradient."""
        counts, D, priors = problem.counts, self.D, sources.of(problem)
        prior, constant = required(priors.dispersion), -counts.log_factorials
        constant -= 0.5 * problem.rank * float(np.log(2.0 * np.pi))

        def log_density_and_gradient(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            F, z = np.exp(q[:, :, :-1]), q[:, :, -1]
            A, W = F[:, :, :D].transpose(0, 2, 1), F[:, :, D:]
            k = prior.median * np.exp(prior.spread * z[:, 0])
            values, by_A, by_W, by_k = dispersed.log_likelihood(counts, A, W, k)
            values += constant + priors.A.log_density(A) + priors.W.log_density(W)
            values += q[:, :, :-1].sum(axis=(1, 2)) - 0.5 * np.vecdot(z, z)
            gradient = np.empty_like(q)
            gradient[:, :, :D] = (by_A + priors.A.slope(A)).transpose(0, 2, 1)
            gradient[:, :, D:-1] = by_W + priors.W.slope(W)
            gradient[:, :, :-1] *= F
            gradient[:, :, :-1] += 1.0
            gradient[:, :, -1] = -z
            gradient[:, 0, -1] += prior.spread * by_k
            return values, gradient

        return log_density_and_gradient
