"""Singular triplets from a compression are those of the whole decomposition."""

import numpy as np
import pytest

from bnmf_core.numerics.linalg import compress, signed_svd


@pytest.mark.parametrize("shape", [(60, 200), (200, 60)])
def test_triplets_from_a_compression_are_those_of_the_matrix(shape):
    rng = np.random.default_rng(3)
    X = rng.random((shape[0], 8)) @ rng.random((8, shape[1])) + 0.1 * rng.random(shape)
    for found, whole in zip(signed_svd(X, 4, compress(X, 14)), signed_svd(X, 4), strict=True):
        np.testing.assert_allclose(found, whole, atol=1e-7 * abs(whole).max())


def test_a_compression_of_another_matrix_is_no_harm():
    rng = np.random.default_rng(4)
    X = rng.random((40, 90))
    near = compress(rng.random((40, 90)), 12)
    for found, whole in zip(signed_svd(X, 3, near), signed_svd(X, 3), strict=True):
        np.testing.assert_allclose(found, whole, atol=1e-6 * abs(whole).max())
