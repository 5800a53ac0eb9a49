"""Distances, spreads and invariants of factorizations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bnmf_core.compare.distances import pairwise
from bnmf_core.compare.distances.measures import (
    FROBENIUS_A,
    FROBENIUS_W,
    L1_MAX,
    L1_SUM,
    MAX_ANGLE,
    WAD,
)
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.core.errors import NotFoundError
from bnmf_core.core.registry import Registry

# The order is the order on screen.
DISTANCES = Registry(
    "distance",
    Distance,
    (MAX_ANGLE, WAD, L1_SUM, L1_MAX, FROBENIUS_A, FROBENIUS_W),
    "bnmf.distances",
)


def suited(unit: bool) -> dict[str, Distance]:
    """The distances that suit factorizations: some are for entries between 0 and 1 (``unit``)."""
    return {key: one for key, one in DISTANCES.items() if unit or one.scale_free}


def find_distance(metric: str) -> Distance:
    """The distance called ``metric``.

    Raises
    ------
    NotFoundError
        Listing the distances that exist.
    """
    if metric not in DISTANCES:
        raise NotFoundError(
            f"There is no distance called {metric!r}; choose one of {', '.join(DISTANCES)}."
        )
    return DISTANCES[metric]


def distances(
    particles: Any,
    metric: str = "max_angle",
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> np.ndarray:
    """Distances between all pairs of factorizations.

    Parameters
    ----------
    particles : Particles, or any object with ``.A`` (M, D, R) and ``.W`` (M, R, N).
    metric : a key of ``DISTANCES``.
    on_progress : called with the fraction done, 0 to 1. cancel : checked between tiles.

    Returns
    -------
    (M, M) float64, in the distance's unit: symmetric, with an exactly zero diagonal.

    Raises
    ------
    NotFoundError
        When there is no such metric; lists the ones there are.
    Cancelled
        When ``cancel()`` returned True.

    Examples
    --------
    >>> from bnmf_core import RunSpec, distances, laurberg, run
    >>> particles = run(laurberg("two"), RunSpec("random_restarts", rank=3, particles=4))
    >>> distances(particles, "max_angle").shape
    (4, 4)
    """
    distance = find_distance(metric)
    return pairwise.pairwise(particles.A, particles.W, distance, on_progress, cancel)
