"""Frobenius distance between bases, after one common scale and the best matching."""

import numpy as np

from bnmf_core.compare.distances.costs import squared_differences
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import unit_l1_columns

FROBENIUS_A = Distance(
    key="frobenius_A",
    label="Frobenius, bases",
    unit="",
    upper=lambda R: float(np.sqrt(2.0 * R)),
    # Columns that sum to 1 come near the bound only where a single feature makes up all of one.
    different=1 / 50,
    compared=unit_l1_columns,
    cost=squared_differences,
    combine=lambda matched, left_shares, right_shares: np.sqrt(matched.sum(axis=2)),
    is_metric=True,
    summary="The Frobenius norm of A − A′, every column summing to 1 and best matched.",
    reference="paper 1, section 3.1, the baseline of figure 1",
)
