"""Direct Stein gradient descent (paper 3, §6.2): downhill on the discrepancy itself.

The paper replaces SVGD's direction by the gradient of the Stein discrepancy with respect to the
particles, by automatic differentiation. Here it is analytic: S = (1/M²) Σ_ij K_p(θ_i, θ_j) with
equal weights (the best weights are found afterwards, as for every algorithm), in the coordinates of
:mod:`bnmf_core.explorers.interior` or, as in the paper, in A and W as they are. K_p holds the
slopes of the log density, so its gradient needs their derivatives; they enter as one
Hessian–vector product for each particle, which the models that it works with have in closed form.

S is also small at any place where the slopes are small and the particles far apart, so particles
can come to rest where the density is low; the paper finds such factorizations to be poor. Open
length scales are taken from the starts and then stay, so that one function is descended.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.model import Capability
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import stein_descent
from bnmf_core.explorers.interior import Interior
from bnmf_core.explorers.stein_direction import direction, discrepancy_gradient


@dataclass(frozen=True)
class Settings(stein_descent.StartSettings):
    """How the particles move, and where they start."""


def downhill(
    problem: Problem, chart: Interior, q: np.ndarray, lengths: np.ndarray, exponent: float
) -> np.ndarray:
    """−∂S/∂q of each particle, (m, R, D + N) like q."""
    m, R = q.shape[:2]
    positions, score = chart.parts(q), chart.score(problem, q)
    scores = [part.reshape(m, -1) for part in chart.split(score)]
    of_A, of_W = direction(positions, scores, lengths, exponent)
    towards = chart.joined(of_A, of_W, R)
    curved = chart.split(chart.score_along(problem, q, towards))
    by_A, by_W = discrepancy_gradient(
        positions,
        scores,
        [part.reshape(m, -1) for part in curved],
        chart.dimensions(q),
        lengths,
        exponent,
    )
    return -chart.joined(by_A, by_W, R)


ALGORITHM = stein_descent.explorer(
    stein_descent.random_starts,
    downhill,
    follow_lengths=False,
    passes=3.0,
    extra_needs=(Capability.SCORE_ALONG,),
    key="dsgd",
    label="DSGD",
    Settings=Settings,
    color="#4443BE",
    symbol="cross",
    summary="Minimize the Stein discrepancy of all particles by gradient descent. Often stops "
    "at poor factorizations.",
    reference="paper 3, §6.2",
)
