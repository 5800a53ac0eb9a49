"""Weights that sum to 1: the planted scales come back."""

import numpy as np
import pytest

from bnmf_core.compare.abundances import sum_to_one
from bnmf_core.core.errors import DataError


def test_planted_shares_come_back_and_the_product_stays():
    rng = np.random.default_rng(0)
    A, shares = rng.random((7, 3)), rng.dirichlet([1, 1, 1], size=40).T
    stretch = np.array([0.2, 3.0, 50.0])
    found_A, found_W = sum_to_one(A * stretch, shares / stretch[:, None])
    np.testing.assert_allclose(found_W, shares, rtol=1e-8)
    np.testing.assert_allclose(found_A @ found_W, A @ shares)


def test_no_scales_of_one_size_leave_less_than_the_least_squares():
    rng = np.random.default_rng(1)
    A, W = rng.random((5, 2)), rng.random((2, 30))
    _, found = sum_to_one(A, W)
    left = ((found.sum(axis=0) - 1) ** 2).sum()
    for scale in np.exp(rng.normal(size=(200, 2))):
        assert ((scale @ W - 1) ** 2).sum() >= left - 1e-12


def test_a_component_that_would_vanish_is_named():
    W = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 5.0]])
    with pytest.raises(DataError, match="component 2 would have no weight"):
        sum_to_one(np.ones((3, 2)), W)
