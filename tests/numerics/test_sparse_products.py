"""Products with few entries are those of the whole matrix."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.numerics.sparse_products import WIDTH, SparseProducts, product


@pytest.mark.parametrize("stored", [np.asarray, sparse.csc_array])
def test_products_are_those_of_the_whole_matrix(stored):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((7, 9)) < 0.2, rng.random((7, 9)), 0.0)
    X[3] = 0
    products = SparseProducts.of(stored(X))
    A, W = rng.random((2, 3, 7)), rng.random((2, 3, 9))
    np.testing.assert_allclose(products.times_rows(W), W @ X.T, atol=1e-14)
    np.testing.assert_allclose(products.times_columns(A), A @ X, atol=1e-14)


def test_a_full_matrix_is_left_to_dense_products():
    assert SparseProducts.of(np.ones((4, 5))) is None


@pytest.mark.parametrize("stored", [sparse.csc_array, sparse.csr_array])
@pytest.mark.parametrize("m", [1, WIDTH // 3 + 2])
def test_single_precision_is_near_to_double(stored, m):
    rng = np.random.default_rng(m)
    X = np.where(rng.random((40, 30)) < 0.2, rng.random((40, 30)), 0.0)
    F = rng.random((m, 3, 40))
    whole = F @ X
    np.testing.assert_allclose(product(stored(X), F), whole, rtol=1e-13)
    single = product(stored(X), F, single=True)
    np.testing.assert_allclose(single, whole, atol=2e-6 * whole.max())
    assert not np.array_equal(single, whole)
