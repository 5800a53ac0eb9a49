"""Maximum angle (paper 1, equation 3): how far the worst-matched component has turned."""

from bnmf_core.compare.distances.costs import angles
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import unit_l2_columns

MAX_ANGLE = Distance(
    key="max_angle",
    label="Maximum angle",
    unit="°",
    upper=lambda R: 90.0,
    compared=unit_l2_columns,
    cost=angles,
    combine=lambda matched, left_shares, right_shares: matched.max(axis=2),
    is_metric=False,
    summary="The largest angle between matched columns of A; one changed component is enough.",
    reference="Masood and Doshi-Velez 2016; paper 1, section 3.1, equation 3",
)
