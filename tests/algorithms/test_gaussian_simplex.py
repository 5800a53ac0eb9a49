"""The model with columns of A on the simplex: its constants, its gradient, its scale."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import low_rank
from bnmf_core.explorers import stein_descent
from bnmf_core.likelihoods import gaussian, gaussian_simplex
from bnmf_core.runs import engine
from tests.slopes import by_complex_step

MODEL = gaussian_simplex.MODEL


@pytest.fixture(params=["dense", "sparse"])
def problem(request, small):
    X = np.where(small.X > np.median(small.X), small.X, 0.0)
    X = sparse.csc_array(X) if request.param == "sparse" else X
    settings = gaussian_simplex.Settings(sigma=0.7, rate=1.3)
    return Problem.prepare(Dataset.from_array(X), MODEL, settings, 3)


@pytest.fixture
def factors(small):
    rng = np.random.default_rng(1)
    A = rng.dirichlet(np.ones(small.D), size=(2, 3)).transpose(0, 2, 1)
    return A, rng.exponential(size=(2, 3, small.N))


def test_the_log_joint_has_every_constant(problem, factors):
    X = problem.dataset.dense()
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        expected = stats.norm.logpdf(X, A @ W, 0.7).sum()
        expected += sum(stats.dirichlet.logpdf(column, np.ones(column.size)) for column in A.T)
        expected += stats.expon.logpdf(W, scale=1 / 1.3).sum()
        assert MODEL.log_joint(problem, *factors)[m] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("model", [gaussian.MODEL.key, MODEL.key])
def test_log_joint_and_score_are_the_log_joint_and_the_score(problem, factors, model):
    model = registry.model(model)
    values, by_A, by_W = model.log_joint_and_score(problem, *factors)
    np.testing.assert_allclose(values, model.log_joint(problem, *factors), rtol=1e-9)
    for ours, theirs in zip((by_A, by_W), model.score(problem, *factors), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_score_is_the_gradient_with_every_entry_free(problem, factors):
    """Against the complex step: Im f(x + ih)/h."""
    A, W = factors
    X = problem.dataset.dense()
    score_A, score_W = MODEL.score(problem, A, W)

    def log_joint(a, w):
        return -((X - a @ w) ** 2).sum() / (2 * 0.7**2) - 1.3 * w.sum()

    for m in range(2):
        of_A = by_complex_step(partial(log_joint, w=W[m]), A[m])
        of_W = by_complex_step(partial(log_joint, A[m]), W[m])
        assert score_A[m] == pytest.approx(of_A, rel=1e-10, abs=1e-9)
        assert score_W[m] == pytest.approx(of_W, rel=1e-10, abs=1e-9)


def test_a_flat_prior_on_the_weights_adds_the_dirichlet_only(small, factors):
    problem = Problem(small, MODEL, gaussian_simplex.Settings(sigma=0.7, rate=0.0), 3)
    plain = [stats.norm.logpdf(small.X, a @ w, 0.7).sum() for a, w in zip(*factors, strict=True)]
    dirichlet = 3 * stats.dirichlet.logpdf(np.full(small.D, 1 / small.D), np.ones(small.D))
    np.testing.assert_allclose(
        MODEL.log_joint(problem, *factors), np.array(plain) + dirichlet, rtol=1e-11
    )


def test_scaling_keeps_the_product_and_lands_on_the_simplex():
    rng = np.random.default_rng(2)
    A, W = rng.exponential(size=(2, 5, 3)), rng.exponential(size=(2, 3, 4))
    A[1, :, 0] = 0.0
    scaled_A, scaled_W = MODEL.scale(A, W)
    np.testing.assert_allclose(scaled_A @ scaled_W, A @ W, rtol=1e-13)
    np.testing.assert_allclose(scaled_A.sum(axis=1), 1.0, rtol=1e-15)
    assert (scaled_A >= 0).all() and (scaled_W[1, 0] == 0).all()
    np.testing.assert_allclose(MODEL.scale(scaled_A, scaled_W)[0], scaled_A, rtol=1e-15)


def test_an_open_sigma_is_that_of_the_gaussian_model(small):
    ours = MODEL.resolve(small, 3, gaussian_simplex.Settings())
    assert ours.sigma == gaussian.MODEL.resolve(small, 3, gaussian.Settings()).sigma


@pytest.mark.parametrize("model", [gaussian.MODEL.key, MODEL.key])
def test_a_prior_draw_is_distributed_as_the_prior(model):
    X = np.ones((4, 3))
    dataset = Dataset.from_array(X)
    model, rng = registry.model(model), np.random.default_rng(3)
    problem = Problem(dataset, model, model.Settings(rate=2.5), 2)
    draws = [model.prior(problem, rng) for _ in range(4000)]
    first = np.array([A[0, 0] for A, _ in draws])
    weight = np.array([W[1, 2] for _, W in draws])
    of_A = stats.beta(1, 3) if model.support_A == "simplex" else stats.expon(scale=1 / 2.5)
    assert stats.kstest(first, of_A.cdf).pvalue > 1e-4
    assert stats.kstest(weight, stats.expon(scale=1 / 2.5).cdf).pvalue > 1e-4


EXPLORERS = [
    key
    for key, known in registry.ALGORITHMS.items()
    if known.family == "explorer" and known.works_with(MODEL)
]


@pytest.mark.parametrize("explorer", EXPLORERS)
def test_every_explorer_lands_on_the_simplex(explorer):
    known = low_rank(12, 15, 3, rng=np.random.default_rng(5))  # some start at what is known
    particles = engine.run(known, RunSpec(explorer, 3, "gaussian_simplex", 4, 1))
    np.testing.assert_allclose(particles.A.sum(axis=1), 1.0, rtol=1e-12)
    assert (particles.A >= 0).all() and (particles.W >= 0).all()
    if registry.algorithm(explorer).State is stein_descent.State:
        return  # it follows the model's own density, not the fit alone
    plain = engine.run(known, RunSpec(explorer, 3, "gaussian", 4, 1))
    np.testing.assert_allclose(particles.error, plain.error, rtol=1e-6)
