"""The exact curve of errors over thresholds, and the thresholds that are best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core import threshold_curve
from bnmf_core.boolean.thresholds import (
    PAIR_GRID,
    PAPER_GRID,
    best_thresholds,
    errors_at,
    two_thresholds,
)
from bnmf_core.core.errors import DataError
from bnmf_core.numerics.matrix import boolean_product
from tests.generated import always


def random_case(seed, D=9, N=11, R=3):
    """Half of the entries are hundredths, so that thresholds of the grid meet them exactly."""
    rng = np.random.default_rng(seed)

    def factor(*shape):
        return np.where(
            rng.random(shape) < 0.5, rng.integers(0, 101, shape) / 100, rng.random(shape)
        )

    X = (rng.random((D, N)) < 0.4).astype(float)
    mask = rng.random((D, N)) < 0.8
    return factor(D, R), factor(R, N), X, mask


def counted(A, W, X, mask, tau):
    """One cell after the other."""
    return sum(
        int(any(A[d, r] > tau and W[r, n] > tau for r in range(A.shape[1])) != bool(X[d, n]))
        for d, n in zip(*np.nonzero(mask), strict=True)
    )


@given(seed=st.integers(0, 10_000))
@always(30)
def test_the_curve_is_the_count_at_every_threshold_of_the_papers_grid(seed):
    A, W, X, mask = random_case(seed)
    found = errors_at(*threshold_curve(A, W, X, mask), PAPER_GRID)
    assert found.tolist() == [counted(A, W, X, mask, tau) for tau in PAPER_GRID]


def test_thresholds_are_the_fractions_themselves_and_entries_at_them_are_off():
    assert 57 / 100 in PAPER_GRID and 0.01 * 57 not in PAPER_GRID
    thresholds, errors = threshold_curve(
        np.array([[57 / 100]]), np.array([[1.0]]), np.array([[1.0]])
    )
    assert errors_at(thresholds, errors, PAPER_GRID).tolist() == [0] * 56 + [1] * 43


def test_cells_that_are_not_known_do_not_count():
    A, W, X, mask = random_case(1)
    holes = np.where(mask, X, np.nan)
    for one, other in zip(
        threshold_curve(A, W, holes), threshold_curve(A, W, X, mask), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_the_best_thresholds_need_not_be_an_interval():
    """Two tiles at levels .8 and .3 and a wrong cell between them: best below .3, and from .5."""
    A, W = np.diag([0.8, 0.5, 0.3]), np.eye(3)
    X = np.diag([1.0, 0.0, 1.0])
    thresholds, errors = threshold_curve(A, W, X)
    assert thresholds.tolist() == [0.0, 0.3, 0.5, 0.8]
    assert errors.tolist() == [1, 2, 1, 2]
    assert best_thresholds(thresholds, errors) == [(0.0, 0.3), (0.5, 0.8)]


def test_neighbouring_best_stretches_are_one():
    thresholds, errors = np.array([0.0, 0.2, 0.4]), np.array([5, 3, 3])
    assert best_thresholds(thresholds, errors) == [(0.2, np.inf)]


def test_two_thresholds_agree_with_one_where_they_are_the_same():
    A, W, X, mask = random_case(3)
    errors = two_thresholds(A, W, X, mask)
    np.testing.assert_array_equal(
        np.diag(errors), errors_at(*threshold_curve(A, W, X, mask), PAIR_GRID)
    )
    on = boolean_product(A > 0.25, W > 0.6)
    assert errors[5, 12] == (on != (X == 1))[mask].sum()


def test_what_has_no_curve_is_said():
    A, W, X, _ = random_case(4)
    with pytest.raises(DataError, match="as .D, R., .R, N. and .D, N."):
        threshold_curve(A, W, X.T)
    with pytest.raises(DataError, match="other than 0 and 1"):
        threshold_curve(A, W, 2 * X)
