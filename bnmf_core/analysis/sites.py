"""Which members are converged optima, and the modes that they make at 15°: sites.

What is costly is computed once, for sites; modes at a larger threshold are made of them.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.modes import SAME_MODE, find_modes
from bnmf_core.core.errors import RunError

# Converged factorizations that are at most so far apart, in degrees, are one site.
APART, METRIC = SAME_MODE, "max_angle"


@dataclass(frozen=True, eq=False)
class Sites:
    """Converged members and their sites, the largest site first.

    rows : (c,) rows of the members. labels : (c,) their sites, 0-based.
    apart : (c, c) distances between them, degrees.
    """

    rows: np.ndarray
    labels: np.ndarray
    apart: np.ndarray


def find_sites(comparison: Comparison) -> Sites:
    """The sites of a comparison, whose distances are stored.

    Raises
    ------
    RunError
        When no member is known to be an optimum.
    """
    rows = np.flatnonzero(comparison.optima)
    if not rows.size:
        remedy = (
            f"compare them with a run of {comparison.advised}."
            if comparison.advised
            else "no algorithm for their model tells whether it has."
        )
        raise RunError(
            f"None of these factorizations is known to have converged to an optimum; {remedy}"
        )
    apart = distances.STAGE.of(comparison).matrix(METRIC)[np.ix_(rows, rows)]
    return Sites(rows, find_modes(apart, APART).labels, apart)
