"""Mean angle between matched columns of A: how far components have turned on the whole."""

from bnmf_core.compare.distances.costs import angles
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import unit_l2_columns

MEAN_ANGLE = Distance(
    key="mean_angle",
    label="Mean angle",
    unit="°",
    upper=lambda R: 90.0,
    compared=unit_l2_columns,
    cost=angles,
    combine=lambda matched, left_shares, right_shares: matched.mean(axis=2),
    is_metric=False,
    summary="The mean angle between matched columns of A.",
    reference="an example",
)
