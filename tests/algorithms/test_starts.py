"""Where the explorers start: signed singular vectors, learned transforms, NNDSVD, random."""

import time

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.sparse.linalg import svds
from sklearn.decomposition._nmf import _initialize_nmf

from bnmf_core import registry, transform_library
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.explorers import nndsvdar, q_transform, random_restarts, transforms
from bnmf_core.numerics import linalg
from bnmf_core.numerics.residuals import relative_errors
from bnmf_core.runs import engine
from bnmf_core.solvers import solution
from bnmf_core.solvers.solution import random_start


def make_problem(dataset, rank) -> Problem:
    return Problem.without_model(dataset, rank)


def low_rank(D, N, R, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((D, R))) @ np.abs(rng.standard_normal((R, N)))
    return np.maximum(X + noise * rng.standard_normal((D, N)), 0.0)


# Singular vectors


def test_singular_vectors_move_with_the_rows():
    X = low_rank(20, 30, 6, noise=0.5)
    order = np.random.default_rng(1).permutation(20)
    U, s, V = linalg.signed_svd(X, 6)
    permuted_U, permuted_s, permuted_V = linalg.signed_svd(X[order], 6)
    np.testing.assert_allclose(permuted_U, U[order], atol=1e-12)
    np.testing.assert_allclose(permuted_s, s, rtol=1e-12)
    np.testing.assert_allclose(permuted_V, V, atol=1e-12)


def test_the_sign_does_not_depend_on_the_one_that_lapack_chose(monkeypatch):
    X = low_rank(20, 30, 6, noise=0.5)
    U, _, V = linalg.signed_svd(X, 6)
    lapack = np.linalg.svd
    flips = np.random.default_rng(2).choice([-1.0, 1.0], 20)

    def flipped(matrix, full_matrices):
        left, s, right = lapack(matrix, full_matrices=full_matrices)
        return left * flips, s, right * flips[:, None]

    monkeypatch.setattr(np.linalg, "svd", flipped)
    flipped_U, _, flipped_V = linalg.signed_svd(X, 6)
    np.testing.assert_array_equal(flipped_U, U)
    np.testing.assert_array_equal(flipped_V, V)


def test_signs_point_where_most_of_the_data_point():
    """The votes of Bro, Acar & Kolda (2008), by their own formula."""
    X = low_rank(15, 25, 5, seed=3, noise=0.5)
    U, _, V = linalg.signed_svd(X, 5)
    all_U, all_s, all_Vt = np.linalg.svd(X, full_matrices=False)
    for r in range(5):
        others = np.arange(all_s.size) != r
        Y = X - (all_U[:, others] * all_s[others]) @ all_Vt[others]
        left, right = U[:, r] @ Y, Y @ V[:, r]
        votes = (np.sign(left) * left**2).sum() + (np.sign(right) * right**2).sum()
        assert votes >= 0
    assert (U[:, 0] > 0).all() and (V[:, 0] > 0).all()  # Perron–Frobenius


@pytest.mark.parametrize("shape", [(40, 70), (70, 40)])
def test_lanczos_and_dense_svd_agree(shape):
    X = low_rank(*shape, 8, seed=4, noise=0.5)
    dense = linalg.signed_svd(X, 5)
    stored = linalg.signed_svd(sparse.csc_array(X), 5)
    for one, other in zip(stored, dense, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * dense[1][0])
    reference = np.sort(svds(X, 5, return_singular_vectors=False))[::-1]
    np.testing.assert_allclose(stored[1], reference, rtol=1e-10)


@pytest.mark.parametrize(
    "X",
    [
        np.kron(np.eye(3), np.ones((5, 4))),  # three equal singular values, rank 3
        np.eye(30) + np.roll(np.eye(30), 1, axis=1),  # equal row sums, values in pairs
        np.outer(np.arange(12.0), np.ones(9)),  # rank 1
    ],
    ids=["blocks", "ring", "rank 1"],
)
def test_lanczos_svd_repeats_where_the_krylov_space_is_small(X):
    first = linalg.signed_svd(sparse.csc_array(X), 4)
    for _ in range(3):
        again = linalg.signed_svd(sparse.csc_array(X), 4)
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)
    U, s, V = first
    np.testing.assert_allclose(s, np.linalg.svd(X, compute_uv=False)[:4], atol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-10)


def test_the_balanced_svd_is_the_best_approximation():
    X = low_rank(20, 30, 6, noise=0.5)
    A, W = linalg.balanced_svd(X, 4)
    U, s, Vt = np.linalg.svd(X)
    np.testing.assert_allclose(A @ W, (U[:, :4] * s[:4]) @ Vt[:4], atol=1e-12)
    assert np.linalg.norm(X - A @ W) == pytest.approx(np.sqrt((s[4:] ** 2).sum()))
    np.testing.assert_allclose(np.linalg.norm(A, axis=0), np.linalg.norm(W, axis=1), rtol=1e-12)


def test_the_leading_singular_values_are_those_of_a_whole_decomposition():
    X = low_rank(20, 30, 6, noise=0.5)
    expected = np.linalg.svd(X, compute_uv=False)[:7]
    np.testing.assert_allclose(linalg.leading_singular_values(X, 7), expected, rtol=1e-10)


# The library of transforms


def test_the_library_has_the_papers_hundred_pairs():
    began = time.perf_counter()
    found = transforms.learn(transforms.Recipe())
    assert time.perf_counter() - began < 5
    assert found.Q_A.shape == found.Q_W.shape == (100, 3, 3)
    assert np.isfinite(found.Q_A).all() and np.isfinite(found.Q_W).all()
    assert len(np.unique(found.Q_A.round(6), axis=0)) == 100


def test_the_first_pairs_stay_when_more_are_asked_for():
    few, many = (transforms.learn(transforms.Recipe(rank=2), sets) for sets in (20, 40))
    assert many.Q_A.shape == (200, 2, 2)
    np.testing.assert_array_equal(few.Q_A, many.Q_A[:100])
    np.testing.assert_array_equal(few.Q_W, many.Q_W[:100])


def test_transforms_give_back_the_factorizations_they_were_learned_from(monkeypatch):
    """A_SVD Q_A ≈ A_NMF and Q_W W_SVD ≈ W_NMF in least squares (paper 3, algorithm 2)."""
    solved, split = [], []
    solve, svd = transforms.hals.solve, transforms.balanced_svd
    monkeypatch.setattr(
        transforms.hals, "solve", lambda *args: solved.append(solve(*args)) or solved[-1]
    )
    monkeypatch.setattr(
        transforms, "balanced_svd", lambda *args: split.append(svd(*args)) or split[-1]
    )
    Q_A, Q_W = transforms._learn(transforms.Recipe(), 7, None)
    (A, W), (A_svd, W_svd) = transforms.equal_norms(*solved[0]), split[0]
    for m in range(5):
        residual_A, residual_W = A_svd @ Q_A[m] - A[m], Q_W[m] @ W_svd - W[m]
        # Least squares: what is left is orthogonal to what could have explained it.
        np.testing.assert_allclose(A_svd.T @ residual_A, 0, atol=1e-9)
        np.testing.assert_allclose(residual_W @ W_svd.T, 0, atol=1e-9)
        assert np.linalg.norm(residual_A) < 0.1 * np.linalg.norm(A[m])
        assert np.linalg.norm(residual_W) < 0.1 * np.linalg.norm(W[m])
        # Q_A Q_W ≈ 1 up to the noise, since both products approximate the same matrix.
        np.testing.assert_allclose(Q_A[m] @ Q_W[m], np.eye(3), atol=0.1)


def test_equal_norms_keep_the_product():
    rng = np.random.default_rng(5)
    A, W = rng.random((4, 6, 3)), 100 * rng.random((4, 3, 7))
    A[1, :, 2] = 0.0
    balanced_A, balanced_W = transforms.equal_norms(A, W)
    np.testing.assert_allclose(balanced_A @ balanced_W, A @ W, rtol=1e-12)
    alike = np.linalg.norm(balanced_A, axis=1) - np.linalg.norm(balanced_W, axis=2)
    alike[1, 2] = 0.0
    np.testing.assert_allclose(alike, 0, atol=1e-12)
    np.testing.assert_array_equal(balanced_W[1, 2], W[1, 2])


# Q-Transform's starts


def test_a_start_is_the_transformed_svd(small):
    problem = make_problem(small, 3)
    A, W = q_transform.starts(problem, q_transform.Settings(), Shard(0, 40, 10, seed=0))
    found = transform_library(3)
    Q_A, Q_W = found.Q_A, found.Q_W
    A_svd, W_svd = linalg.balanced_svd(small.X, 3)
    for i in range(10):
        np.testing.assert_allclose(A[i], np.abs(A_svd @ Q_A[40 + i]), rtol=1e-12)
        np.testing.assert_allclose(W[i], np.abs(Q_W[40 + i] @ W_svd), rtol=1e-12)


def test_components_are_cut_or_padded_to_the_rank(small):
    settings = q_transform.Settings(padding=1e-6)
    shard = Shard(0, 0, 4, seed=0)
    A3, W3 = q_transform.starts(make_problem(small, 3), settings, shard)
    A2, W2 = q_transform.starts(make_problem(small, 2), settings, shard)
    np.testing.assert_array_equal(A2, A3[:, :, :2])
    np.testing.assert_array_equal(W2, W3[:, :2])
    A5, W5 = q_transform.starts(make_problem(small, 5), settings, shard)
    np.testing.assert_array_equal(A5[:, :, :3], A3)
    np.testing.assert_array_equal(W5[:, :3], W3)
    largest = 1e-6 * np.sqrt(small.X.mean() / 5)
    for padding in (A5[:, :, 3:], W5[:, 3:]):
        assert (padding > 0).all() and (padding <= largest).all()
        assert len(np.unique(padding)) == padding.size


def test_without_padding_the_seed_changes_nothing(small):
    """The transforms are data-independent, so up to the transfer rank all is determined."""
    one, other = (engine.run(small, RunSpec("q_transform", 3, particles=5, seed=s)) for s in (0, 1))
    np.testing.assert_array_equal(one.A, other.A)


def test_uniform_starts_do_not_know_the_scale_of_the_data(small):
    """The same draws, uniform on (0, 1), for any X; the usual starts follow its scale."""
    shard, chosen = Shard(0, 0, 40, 3), random_restarts.Settings(start="uniform")
    larger = make_problem(Dataset.from_array(100 * small.X), 3)
    starts = random_restarts.starts(make_problem(small, 3), chosen, shard)
    for factor, other in zip(starts, random_restarts.starts(larger, chosen, shard), strict=True):
        np.testing.assert_array_equal(factor, other)
        assert 0 <= factor.min() and factor.max() < 1
        assert stats.kstest(factor.ravel(), "uniform").pvalue > 1e-3
    scaled = random_restarts.starts(larger, random_restarts.Settings(), shard)
    assert scaled[0].mean() > 3 * starts[0].mean()


def test_starts_are_better_than_random_ones_on_low_rank_data():
    """Paper 3, figure 13: at low noise the initial error is far below that of random starts."""
    dataset = Dataset.from_array(low_rank(60, 80, 3, seed=6, noise=0.01))
    problem, shard = make_problem(dataset, 3), Shard(0, 0, 100, seed=0)
    ours = relative_errors(dataset.X, *q_transform.starts(problem, q_transform.Settings(), shard))
    theirs = relative_errors(
        dataset.X, *random_restarts.starts(problem, random_restarts.Settings(), shard)
    )
    assert np.median(ours) < 0.5 * np.median(theirs)
    assert (ours < theirs).mean() > 0.95


def test_more_than_a_hundred_particles_go_on_with_new_transforms(small):
    problem, settings = make_problem(small, 3), q_transform.Settings()
    A, _ = q_transform.starts(problem, settings, Shard(5, 95, 10, seed=0))
    assert len(np.unique(A.round(9), axis=0)) == 10
    last, _ = q_transform.starts(problem, settings, Shard(4, 95, 5, seed=0))
    np.testing.assert_array_equal(A[:5], last)


# NNDSVD


def test_nndsvd_agrees_with_scikit_learn(small):
    for rank in (1, 3, 6):
        A, W = nndsvdar.nndsvd(make_problem(small, rank))
        reference_W, reference_H = _initialize_nmf(small.X.T, rank, init="nndsvd", random_state=0)
        np.testing.assert_allclose(A, reference_H.T, atol=2e-6)
        np.testing.assert_allclose(W, reference_W.T, atol=2e-6)
        # scikit-learn calls entries up to 1e-6 zero.
        np.testing.assert_array_equal(A <= 1e-6, reference_H.T == 0)
        np.testing.assert_array_equal(W <= 1e-6, reference_W.T == 0)


def test_only_the_gaps_of_nndsvd_are_filled(small):
    problem = make_problem(small, 4)
    base_A, base_W = nndsvdar.nndsvd(problem)
    A, W = nndsvdar.starts(problem, nndsvdar.Settings(), Shard(0, 0, 3, seed=1))
    assert (base_A == 0).any()
    for filled, base in ((A, base_A), (W, base_W)):
        np.testing.assert_array_equal(filled[:, base > 0], np.tile(base[base > 0], (3, 1)))
        gaps = filled[:, base == 0]
        assert (gaps > 0).all() and (gaps < small.X.mean() / 100).all()
        assert len(np.unique(gaps)) == gaps.size


def test_the_gaps_are_filled_as_scikit_learn_fills_them_where_that_is_asked_for():
    rng = np.random.default_rng(3)
    data = Dataset.from_array(np.maximum(rng.standard_normal((120, 90)) + 0.2, 0.0))
    problem = make_problem(data, 5)
    base_A, _ = nndsvdar.nndsvd(problem)
    reference, _ = _initialize_nmf(data.X, 5, init="nndsvdar", random_state=1)
    seen = base_A <= 1e-6
    means = {}
    for fill in ("published", "scikit-learn"):
        A, _ = nndsvdar.starts(problem, nndsvdar.Settings(fill=fill), Shard(0, 0, 20, seed=1))
        gaps = A[:, seen].ravel()
        means[fill] = gaps.mean() / (data.X.mean() / 100)
        same = stats.ks_2samp(gaps, reference[seen]).pvalue
        assert (same > 1e-3) == (fill == "scikit-learn")
    assert means["published"] == pytest.approx(0.5, abs=0.02)
    assert means["scikit-learn"] == pytest.approx(np.sqrt(2 / np.pi), abs=0.03)


# Random starts


@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array])
def test_random_starts_have_the_scale_of_the_data(storage):
    dataset = Dataset.from_array(storage(low_rank(300, 200, 5, seed=7)))
    A, W = random_start(dataset, 8, np.random.default_rng(8))
    assert A.shape == (300, 8) and W.shape == (8, 200)
    assert (A >= 0).all() and (W >= 0).all()
    # E|N(0, 1)| = √(2/π) for each factor; the mean of 4,000 entries is good to some percent.
    assert (A @ W).mean() == pytest.approx(2 / np.pi * dataset.X.mean(), rel=0.1)


def test_starts_depend_on_the_particle_not_on_the_shard():
    one, other = Shard(0, 0, 10, seed=4), Shard(3, 7, 2, seed=4)
    np.testing.assert_array_equal(
        one.particle_generator(8).random(5), other.particle_generator(1).random(5)
    )
    streams = {one.generator().random(), other.generator().random()}
    streams |= {one.particle_generator(i).random() for i in range(10)}
    assert len(streams) == 12


def test_explorers_leave_the_scale_where_the_prior_is_largest(small):
    for key in ("q_transform", "random_restarts", "nndsvdar"):
        particles = engine.run(small, RunSpec(key, 3, particles=3))
        sums = particles.A.sum(axis=1), particles.W.sum(axis=2)
        np.testing.assert_allclose(*sums, rtol=1e-12)
    assert registry.algorithm("q_transform").family == "explorer"


# What has settled


def test_a_block_hands_over_what_has_settled_in_order(small, monkeypatch):
    """With one round a step: the first is there before the last, and all are what they were."""
    spec = RunSpec("random_restarts", 3, particles=8, seed=3)
    whole = engine.run(small, spec)
    monkeypatch.setattr(solution, "STEP_WORK", 1.0)
    explorer, settings = random_restarts.ALGORITHM, random_restarts.Settings()
    gaussian = registry.model("gaussian")
    problem = Problem.prepare(small, gaussian, gaussian.Settings(), 3)
    shard = Shard(0, 0, 8, 3)
    state, parts, told = explorer.init(problem, settings, shard, shard.generator()), [], []
    while state.active.size:
        state, batch = explorer.step(problem, state, settings, shard.generator())
        parts += [batch.A] * (batch.size > 0)
        told.append(explorer.fraction(state, settings))
    assert len(parts) > 1 and told == sorted(told) and told[-1] == 1.0
    np.testing.assert_allclose(np.concatenate(parts), whole.A, rtol=1e-9, atol=1e-12)
