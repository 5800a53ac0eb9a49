"""ℓ1 matching distance, largest column: what the tables of paper 1 print."""

from bnmf_core.compare.distances.costs import absolute_differences
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import unit_l1_columns

L1_MAX = Distance(
    key="l1_max",
    label="ℓ1 matching, largest column",
    unit="",
    upper=lambda R: 2.0,
    compared=unit_l1_columns,
    cost=absolute_differences,
    combine=lambda matched, left_shares, right_shares: matched.max(axis=2),
    is_metric=False,
    summary=(
        "The largest absolute difference of one matched column, every column summing to 1; the "
        "matching is the one with the smallest sum."
    ),
    reference="paper 1, section 3.1, equation 2 as an induced matrix norm; its tables 3 and 7",
)
