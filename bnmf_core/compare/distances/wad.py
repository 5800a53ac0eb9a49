"""Weighted angular distance (paper 2, section 2): angles weighted by what they reconstruct."""

import numpy as np

from bnmf_core.compare.distances.costs import angles
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import unit_l2_columns

WAD = Distance(
    key="wad",
    label="Weighted angular distance",
    unit="°",
    upper=lambda R: 90.0,
    # A mean over components: one of three has turned by 15°.
    different=1 / 18,
    compared=unit_l2_columns,
    cost=angles,
    combine=lambda matched, left_shares, right_shares: (
        np.einsum("klr,klr->kl", matched, left_shares + right_shares) / 2.0
    ),
    is_metric=False,
    summary=(
        "The mean angle between matched columns of A, each counted by its component's share "
        "of the reconstruction; components that hardly contribute hardly count."
    ),
    reference="paper 2, section 2",
    weighted=True,
)
