"""Q-SVGD: Stein variational gradient descent from Q-Transform's starts (paper 3, §6.2).

The starts are briefly solved, like those of SVGD; with 0 solver iterations the particles set out
from the transformed singular vectors as they are.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import q_transform, stein_descent
from bnmf_core.explorers.svgd import variational_gradient


@dataclass(frozen=True)
class Settings(q_transform.TransferSettings, stein_descent.DescentSettings):
    """How the particles move, and Q-Transform's settings for their starts."""


def starts(problem: Problem, settings: Settings, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """Q-Transform's starts at the model's scale: A (m, D, R), W (m, R, N)."""
    return problem.model.scale(*q_transform.starts(problem, settings, shard))


ALGORITHM = stein_descent.explorer(
    starts,
    variational_gradient,
    follow_lengths=True,
    passes=1.0,
    key="q_svgd",
    label="Q-SVGD",
    Settings=Settings,
    color="#A89B86",
    symbol="triangle-down",
    summary="SVGD from Q-Transform starts, which are diverse from the beginning.",
    reference="paper 3, §6.2; Liu & Wang 2016",
)
