"""The optimum of each draw: the one that a solver reaches from the draw."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.distances import find_distance
from bnmf_core.compare.distances.pairwise import cross
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.solvers.basins import NEAR, optima_from
from bnmf_core.store import files

METRIC = "max_angle"
# Draws of a chain that solvers start from; all of them where these do not share an optimum.
PER_CHAIN = 8
# Degrees: ends that a solver leaves this near are one optimum; farther apart they may be places of
# a ridge, which modes cut into pieces.
SAME_OPTIMUM = NEAR.movement
# Labels of draws that were not solved, and of those whose optimum no restart has found.
UNKNOWN, NEW = -1, -2


@dataclass(frozen=True, eq=False)
class Basins:
    """Optima that solvers reach from the draws.

    ends : (m,) row of the nearest optimum within 15° of where a solver ends that starts at the
        member; ``UNKNOWN`` for members that are no draws, ``NEW`` where no restart has found it.
    """

    ends: np.ndarray

    def new(self) -> int:
        """Number of draws whose optimum no restart has found."""
        return int((self.ends == NEW).sum())


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Solve from draws of the exact samplers' chains and store which optimum each belongs to."""
    ends = np.full(len(comparison.members), UNKNOWN)
    optima = np.flatnonzero(comparison.optima)
    # What is solved for on a sample is an optimum of other data.
    if optima.size and not comparison.of_tiles and comparison.dataset.whole is None:
        members = comparison.members
        sampled = members[members["algorithm"].isin(comparison.exact_samplers)]
        problem = comparison.fit
        to = comparison.factors(optima)
        groups = [
            np.asarray(rows)
            for rows in sampled.groupby(["run", "chain"], sort=False).groups.values()
        ]
        for i, rows in enumerate(groups):
            chosen = rows[evenly_spaced(rows.size, PER_CHAIN)]
            found = _ends(comparison, problem, chosen, optima, to, stopped)
            if _one_optimum(comparison, found):
                ends[rows] = found[0]
            else:
                ends[rows] = _ends(comparison, problem, rows, optima, to, stopped)
            report((i + 1) / len(groups))
    files.write_array(folder / "ends.npy", ends)


def _ends(
    comparison: Comparison,
    problem: Problem,
    rows: np.ndarray,
    optima: np.ndarray,
    to: tuple[np.ndarray, np.ndarray],
    stopped: Stopped,
) -> np.ndarray:
    A, W = optima_from(problem, *comparison.factors(rows), stopped)
    apart = cross(A, W, *to, find_distance(METRIC))
    nearest = apart.argmin(axis=1)
    near = apart[np.arange(rows.size), nearest] <= SAME_MODE
    return np.where(near, optima[nearest], NEW)


def _one_optimum(comparison: Comparison, ends: np.ndarray) -> bool:
    """Whether all of these ends are known, and no farther apart than the solver leaves them."""
    if (ends < 0).any():
        return bool((ends == NEW).all())
    apart = distances.STAGE.of(comparison).matrix(METRIC)[np.ix_(ends, ends)]
    return bool(apart.max() <= max(SAME_OPTIMUM, 2.0 * comparison.resolution))


def read(comparison: Comparison, folder: Path) -> Basins:
    """The stored ends."""
    return Basins(np.asarray(files.read_array(folder / "ends.npy")))


STAGE = Stage(
    key="basins",
    label="Finding the mode of each draw",
    needs=(distances.STAGE,),
    version=2,
    compute=compute,
    read=read,
    weight=2.0,
)
