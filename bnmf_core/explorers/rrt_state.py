"""What :mod:`bnmf_core.explorers.rrt` goes on from between two steps."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bnmf_core.explorers.tree import Nodes
from bnmf_core.variational.mixture import Mixture

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

    @classmethod
    def from_flat(cls, stored: Mapping[str, Any]) -> "State":
        """The state of a checkpoint from before states were nested, by its fields."""
        counters = Counters(*(stored[name] for name in ("size", "made", "failed", "rejected")))
        way, variance = stored["way"], stored["variance"]
        if not len(stored["Q"]):
            starts = Starts(stored["A"], stored["W"], stored["unsolved"])
            return cls(way, starts, None, None, variance, counters)
        nodes = Nodes(*(stored[name] for name in ("Q", "number", "quality", "base")))
        tree = Planted(nodes, stored["threshold"], stored["angle"], stored["turn"])
        mixture = None
        if way == DIVERSITY:
            names = [part.name for part in fields(Mixture)]
            mixture = Mixture(**{name: stored[f"mixture_{name}"] for name in names})
        return cls(way, None, tree, mixture, variance, counters)
