"""Shares, groups and consensus of observations: against their definitions and planted groups."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import Dataset
from bnmf_core.compare import samples
from bnmf_core.compare.samples import (
    consensus_matrix,
    cophenetic_correlation,
    doubtful_pairs,
    group_changes,
    in_groups,
    reconstruction_cosines,
    sample_groups,
    sample_shares,
    typical_samples,
    undetermined,
)


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    return rng.random((7, 3)), rng.random((3, 20))


def test_shares_are_parts_of_the_columns_of_AW_whatever_the_scale(factors):
    A, W = factors
    shares = sample_shares(A, W)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    for r in range(3):
        part = np.outer(A[:, r], W[r]).sum(axis=0) / (A @ W).sum(axis=0)
        np.testing.assert_allclose(shares[r], part)
    scale = np.array([0.1, 5.0, 40.0])
    np.testing.assert_allclose(sample_shares(A * scale, W / scale[:, None]), shares)


def test_an_observation_of_zeros_has_no_group():
    A, W = np.ones((4, 2)), np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 2.0]])
    shares = sample_shares(A, W)
    assert (shares[:, 1] == 0).all()
    assert sample_groups(shares).tolist() == [0, -1, 1]
    assert in_groups(shares).tolist() == [0, 2, 1]


def test_the_purest_of_each_group_comes_first(factors):
    shares = sample_shares(*factors)
    order, groups = in_groups(shares), sample_groups(shares)
    assert sorted(order) == list(range(20))
    assert (np.diff(groups[order]) >= 0).all()
    for r in range(3):
        own = shares[r, order[groups[order] == r]]
        assert (np.diff(own) <= 0).all()


def test_consensus_counts_pairs_and_needs_no_matching():
    groups = np.random.default_rng(1).integers(0, 3, size=(9, 6))
    found = consensus_matrix(groups)
    for i in range(6):
        for j in range(6):
            assert found[i, j] == pytest.approx(np.mean(groups[:, i] == groups[:, j]))
    renamed = (groups + np.arange(9)[:, None]) % 3
    np.testing.assert_allclose(consensus_matrix(renamed), found)
    assert consensus_matrix(np.array([[-1, -1, 0]]))[0, 1] == 0


def test_doubtful_pairs_are_those_of_loops():
    rng = np.random.default_rng(2)
    groups = np.append(rng.integers(0, 3, 14), -1)
    votes = np.array([np.where(rng.random(15) < 0.3, rng.integers(0, 3, 15), groups)] * 4)
    votes[1:] = [np.where(rng.random(15) < 0.3, rng.integers(0, 3, 15), groups) for _ in range(3)]
    together = consensus_matrix(votes)
    parted, joined = [], []
    for a in range(15):
        for b in range(a + 1, 15):
            if -1 in (groups[a], groups[b]):
                continue
            if groups[a] == groups[b] and together[a, b] < 1:
                parted.append((together[a, b], a, b))
            if groups[a] != groups[b] and together[a, b] > 0:
                joined.append((-together[a, b], a, b))
    found = doubtful_pairs(together, groups, 6)
    for pairs, expected in zip(found, (parted, joined), strict=True):
        assert pairs.tolist() == [[a, b] for _, a, b in sorted(expected)][:6]
    agreed = consensus_matrix(np.array([groups, groups]))
    assert all(pairs.shape == (0, 2) for pairs in doubtful_pairs(agreed, groups, 6))


def test_clusters_have_cophenetic_correlation_one_and_chance_has_less():
    clear = np.repeat([[0, 0, 0, 1, 1, 2, 2]], 5, axis=0)
    assert cophenetic_correlation(consensus_matrix(clear)) == pytest.approx(1.0)
    chance = np.random.default_rng(0).integers(0, 3, size=(8, 30))
    assert cophenetic_correlation(consensus_matrix(chance)) < 0.9
    assert np.isnan(cophenetic_correlation(np.eye(2)))


def test_changes_count_every_observation_once():
    first, second = np.array([0, 0, 1, 2, -1]), np.array([0, 1, 1, 2, 0])
    changes = group_changes(first, second, 3)
    assert changes.sum() == 4
    assert changes[0].tolist() == [1, 1, 0] and changes[1, 1] == changes[2, 2] == 1


def test_typical_observations_hold_much_of_a_component_and_little_else():
    A = np.eye(2)
    W = np.array([[5.0, 5.0, 1.0, 0.0], [0.0, 5.0, 0.0, 1.0]])
    assert typical_samples(A, W, 2)[0].tolist() == [0, 1]
    assert typical_samples(A, W, 1)[1].tolist() == [1]


def test_bright_or_empty_observations_are_not_typical_for_that():
    A = np.eye(2)
    # Much of both; little of the first alone; nearly nothing, all of it of the first.
    W = np.array([[9.0, 2.0, 1e-9, 1.0], [9.0, 0.1, 0.0, 3.0]])
    assert typical_samples(A, W, 3)[0].tolist() == [1, 0, 3]


def test_observations_with_fewer_seen_entries_than_components_are_typical_of_nothing():
    X = np.arange(1.0, 13.0).reshape(3, 4)
    mask = np.ones(X.shape, bool)
    mask[1:, 0] = mask[0, 2] = False
    data = Dataset.from_array(X, mask=mask)
    assert [undetermined(data, R).tolist() for R in (1, 2, 3)] == [
        [False] * 4,
        [True, False, False, False],
        [True, False, True, False],
    ]
    assert not undetermined(Dataset.from_array(X), 3).any()
    A, W = np.eye(2), np.array([[5.0, 4.0, 3.0], [0.0, 1.0, 2.0]])
    assert typical_samples(A, W, 1)[0].tolist() == [0]
    assert typical_samples(A, W, 3, np.array([True, False, False]))[0].tolist() == [1, 2, 0]


def test_cosines_of_reconstructions_are_those_of_seen_entries(monkeypatch):
    rng = np.random.default_rng(6)
    X, A, W = rng.random((7, 5)), rng.random((7, 2)), rng.random((2, 5))
    X[:, 3] = 0
    mask = rng.random(X.shape) < 0.8
    monkeypatch.setattr(samples, "COLUMNS", 14)
    for given in (Dataset.from_array(X, mask=mask), Dataset.from_array(sparse.csc_array(X))):
        found = reconstruction_cosines(given, A, W)
        for n in range(5):
            seen = mask[:, n] if given.mask is not None else np.ones(7, dtype=bool)
            x, fit = X[seen, n], (A @ W)[seen, n]
            size = np.linalg.norm(x) * np.linalg.norm(fit)
            assert found[n] == pytest.approx(x @ fit / size if size else 0)
