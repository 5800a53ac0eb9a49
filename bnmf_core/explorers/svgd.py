"""Stein variational gradient descent (Liu & Wang 2016) with the kernel of paper 3, §6.2 and eq. 7.

Particles move along φ, the direction in which their distribution comes nearer to the posterior
fastest (see :mod:`bnmf_core.explorers.stein_direction`). One particle alone climbs to a mode. The
paper moves A and W as they are, which ``coordinates = "ambient"`` does; by default they move in
coordinates without walls, in which Stein's identity holds and entries stay ≥ 0. With few particles
in many dimensions the spread of the posterior is underestimated (Ba et al. 2022), so these are not
draws.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.explorers import stein_descent
from bnmf_core.explorers.interior import Interior
from bnmf_core.explorers.stein_direction import direction


@dataclass(frozen=True)
class Settings(stein_descent.StartSettings):
    """How the particles move, and where they start."""


def variational_gradient(
    problem: Problem, chart: Interior, q: np.ndarray, lengths: np.ndarray, exponent: float
) -> np.ndarray:
    """φ at each particle, (m, R, D + N) like q."""
    m = q.shape[0]
    scores = [part.reshape(m, -1) for part in chart.split(chart.score(problem, q))]
    of_A, of_W = direction(chart.parts(q), scores, lengths, exponent)
    return chart.joined(of_A, of_W, q.shape[1])


ALGORITHM = stein_descent.explorer(
    stein_descent.random_starts,
    variational_gradient,
    follow_lengths=True,
    passes=1.0,
    key="svgd",
    label="SVGD",
    Settings=Settings,
    color="#6C5007",
    symbol="triangle-up",
    summary="Stein variational gradient descent: move all particles along the posterior's "
    "gradient while a kernel repels them. Slow to reach good factorizations.",
    reference="Liu & Wang 2016; paper 3, §6.2",
)
