"""Binomial draws: their frequencies are the probabilities, on every way that they are made."""

import numba
import numpy as np
import pytest
from scipy import stats

from bnmf_core.numerics.binomial import FROM_MIDDLE, FROM_ZERO, LOG_FACTORIALS, draw


@numba.njit
def many(rng, n, p, count, log_factorials):
    found = np.empty(count, np.int64)
    for i in range(count):
        found[i] = draw(rng, n, p, log_factorials)
    return found


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (1, 0.5),
        (9, 0.97),
        (20, 0.1),
        (30, 0.2),
        (100, 0.3),
        (100, 0.83),
        (400, 0.4999),
        (399, 0.5),
        (1000, 0.3),
        (50_000, 1e-3),
    ],
)
def test_frequencies_are_the_probabilities(n, p):
    count = 200_000
    found = many(np.random.default_rng(1), n, p, count, LOG_FACTORIALS)
    assert found.min() >= 0 and found.max() <= n
    expected = stats.binom(n, p).pmf(np.arange(n + 1)) * count
    seen = np.bincount(found, minlength=n + 1)
    often = expected >= 10
    rest = count - expected[often].sum(), count - seen[often].sum()
    both = [np.append(part[often], left) for part, left in ((seen, rest[1]), (expected, rest[0]))]
    if rest[0] < 1:  # too little to be counted for itself
        both = [part[:-1] for part in both]
        both[1] *= both[0].sum() / both[1].sum()
    assert stats.chisquare(*both).pvalue > 1e-4


def test_all_ways_are_taken_above():
    """From 0, from the middle, and numpy's."""
    assert 20 * 0.1 < FROM_ZERO < 30 * 0.2 + 1 and 100 * 0.3 < FROM_MIDDLE < 1000 * 0.3
    assert LOG_FACTORIALS.size < 50_000
