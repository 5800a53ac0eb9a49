"""Generated binary matrices: every one is counted for, and the flips are binomial."""

import numpy as np
import pytest
from scipy import stats

from bnmf_core import boolean_tiles
from bnmf_core.boolean.generator import IMPLIED_DENSITY
from bnmf_core.core.errors import SettingsError
from bnmf_core.numerics.matrix import boolean_product


def clean(density, seed=0, **more):
    quiet = {"false_positive": 0.0, "false_negative": 0.0}
    return boolean_tiles(density=density, rng=np.random.default_rng(seed), **quiet | more)


@pytest.mark.parametrize(("density", "ones"), [(0.1, 6 + 33), (IMPLIED_DENSITY, 6 + 2)])
def test_every_column_of_a_factor_has_as_many_ones_as_its_density_says(density, ones):
    known = clean(density).truth[0]
    np.testing.assert_array_equal(known.A.sum(axis=0), ones)
    np.testing.assert_array_equal(known.W.sum(axis=1), ones)
    np.testing.assert_array_equal(known.A[:180], np.kron(np.eye(30), np.ones((6, 1))))


def test_both_densities_make_the_tables_that_paper_4_tells_of():
    """1,920 ones less an overlap, as its tables of results have it; 41,400 as table 3.1 has it."""
    assert all(1900 <= clean(IMPLIED_DENSITY, seed).X.sum() <= 1920 for seed in range(5))
    assert abs(clean(0.1).X.sum() - 41_400) < 500


def test_ones_are_taken_as_given_and_each_side_goes_by_its_own_length():
    known = clean(0.3, features=250, observations=90, rank=4, ones=5).truth[0]
    np.testing.assert_array_equal(known.A.sum(axis=0), 3 + 5)
    np.testing.assert_array_equal(known.W.sum(axis=1), 1 + 5)


def test_without_flips_the_table_is_the_boolean_product_cell_by_cell():
    data = clean(0.2, features=70, observations=50, rank=6)
    known = data.truth[0]
    cells = [
        [any(a * w for a, w in zip(row, column, strict=True)) for column in known.W.T]
        for row in known.A
    ]
    np.testing.assert_array_equal(data.X, np.array(cells, dtype=float))
    assert (known.A @ known.W).max() > 1


@pytest.mark.parametrize(("off", "on"), [(0.01, 0.05), (0.05, 0.15)])
def test_flips_are_binomial_on_either_side(off, on):
    data = boolean_tiles(false_positive=off, false_negative=on, rng=np.random.default_rng(3))
    C = boolean_product(data.truth[0].A, data.truth[0].W)
    for side, rate in ((~C, off), (C, on)):
        flipped = int((data.X[side] != C[side]).sum())
        assert stats.binomtest(flipped, int(side.sum()), rate).pvalue > 1e-4


def test_a_shuffled_table_is_put_back_in_order_by_its_names():
    plain = boolean_tiles(60, 45, 3, rng=np.random.default_rng(4))
    mixed = boolean_tiles(60, 45, 3, shuffle=True, rng=np.random.default_rng(4))
    assert not np.array_equal(mixed.X, plain.X)
    rows = np.argsort([int(name.split()[1]) for name in mixed.features])
    columns = np.argsort([int(name.split()[1]) for name in mixed.observations])
    np.testing.assert_array_equal(mixed.X[np.ix_(rows, columns)], plain.X)
    np.testing.assert_array_equal(mixed.truth[0].A[rows], plain.truth[0].A)
    np.testing.assert_array_equal(mixed.truth[0].W[:, columns], plain.truth[0].W)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"features": 512, "rank": 86}, "86 tiles with 6 of the 512 features .* at most 85"),
        ({"rank": 0}, "0 tiles"),
        ({"ones": 333}, "332 of the 512 features are left"),
        ({"false_positive": 1.5}, "false ones was 1.5"),
        ({"density": -0.1}, "density was -0.1"),
        ({"features": 10**5, "observations": 10**5}, "cells; at most"),
    ],
)
def test_what_makes_no_table_is_refused_with_the_numbers(asked, words):
    with pytest.raises(SettingsError, match=words):
        boolean_tiles(**asked)
