"""Groups of chains that sit in the same mode.

R̂ compares chains by single numbers. Where modes are symmetric those agree although the chains
are nowhere near each other: both solutions of the two-solution problem of paper 1 (eq. 7) have the
same total, shares, overlaps and sparseness. The distance between factorizations tells them apart.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bnmf_core.compare.coverage import checked_distances
from bnmf_core.compare.distances import find_distance, pairwise
from bnmf_core.compare.modes import NEGLIGIBLE
from bnmf_core.core.errors import DataError
from bnmf_core.core.particles import Particles
from bnmf_core.lazy import lazy

csgraph = lazy("scipy.sparse.csgraph")

# Maximum number of compared draws: of each chain, and of all chains.
PER_CHAIN, TOGETHER = 200, 1000


@dataclass(frozen=True, eq=False)
class ChainModes:
    """Modes of C chains.

    Attributes
    ----------
    chains : (C,) the chains' numbers. labels : (C,) mode of each, 0-based.
    within : (C,) largest distance between two draws of a chain.
    closest : (C, C) smallest distance between a draw of one and a draw of the other.
    sentence : what that means, for the screen.
    """

    chains: np.ndarray
    labels: np.ndarray
    within: np.ndarray
    closest: np.ndarray
    sentence: str

    @property
    def count(self) -> int:
        """Number of modes in which chains sit."""
        return int(self.labels.max(initial=-1)) + 1


def chain_modes(distances: np.ndarray, chain: np.ndarray, unit: str = "") -> ChainModes:
    """Tell chains that sit in different modes from chains that share one.

    Two chains share a mode when they come at least as close to each other as the draws of one of
    them are spread, or both share one with a third chain.

    Parameters
    ----------
    distances : (M, M) between draws. chain : (M,) the chain of each draw.
    unit : the distances' unit, for the sentence.
    """
    distances, chain = checked_distances(distances), np.asarray(chain)
    if chain.shape != distances.shape[:1]:
        raise DataError(f"{len(distances)} draws need as many chain numbers, not {chain.shape}.")
    numbers = np.unique(chain)
    members = [np.flatnonzero(chain == number) for number in numbers]
    closest = np.array([[distances[np.ix_(a, b)].min() for b in members] for a in members])
    within = np.array([distances[np.ix_(a, a)].max() for a in members])
    reach = np.maximum(np.maximum(within[:, None], within[None, :]), NEGLIGIBLE)
    count, labels = csgraph.connected_components(sparse.csr_array(closest <= reach), directed=False)
    return ChainModes(
        numbers, labels, within, closest, _sentence(labels, count, within, closest, unit)
    )


def chain_modes_of(particles: Particles, metric: str = "max_angle") -> ChainModes:
    """:func:`chain_modes` of a run, from at most 200 evenly spaced draws of each chain."""
    chain = np.asarray(particles.chain)
    numbers = np.unique(chain)
    most = max(2, min(PER_CHAIN, TOGETHER // max(1, numbers.size)))
    chosen = []
    for number in numbers:
        members = np.flatnonzero(chain == number)
        places = np.linspace(0, members.size - 1, min(most, members.size)).round().astype(int)
        chosen.append(members[places])
    index = np.concatenate(chosen)
    distance = find_distance(metric)
    distances = pairwise.pairwise(particles.A[index], particles.W[index], distance)
    return chain_modes(distances, chain[index], distance.unit)


def _sentence(
    labels: np.ndarray, count: int, within: np.ndarray, closest: np.ndarray, unit: str
) -> str:
    if labels.size == 1:
        return (
            "There is one chain only, which cannot tell whether there are modes that it has not "
            "visited; run several from different starts."
        )
    if count == 1:
        return (
            f"No gap separates the {labels.size} chains: they come as near to each other as the "
            "draws of one of them are spread. Modes that none of them has visited remain possible."
        )
    apart = closest[labels[:, None] != labels[None, :]].min()
    return (
        f"The {labels.size} chains sit in {count} different modes: between modes, draws are at "
        f"least {apart:.3g}{unit} apart, while the draws of one chain are at most "
        f"{within.max():.3g}{unit} apart. Their draws together do not describe the posterior."
    )
