"""Frobenius distance between weights, after one common scale and the best matching."""

import math

import numpy as np

from bnmf_core.compare.distances.costs import squared_differences
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.distances.scaling import rows_of_W

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
