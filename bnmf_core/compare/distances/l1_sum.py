"""ℓ1 minimum matching distance (paper 1, equations 1 and 2): summed over the components."""

from bnmf_core.compare.distances.costs import absolute_differences
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import unit_l1_columns

L1_SUM = Distance(
    key="l1_sum",
    label="ℓ1 matching, sum",
    unit="",
    upper=lambda R: 2.0 * R,
    # A sum over components, most of which agree.
    different=1 / 20,
    compared=unit_l1_columns,
    cost=absolute_differences,
    combine=lambda matched, left_shares, right_shares: matched.sum(axis=2),
    is_metric=True,
    summary=(
        "The sum over matched columns of the absolute differences, every column summing to 1: "
        "twice the total variation distance, added up over the components."
    ),
    reference="paper 1, section 3.1, equation 1; its bound is 2R",
)
