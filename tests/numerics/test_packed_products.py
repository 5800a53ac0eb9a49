"""Products with a packed matrix: what they should be, and bit for bit the same in any company."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.numerics import packed_products
from bnmf_core.numerics.packed_products import PackedProducts, aligned, multiply, packed
from tests.generated import always

generated = always(40)
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-4}


def times(F, matrix):
    result = np.empty((F.shape[0], matrix.shape[1]), F.dtype)
    multiply(F, packed(matrix), result)
    return result


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@given(m=st.integers(1, 45), n=st.integers(1, 40), k=st.integers(1, 70), seed=st.integers(0, 999))
@generated
def test_a_product_is_what_numpy_finds(kind, m, n, k, seed):
    rng = np.random.default_rng(seed)
    F, matrix = rng.standard_normal((m, n)).astype(kind), rng.standard_normal((n, k)).astype(kind)
    np.testing.assert_allclose(times(F, matrix), F @ matrix, atol=TOLERANCE[kind] * n, rtol=0)


def test_more_rows_than_are_taken_at_a_time():
    rng = np.random.default_rng(1)
    F, matrix = rng.random((3, 2 * packed_products.STEP + 5)), rng.random((517, 20))
    np.testing.assert_allclose(times(F, matrix), F @ matrix, rtol=1e-13)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_what_a_row_comes_to_does_not_depend_on_the_others(kind):
    rng = np.random.default_rng(2)
    F, matrix = rng.random((64, 300)).astype(kind), rng.random((300, 41)).astype(kind)
    whole = times(F, matrix)
    for rows in (1, 2, 3, 7, 11, 32):
        parts = [times(F[first : first + rows], matrix) for first in range(0, 64, rows)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_both_products_with_X():
    rng = np.random.default_rng(3)
    X, A, W = rng.random((31, 17)), rng.random((3, 4, 31)), rng.random((3, 4, 17))
    products = PackedProducts.of(X)
    np.testing.assert_allclose(products.times_rows(W), W @ X.T, rtol=1e-13)
    np.testing.assert_allclose(products.times_columns(A), A @ X, rtol=1e-13)
    # Neither the order of X in memory nor that of the factors matters.
    other = PackedProducts.of(np.asfortranarray(X))
    turned = np.ascontiguousarray(A.transpose(0, 2, 1)).transpose(0, 2, 1)
    np.testing.assert_array_equal(other.times_columns(turned), products.times_columns(A))


def test_a_large_matrix_is_not_copied(monkeypatch):
    monkeypatch.setattr(packed_products, "LARGEST", 100)
    assert PackedProducts.of(np.ones((10, 10))) is not None
    assert PackedProducts.of(np.ones((10, 11))) is None


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_memory_begins_at_a_line(kind):
    for size in range(1, 40):
        assert aligned((size,), np.dtype(kind)).ctypes.data % packed_products.VECTOR == 0
