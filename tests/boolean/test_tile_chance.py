"""Whether noise alone makes a tile: the bound against tables of noise, and known cases."""

import itertools
import math

import numpy as np
import pytest

from bnmf_core.boolean.tiles import log10_noise_chance, tile_order
from bnmf_core.core.errors import SettingsError

RNG = np.random.default_rng(0)


def test_the_bound_holds_for_tables_of_noise():
    """Of every block of 2 rows and 3 columns in 4×5 cells, at least 5 of 6 on."""
    density, tables = 0.2, 4_000
    rows = list(itertools.combinations(range(4), 2))
    columns = list(itertools.combinations(range(5), 3))
    noise = RNG.random((tables, 4, 5)) < density
    held = np.zeros(tables, bool)
    for r in rows:
        for c in columns:
            held |= noise[:, r][:, :, c].sum(axis=(1, 2)) >= 5
    one = np.array([2]), np.array([3]), np.array([5]), np.array([6])
    bound = 10.0 ** log10_noise_chance(*one, (4, 5), density)[0]
    by_hand = 6 * 10 * (6 * 0.2**5 * 0.8 + 0.2**6)
    assert bound == pytest.approx(by_hand, rel=1e-12)
    assert held.mean() < bound < 10 * held.mean()


def test_more_cells_and_fuller_ones_are_less_likely_noise_and_a_single_cell_tells_nothing():
    sides = np.array([1, 4, 8, 8])
    ones = np.array([1, 16, 64, 50])
    found = log10_noise_chance(sides, sides, ones, sides**2, (60, 60), 0.05)
    assert found[0] == 0.0
    assert found[2] < found[3] < 0.0 and found[2] < found[1]


def test_a_density_that_is_none_is_refused():
    with pytest.raises(SettingsError, match="1.5"):
        log10_noise_chance(*[np.array([1])] * 4, (2, 2), 1.5)


def test_tiles_that_share_nothing_become_blocks_on_the_diagonal():
    blocks = np.kron(np.eye(3, dtype=bool), np.ones((4, 1), bool))
    rows, columns = RNG.permutation(12), RNG.permutation(12)
    A, W = blocks[rows], blocks.T[:, columns]
    of_rows, of_columns = tile_order(A, W)
    product = (A[of_rows].astype(int) @ W[:, of_columns].astype(int)) > 0
    np.testing.assert_array_equal(product, np.kron(np.eye(3), np.ones((4, 4))) > 0)
    assert sorted(of_rows) == sorted(of_columns) == list(range(12))


def test_what_is_too_small_for_a_number_has_a_bound_that_joins_the_rest():
    sides = np.array([20, 30, 40])
    found = log10_noise_chance(sides, sides, sides**2, sides**2, (50, 50), 0.4)
    assert np.isfinite(found).all()
    # All cells on: P = p^n exactly, and so is Chernoff's bound.
    blocks = 2 * np.array([np.log10(math.comb(50, side)) for side in sides])
    np.testing.assert_allclose(found, blocks + sides**2 * np.log10(0.4), rtol=1e-9)
