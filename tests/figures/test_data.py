"""A look at the data takes memory by what is stored, not by how large the matrix says it is."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.data.load import load_file
from bnmf_core.figures import data as figures
from bnmf_core.numerics.linalg import leading_singular_values

HUGE = b"%%MatrixMarket matrix coordinate real general\n1000000 1000000 2\n1 1 3\n7 9 4\n"


@pytest.mark.parametrize("shape", [(7, 11), (11, 7), (4, 4), (3, 9)])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csc_array, sparse.csr_array])
def test_block_means_are_the_means_of_blocks(shape, layout, monkeypatch):
    monkeypatch.setattr(figures, "MOST_CELLS", 3)
    X = np.random.default_rng(0).poisson(1.0, shape).astype(float)
    means, height, width = figures.block_means(layout(X))
    naive = [
        [X[i : i + height, j : j + width].mean() for j in range(0, shape[1], width)]
        for i in range(0, shape[0], height)
    ]
    assert max(means.shape) <= 3
    np.testing.assert_allclose(means, naive, rtol=1e-14)


@pytest.mark.slow
def test_a_huge_and_nearly_empty_matrix_is_looked_at_in_little_memory():
    X = load_file(HUGE).X
    tracemalloc.start()
    try:
        figures.matrix_preview(X, None, "")
        values = leading_singular_values(X, 60)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(values, [4.0, 3.0])
    assert peak < 2**25


def test_empty_rows_and_columns_have_no_part_in_a_spectrum():
    rng = np.random.default_rng(1)
    small = rng.random((12, 9))
    large = np.zeros((40, 30))
    large[np.ix_(rng.choice(40, 12, replace=False), rng.choice(30, 9, replace=False))] = small
    values = leading_singular_values(sparse.csc_array(large), 9)
    np.testing.assert_allclose(values, np.linalg.svd(small, compute_uv=False), rtol=1e-10)


def test_no_factorization_of_a_rank_has_a_smaller_error_and_the_svd_has_it():
    X = np.random.default_rng(0).random((12, 9))
    U, s, Vt = np.linalg.svd(X)
    least = figures.least_errors(leading_singular_values(X, 9), float((X**2).sum()))
    for R in (1, 4, 8):
        best = X - (U[:, :R] * s[:R]) @ Vt[:R]
        assert least[R - 1] == pytest.approx(np.linalg.norm(best) / np.linalg.norm(X))
    assert (np.diff(least) < 0).all()
    assert least[-1] == pytest.approx(0.0, abs=1e-6)
