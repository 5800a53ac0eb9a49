"""Bi-cross-validation: what is exact is told exactly, and nothing of the held out block is used."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csc_array

from bnmf_core import Dataset, low_rank
from bnmf_core.compare.cross_validation import Block, blocks_of, held_out_error
from bnmf_core.core.errors import Cancelled, RunError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER as KL
from bnmf_core.core.squared_error import SQUARED_ERROR


def test_blocks_make_up_the_whole_matrix_each_time():
    blocks = blocks_of((7, 10), folds=3, repeats=2, rng=np.random.default_rng(0))
    assert len(blocks) == 18
    times = sum(np.outer(block.rows, block.columns).astype(int) for block in blocks)
    np.testing.assert_array_equal(times, 2)


def test_the_held_out_block_of_a_product_is_told_by_its_rank_alone():
    data = low_rank(12, 20, rank=2, rng=np.random.default_rng(3))
    (block, *_) = blocks_of((12, 20), 2, 1, np.random.default_rng(0))
    size = (data.X[block.rows][:, block.columns] ** 2).sum()
    errors = [held_out_error(data, block, r, np.random.default_rng(0)) for r in (1, 2)]
    assert errors[1] < 1e-3 * size < 0.01 * size < errors[0]


def test_a_block_of_rank_one_is_that_of_plain_least_squares():
    """Rank 1 has one minimum, the first singular vectors; the rest is one weight a line."""
    rng = np.random.default_rng(5)
    X = np.outer(rng.random(8) + 0.5, rng.random(9) + 0.5) + 0.2 * rng.random((8, 9))
    block = Block(np.arange(8) < 3, np.arange(9) % 2 == 0)
    u, s, v = np.linalg.svd(X[~block.rows][:, ~block.columns])
    A, W = np.abs(u[:, :1]) * s[0], np.abs(v[:1])
    rows = [nnls(W.T, x)[0] for x in X[block.rows][:, ~block.columns]]
    columns = [nnls(A, x)[0] for x in X[~block.rows][:, block.columns].T]
    said = np.array(rows) @ np.array(columns).T
    expected = ((X[block.rows][:, block.columns] - said) ** 2).sum()
    found = held_out_error(Dataset.from_array(X), block, 1, np.random.default_rng(0))
    assert found == pytest.approx(expected, rel=1e-3)


def test_what_was_not_seen_counts_nowhere():
    rng = np.random.default_rng(1)
    X = np.outer(rng.random(10) + 0.5, rng.random(12) + 0.5)
    gaps = Dataset.from_array(np.where(rng.random(X.shape) < 0.15, np.nan, X))
    for block in blocks_of(X.shape, 2, 1, rng):
        assert held_out_error(gaps, block, 1, rng) < 1e-6 * gaps.squared_norm


def test_observations_of_which_little_was_seen_do_not_decide_the_error():
    """Two entries leave three weights open, and what is said of hidden ones could be anything."""
    rng = np.random.default_rng(2)
    whole = low_rank(14, 60, rank=3, noise=0.1, rng=rng)
    X = np.where(rng.random(whole.X.shape) < 0.15, np.nan, whole.X)
    few = X.copy()
    few[2:, :4] = np.nan
    few[:2, :4] = whole.X[:2, :4]
    plain, sparse = (
        [
            held_out_error(data, block, 3, np.random.default_rng(0)) / data.squared_norm
            for block in blocks_of(X.shape, 2, 2, np.random.default_rng(5))
        ]
        for data in (Dataset.from_array(X), Dataset.from_array(few))
    )
    assert np.isfinite(sparse).all()
    assert np.sum(sparse) < 1.5 * np.sum(plain)


def test_it_refuses_what_is_too_small_and_stops_when_told():
    data = low_rank(6, 8, rank=2, rng=np.random.default_rng(3))
    block = Block(np.arange(6) < 3, np.arange(8) < 4)
    assert block.rows.sum() == 3
    with pytest.raises(RunError, match="between 1 and 3"):
        held_out_error(data, block, 4, np.random.default_rng(0))
    with pytest.raises(Cancelled):
        held_out_error(data, block, 2, np.random.default_rng(0), lambda: True)


@pytest.mark.parametrize("loss", [SQUARED_ERROR, KL])
@pytest.mark.parametrize("shape", [(30, 9), (9, 30)])
def test_sparse_counts_have_the_error_of_the_same_dense_ones(loss, shape):
    X = np.random.default_rng(2).poisson(1.5, shape).astype(float)
    for block in blocks_of(X.shape, 2, 1, np.random.default_rng(0)):
        dense, sparse = (
            held_out_error(
                Dataset.from_array(kind(X)), block, 1, np.random.default_rng(0), loss=loss
            )
            for kind in (np.asarray, csc_array)
        )
        assert sparse == pytest.approx(dense, rel=1e-4)
