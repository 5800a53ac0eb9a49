"""What :mod:`bnmf_core.rrt.rrt` goes on from between two steps."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.rrt.mixture import Mixture
from bnmf_core.rrt.tree import Nodes

QUALITY, DIVERSITY = "quality", "diversity"


@dataclass(frozen=True, eq=False)
class Starts:
    """What a tree is to be planted with: A, W (b, D, R), (b, R, N); ``unsolved`` : how many are."""

    A: np.ndarray
    W: np.ndarray
    unsolved: int


@dataclass(frozen=True, eq=False)
class Planted:
    """A tree that grows.

    Attributes
    ----------
    nodes : see ``Nodes``. threshold : least log joint of a node, −∞ where there is none.
    angle : least angle, degrees. turn : how often the tree has begun again.
    """

    nodes: Nodes
    threshold: float
    angle: float
    turn: int


@dataclass(frozen=True, eq=False)
class Counters:
    """Proposals asked for and made, attempts in a row without a node, failed ones by reason."""

    size: int
    made: int
    failed: int
    rejected: np.ndarray


@dataclass(frozen=True, eq=False)
class State:
    """A tree between two steps.

    Attributes
    ----------
    way : "quality" or "diversity". starts : None once the tree is planted. tree : None before.
    mixture : of what was proposed, for diversity; None for quality.
    variance : σ² of all its components.
    """

    way: str
    starts: Starts | None
    tree: Planted | None
    mixture: Mixture | None
    variance: float
    counters: Counters
