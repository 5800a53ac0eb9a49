"""The gaussian model: its gradient, its constants and what it takes from the data."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import gaussian
from bnmf_core.likelihoods.reference import reference_factors
from tests.slopes import by_complex_step


@pytest.fixture(params=["dense", "sparse"])
def problem(request, small):
    X = np.where(small.X > np.median(small.X), small.X, 0.0)
    X = sparse.csc_array(X) if request.param == "sparse" else X
    settings = gaussian.Settings(sigma=0.7, rate=1.3)
    return Problem.prepare(Dataset.from_array(X), gaussian.MODEL, settings, 3)


@pytest.fixture
def factors(small):
    rng = np.random.default_rng(1)
    return rng.exponential(size=(2, small.D, 3)), rng.exponential(size=(2, 3, small.N))


def test_the_score_is_the_gradient_of_the_log_joint(problem, factors):
    """Against the complex step, which has no truncation error: Im f(x + ih)/h."""
    A, W = factors
    X = problem.dataset.dense()
    score_A, score_W = gaussian.MODEL.score(problem, A, W)

    def log_joint(a, w):
        residual = X - a @ w
        return -(residual**2).sum() / (2 * 0.7**2) - 1.3 * (a.sum() + w.sum())

    for m in range(2):
        of_A = by_complex_step(partial(log_joint, w=W[m]), A[m])
        of_W = by_complex_step(partial(log_joint, A[m]), W[m])
        assert score_A[m] == pytest.approx(of_A, rel=1e-10, abs=1e-9)
        assert score_W[m] == pytest.approx(of_W, rel=1e-10, abs=1e-9)


def test_the_log_joint_has_every_constant(problem, factors):
    A, W = factors
    X = problem.dataset.dense()
    for m in range(2):
        expected = stats.norm.logpdf(X, A[m] @ W[m], 0.7).sum()
        printed = -((X - A[m] @ W[m]) ** 2).sum() / (2 * 0.7**2)
        assert gaussian.LIKELIHOOD.log_likelihood(problem, A, W)[m] == pytest.approx(
            printed, rel=1e-11
        )
        for factor in (A[m], W[m]):
            expected += stats.expon.logpdf(factor, scale=1 / 1.3).sum()
        assert gaussian.MODEL.log_joint(problem, A, W)[m] == pytest.approx(expected, rel=1e-11)


def test_a_flat_prior_adds_nothing(small, factors):
    settings = gaussian.Settings(sigma=0.7, rate=0.0)
    problem = Problem(small, gaussian.MODEL, settings, 3)
    expected = [stats.norm.logpdf(small.X, a @ w, 0.7).sum() for a, w in zip(*factors, strict=True)]
    np.testing.assert_allclose(gaussian.MODEL.log_joint(problem, *factors), expected, rtol=1e-11)


def test_scaling_keeps_the_product_and_is_the_best_scale(factors):
    A, W = factors
    A = A.copy()
    A[1, :, 0] = 0.0
    scaled_A, scaled_W = gaussian.MODEL.scale(A, W)
    np.testing.assert_allclose(scaled_A @ scaled_W, A @ W, rtol=1e-12)
    np.testing.assert_array_equal(scaled_W[1, 0], W[1, 0])  # an empty component stays

    def prior(factor):
        """−(ΣA + ΣW) of the first particle with its components moved by the factor."""
        return -(scaled_A[0] * factor).sum() - (scaled_W[0] / factor[:, None]).sum()

    best = prior(np.ones(3))
    for r in range(3):
        for factor in (0.9, 1.1, 0.2, 5.0):
            moved = np.ones(3)
            moved[r] = factor
            assert prior(moved) < best


def open_sigma(data, R):
    return gaussian.MODEL.resolve(data, R, gaussian.Settings()).sigma


def test_a_given_sigma_is_kept(small):
    assert gaussian.MODEL.resolve(small, 3, gaussian.Settings(sigma=0.3)).sigma == 0.3


@pytest.mark.parametrize(("D", "N", "R"), [(13, 178, 3), (13, 178, 7), (64, 200, 8), (30, 30, 5)])
def test_an_open_sigma_is_that_of_the_planted_noise(D, N, R):
    """The residual over all entries, the numbers fitted to them included, is far too small."""
    open_over_planted, residual_over_planted = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Y = rng.gamma(1.0, 2.0, size=(D, R)) @ rng.gamma(1.0, 2.0, size=(R, N))
        planted = 0.05 * Y.std()
        X = np.maximum(Y + planted * rng.standard_normal((D, N)), 0.0)
        data = Dataset.from_array(X)
        open_over_planted.append(open_sigma(data, R) / planted)
        A, W = reference_factors(data, R, 1)
        residual_over_planted.append((X - A[0] @ W[0]).std() / planted)
    assert np.mean(open_over_planted) == pytest.approx(1.0, abs=0.05)
    assert np.mean(residual_over_planted) < 0.95


def test_features_of_different_size_do_not_end_a_reference_early():
    """One feature is thirty times as large as the others, as proline among wines."""
    rng = np.random.default_rng(1)
    Y = rng.gamma(1.0, size=(12, 4)) @ rng.gamma(1.0, size=(4, 150))
    Y[0] *= 30.0
    X = np.maximum(Y + 0.1 * rng.standard_normal(Y.shape), 0.0)
    data = Dataset.from_array(X)
    assert open_sigma(data, 4) == pytest.approx(0.1, rel=0.1)
    A, W = reference_factors(data, 4, 1)
    assert (X - A[0] @ W[0]).std() > 0.5


def test_numbers_that_leave_no_entry_tell_no_noise_apart():
    """Forty numbers for sixteen entries: σ stays finite, and small."""
    X = np.random.default_rng(0).gamma(1.0, size=(4, 4))
    assert 0 < open_sigma(Dataset.from_array(X), 4) < 0.1


def test_an_exact_factorization_leaves_a_sigma_above_rounding():
    X = np.outer(np.arange(1.0, 7), np.arange(1.0, 9))
    sigma = gaussian.MODEL.resolve(Dataset.from_array(X), 2, gaussian.Settings()).sigma
    assert sigma == pytest.approx(1e-3 * np.sqrt((X**2).mean()))
