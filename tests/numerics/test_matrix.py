"""A matrix is dense or sparse, and says which."""

import numpy as np
from scipy import sparse

from bnmf_core.numerics.matrix import dense, is_sparse, parts, stored

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


def test_a_dense_matrix_is_itself_and_its_only_part():
    assert not is_sparse(X) and dense(X) is X and stored(X) is X
    assert [part is X for part in parts(X)] == [True]


def test_a_sparse_matrix_has_the_same_entries_and_keeps_the_non_zero_ones():
    for layout in (sparse.csc_array, sparse.csr_array):
        kept = layout(X)
        assert is_sparse(kept) and np.array_equal(dense(kept), X)
        assert sorted(stored(kept)) == [1.0, 2.0, 3.0]
        again = layout(parts(kept), shape=kept.shape)
        assert np.array_equal(again.toarray(), X)
