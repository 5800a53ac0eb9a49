"""Uncertainty and ambiguity of entries, cells and tiles add up exactly and mean what they say."""

import numpy as np
import pytest

from bnmf_core.boolean.thresholds import (
    cell_probabilities,
    doubt_of_cells,
    doubt_of_entries,
    doubt_of_tiles,
    matched_jaccard,
    probability_on,
)
from bnmf_core.compare.distances import DISTANCES, distances
from bnmf_core.core.errors import DataError


def draws(seed, M=20, D=6, N=7, R=3):
    rng = np.random.default_rng(seed)
    return rng.random((M, D, R)), rng.random((M, R, N)), rng.random(M)


@pytest.mark.parametrize("weighted", [False, True])
def test_uncertainty_and_ambiguity_add_up_to_the_doubt_of_the_mean(weighted):
    A, W, weights = draws(0)
    chosen = weights if weighted else None
    for found in (doubt_of_entries(A, chosen), doubt_of_cells(A, W, chosen)):
        np.testing.assert_allclose(found.uncertainty + found.ambiguity, found.total, atol=1e-15)


def test_a_clear_half_is_ambiguous_and_a_coin_is_uncertain():
    half, coin = np.full((4, 1), 0.5), np.array([[0.0], [1.0], [1.0], [0.0]])
    clear, undecided = doubt_of_entries(half), doubt_of_entries(coin)
    assert (clear.uncertainty, clear.ambiguity) == (0.0, 0.25)
    assert (undecided.uncertainty, undecided.ambiguity) == (0.25, 0.0)


def test_a_cell_is_off_when_every_component_leaves_it_off():
    A, W, _ = draws(1)
    q = cell_probabilities(A[0], W[0])
    expected = 1 - np.prod(1 - A[0][:, :, None] * W[0][None], axis=1)
    np.testing.assert_allclose(q, expected, atol=1e-15)
    all_q = np.array([cell_probabilities(a, w) for a, w in zip(A, W, strict=True)])
    found = doubt_of_cells(A, W)
    np.testing.assert_allclose(found.mean, all_q.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(found.uncertainty, all_q.var(axis=0), atol=1e-15)


def test_cells_do_not_depend_on_the_order_of_components():
    A, W, _ = draws(2)
    turned = A.copy(), W.copy()
    turned[0][::2], turned[1][::2] = A[::2, :, ::-1], W[::2, ::-1]
    np.testing.assert_allclose(
        doubt_of_cells(*turned).uncertainty, doubt_of_cells(A, W).uncertainty, atol=1e-15
    )
    np.testing.assert_array_equal(probability_on(*turned), probability_on(A, W))


def test_the_probability_of_a_cell_is_the_share_of_draws_that_have_it():
    A = np.array([[[0.9], [0.2]], [[0.6], [0.2]], [[0.4], [0.9]], [[0.8], [0.1]]])
    W = np.full((4, 1, 1), 0.7)
    np.testing.assert_allclose(probability_on(A, W)[:, 0], [0.75, 0.25])


def blocks():
    """Two tiles of four and of six cells."""
    A, W = np.zeros((5, 2)), np.zeros((2, 5))
    A[:2, 0], W[0, :2], A[2:, 1], W[1, 2:4] = 1.0, 1.0, 1.0, 1.0
    return A, W


def test_a_tile_is_present_where_half_of_all_cells_are_in_common():
    A, W = blocks()
    same, part, gone = W.copy(), W.copy(), W.copy()
    part[0] = [1, 1, 1, 1, 0]  # 4 of 8 cells in common
    gone[0] = [1, 1, 1, 1, 1]  # 4 of 10
    many_W = np.stack([same, part, gone])[:, ::-1]
    many_A = np.repeat(A[None, :, ::-1], 3, axis=0)
    shared = matched_jaccard(A, W, many_A, many_W)
    np.testing.assert_allclose(shared, [[1, 1], [0.5, 1], [0.4, 1]])
    found = doubt_of_tiles(A, W, many_A, many_W)
    np.testing.assert_allclose(found.present, [2 / 3, 1])
    assert found.cells.tolist() == [4, 6]
    np.testing.assert_array_equal(found.uncertainty, 0.0)


def test_doubt_of_a_tile_is_the_mean_over_its_cells():
    reference, (A, W, weights) = blocks(), draws(3, D=5, N=5, R=2)
    found, cells = doubt_of_tiles(*reference, A, W, weights), doubt_of_cells(A, W, weights)
    for r in range(2):
        inside = np.outer(reference[0][:, r], reference[1][r]) > 0
        assert found.uncertainty[r] == pytest.approx(cells.uncertainty[inside].mean(), rel=1e-12)
        assert found.ambiguity[r] == pytest.approx(cells.ambiguity[inside].mean(), rel=1e-12)


def test_tiles_of_different_tables_are_not_matched():
    A, W, _ = draws(4)
    with pytest.raises(DataError, match="same table and rank"):
        doubt_of_tiles(*blocks(), A, W)


# Distances after binarization


class Two:
    """Two factorizations of blocks: the second has a row fewer in its first tile."""

    A = np.stack([blocks()[0], blocks()[0][:, ::-1]]) * 0.9
    W = np.stack([blocks()[1], blocks()[1][::-1]]) * 0.8


def test_distances_after_binarization_by_hand():
    other = Two()
    other.A = Two.A.copy()
    other.A[1, 0, 1] = 0.5  # at the threshold: off
    assert distances(Two, "jaccard")[0, 1] == 0.0 == distances(Two, "hamming")[0, 1]
    # Two of four cells are left in common; one of ten entries differs.
    assert distances(other, "jaccard")[0, 1] == pytest.approx(0.5 / 2)
    assert distances(other, "hamming")[0, 1] == pytest.approx(0.1 / 2)


def test_jaccard_counts_the_cells_of_tiles():
    A, W, _ = draws(5, M=2, R=1)
    on = [np.outer(a[:, 0] > 0.5, w[0] > 0.5) for a, w in zip(A, W, strict=True)]
    expected = 1 - (on[0] & on[1]).sum() / (on[0] | on[1]).sum()

    class Pair:
        pass

    Pair.A, Pair.W = A, W
    assert distances(Pair, "jaccard")[0, 1] == pytest.approx(expected)
    assert DISTANCES["jaccard"].upper(3) == 1.0
