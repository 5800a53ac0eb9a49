"""Whether the chains of exact samplers have met, by how far their draws are apart."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.distances.pairwise import Distance

# Draws of different chains that are so many times as far apart as draws of one have not met.
FACTOR = 1.5


@dataclass(frozen=True)
class Spread:
    """How far draws are apart, in the distance's unit, on average over pairs.

    chains : how many there are. within : of one chain. between : of different chains. Medians over
    the chains and over their pairs.
    """

    chains: int
    within: float
    between: float

    @property
    def apart(self) -> bool:
        """Whether the chains are in different places."""
        return self.between > FACTOR * self.within

    def said(self, distance: Distance) -> tuple[str, str]:
        """That the chains are in different places, and what is not known from them."""
        within, between = (
            f"{far:.2g}{distance.unit_behind}" for far in (self.within, self.between)
        )
        return (
            f"The {self.chains} chains have not met: two draws of one chain are typically "
            f"{within} apart, two of different chains {between}.",
            "How much the posterior leaves open is not known from them, and it may be more than "
            "the modes of restarts show.",
        )


def spread(
    comparison: Comparison, metric: str, run_ids: Collection[str] | None = None
) -> Spread | None:
    """How far the draws of exact samplers are apart; None without two chains of two draws.

    ``run_ids`` : of these runs only, of all if left out.
    """
    members = comparison.members
    counted = members["algorithm"].isin(comparison.exact_samplers)
    sampled = members[counted if run_ids is None else counted & members["run"].isin(run_ids)]
    groups = [
        np.asarray(rows)
        for rows in sampled.groupby(["run", "chain"], sort=False).groups.values()
        if len(rows) > 1
    ]
    if len(groups) < 2:
        return None
    matrix = distances.STAGE.of(comparison).matrix(metric)
    within = [
        float(matrix[np.ix_(rows, rows)].sum()) / (rows.size * (rows.size - 1)) for rows in groups
    ]
    between = [
        float(matrix[np.ix_(one, other)].mean())
        for i, one in enumerate(groups)
        for other in groups[:i]
    ]
    return Spread(len(groups), float(np.median(within)), float(np.median(between)))
