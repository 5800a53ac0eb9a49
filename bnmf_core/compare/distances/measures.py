"""Distances between two factorizations that do not depend on the scale of components."""

import math

import numpy as np

from bnmf_core.compare.distances.costs import absolute_differences, angles, squared_differences
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import rows_of_W, unit_l1_columns, unit_l2_columns

MAX_ANGLE = Distance(
    key="max_angle",
    label="Maximum angle",
    unit="°",
    upper=lambda R: 90.0,
    compared=unit_l2_columns,
    cost=angles,
    combine=lambda matched, left_shares, right_shares: matched.max(axis=2),
    is_metric=False,
    summary="The largest angle between matched columns of A: that of the most different component.",
    reference="Masood and Doshi-Velez 2016; paper 1, section 3.1, equation 3",
)


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


FROBENIUS_W = Distance(
    key="frobenius_W",
    label="Frobenius, weights",
    unit="",
    upper=lambda R: math.inf,
    compared=rows_of_W,
    cost=squared_differences,
    combine=lambda matched, left_shares, right_shares: np.sqrt(matched.sum(axis=2)),
    is_metric=True,
    summary=(
        "The Frobenius norm of W − W′ when the columns of both A sum to 1, rows best matched; "
        "in the unit of the data."
    ),
    reference="paper 1, section 3.1, the baseline of figure 1, for the weights",
)
