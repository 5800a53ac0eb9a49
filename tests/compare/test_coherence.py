"""Coherence of topics, against a hand-computed example and counting by loops."""

from itertools import combinations
from math import log

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import coherence
from bnmf_core.core.errors import DataError


def test_a_hand_computed_example():
    """Words a and b: p(a) = 1/2, p(b) = 3/4, both 1/2; c is beside neither, d everywhere."""
    held = sparse.csr_array(np.array([[2, 1, 0, 0], [1, 1, 5, 0], [0, 0, 0, 3], [1, 1, 1, 1]]))
    both = np.log(0.5 / (0.5 * 0.75)) / np.log(2.0)
    assert both == pytest.approx(0.415, abs=1e-3)
    found = coherence(np.array([[0, 1, 2], [0, 1, 3]]), held)
    # A word that all documents hold says nothing of any other.
    np.testing.assert_allclose(found, [(both - 1 - 1) / 3, (both + 0 + 0) / 3])
    assert coherence(np.array([3, 3]), held) == 1.0


def npmi_by_loops(words, X):
    """Documents counted one by one."""
    found = []
    for a, b in combinations(words, 2):
        with_a = with_b = with_both = 0
        for n in range(X.shape[1]):
            with_a += X[a, n] > 0
            with_b += X[b, n] > 0
            with_both += X[a, n] > 0 and X[b, n] > 0
        pa, pb, pab = (count / X.shape[1] for count in (with_a, with_b, with_both))
        found.append(-1.0 if pab == 0 else 1.0 if pab == 1 else log(pab / (pa * pb)) / -log(pab))
    return sum(found) / len(found)


@pytest.mark.parametrize("density", [0.05, 0.3, 0.9])
def test_it_is_what_loops_count(density):
    rng = np.random.default_rng(5)
    X = rng.poisson(2.0, (30, 40)) * (rng.random((30, 40)) < density)
    X[:, 0] = 1
    words = np.array([rng.permutation(30)[:6] for _ in range(4)]).reshape(2, 2, 6)
    expected = [[npmi_by_loops(some, X) for some in row] for row in words]
    for matrix in (X, sparse.csc_array(X)):
        np.testing.assert_allclose(coherence(words, matrix), expected)


def test_topics_of_fewer_words():
    X = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0]])
    found = coherence(np.array([[0, 2, -1], [1, -1, -1]]), X)
    assert found[0] == npmi_by_loops([0, 2], X) and np.isnan(found[1])
    with pytest.raises(DataError, match=r"rows 0 to 2 of X; 3 was given"):
        coherence(np.array([0, 3]), X)
