"""Losses and the likelihoods made of them: derivatives, constants, data that do not fit."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.likelihoods import MODELS, itakura_saito, known_noise, kullback_leibler
from bnmf_core.runs import engine
from tests.package.bnmf_example import smooth_laplace
from tests.slopes import by_complex_step

KNOWN = known_noise.loss(known_noise.Settings(fraction=0.2, floor=0.5))
LOSSES = {
    loss.key: loss
    for loss in (
        SQUARED_ERROR,
        kullback_leibler.LOSS,
        itakura_saito.LOSS,
        KNOWN,
        smooth_laplace.LOSS,
    )
}


@pytest.fixture(params=["whole", "gaps", "zeros", "sparse"])
def data(request) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, 1.0, (7, 9))
    if request.param in ("zeros", "sparse"):
        X = np.where(X > 1.5, X, 0.0)
        X[:, 4], X[2] = 0.0, 0.0  # a column and a row of zeros
        return Dataset.from_array(X if request.param == "zeros" else sparse.csc_array(X))
    mask = rng.random(X.shape) < 0.7 if request.param == "gaps" else None
    return Dataset.from_array(X, mask=mask)


@pytest.fixture
def factors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.gamma(2.0, 1.0, (2, 7, 3)), rng.gamma(2.0, 1.0, (2, 3, 9))


def defined(loss, data: Dataset, A, W) -> np.ndarray:
    """f by its definition, one entry after the other, for complex factors as well."""
    X, Y = data.dense(), A @ W
    seen = np.ones(X.shape) if data.mask is None else data.mask
    if loss is SQUARED_ERROR:
        terms = (X - Y) ** 2
    elif loss is KNOWN:
        terms = (X - Y) ** 2 / (0.25 + 0.04 * X**2)
    elif loss is smooth_laplace.LOSS:
        terms = np.sqrt((X - Y) ** 2 + 1) - 1
    elif loss is itakura_saito.LOSS:
        X, Y = X + loss.floor(data), Y + loss.floor(data)
        terms = X / Y - np.log(X / Y) - 1
    else:
        raised = X + loss.floor(data)
        terms = np.where(X > 0, raised * np.log(raised / (Y + loss.floor(data))) - X + Y, Y)
    return (terms * seen).sum()


@pytest.mark.parametrize("key", LOSSES)
def test_values_and_slopes_are_those_of_the_definition(key, data, factors):
    """Slopes against the complex step, Im f(x + ih)/h, exact to rounding."""
    loss = LOSSES[key]
    problem = Problem.without_model(data, 3, loss=loss)
    values, by_A, by_W = loss.values_and_gradients(problem, *factors)
    np.testing.assert_allclose(loss.values(problem, *factors), values, rtol=1e-11)
    np.testing.assert_allclose(
        loss.by_observation(problem, *factors).sum(axis=1), values, rtol=1e-11
    )
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        assert values[m] == pytest.approx(defined(loss, data, A, W), rel=1e-11)
        of_A = by_complex_step(partial(defined, loss, data, W=W), A)
        of_W = by_complex_step(partial(defined, loss, data, A), W)
        assert by_A[m] == pytest.approx(of_A, rel=1e-9, abs=1e-9)
        assert by_W[m] == pytest.approx(of_W, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("key", LOSSES)
def test_the_hessian_times_a_direction_is_the_derivative_of_the_slopes(key, data, factors):
    loss, h, rng = LOSSES[key], 1e-6, np.random.default_rng(2)
    problem = Problem.without_model(data, 3, loss=loss)
    moved = [rng.standard_normal(F.shape) for F in factors]
    ends = [
        loss.values_and_gradients(
            problem, *(F + s * d for F, d in zip(factors, moved, strict=True))
        )
        for s in (h, -h)
    ]
    along = loss.gradients_along(problem, *factors, *moved)
    for ours, forward, backward in zip(along, ends[0][1:], ends[1][1:], strict=True):
        difference = (forward - backward) / (2 * h)
        np.testing.assert_allclose(ours, difference, rtol=1e-5, atol=1e-6 * np.abs(ours).max())


@pytest.mark.parametrize("key", LOSSES)
def test_curvatures_are_the_diagonal_of_the_hessian(key, data, factors):
    """Where φ bends up everywhere; of Itakura–Saito, whose φ bends down beyond 2x, no less."""
    loss = LOSSES[key]
    problem = Problem.without_model(data, 3, loss=loss)
    for which, ours in enumerate(loss.curvatures(problem, *factors)):
        for at in np.ndindex(ours[0].shape):
            moved = [np.zeros(F.shape) for F in factors]
            moved[which][(slice(None), *at)] = 1.0
            exact = loss.gradients_along(problem, *factors, *moved)[which][(slice(None), *at)]
            if loss is itakura_saito.LOSS:
                assert (ours[(slice(None), *at)] >= exact - 1e-9 * np.abs(exact)).all()
            else:
                np.testing.assert_allclose(ours[(slice(None), *at)], exact, rtol=1e-9)


@pytest.mark.parametrize("key", LOSSES)
def test_what_is_shown_of_a_loss_leads_back_to_it(key, data, factors):
    loss = LOSSES[key]
    f = loss.values(Problem.without_model(data, 3, loss=loss), *factors)
    np.testing.assert_allclose(loss.unmeasured(data, loss.measured(data, f)), f, rtol=1e-12)


def test_for_counts_the_kullback_leibler_likelihood_is_the_poisson_distribution(factors):
    counts = Dataset.from_array(np.random.default_rng(3).poisson(6.0, (7, 9)).astype(float))
    model = MODELS["kl"]
    problem = Problem.prepare(counts, model, model.Settings(rate=1.3), 3)
    assert model.unnormalised(counts, problem.model_settings) == ""
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        expected = stats.poisson.logpmf(counts.X, A @ W).sum()
        expected += sum(stats.expon.logpdf(F, scale=1 / 1.3).sum() for F in (A, W))
        assert model.log_joint(problem, *factors)[m] == pytest.approx(expected, rel=1e-6)


def test_the_itakura_saito_likelihood_is_that_of_exponential_noise(factors):
    data = Dataset.from_array(np.random.default_rng(3).gamma(2.0, 1.0, (7, 9)))
    model = MODELS["itakura_saito"]
    problem = Problem.prepare(data, model, model.Settings(rate=1.3), 3)
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        expected = stats.expon.logpdf(data.X, scale=A @ W).sum()
        expected += sum(stats.expon.logpdf(F, scale=1 / 1.3).sum() for F in (A, W))
        assert model.log_joint(problem, *factors)[m] == pytest.approx(expected, rel=1e-5)


def test_the_likelihood_of_known_noise_is_normal_with_that_noise(factors):
    data = Dataset.from_array(np.random.default_rng(3).gamma(2.0, 1.0, (7, 9)))
    model = MODELS["known_noise"]
    problem = Problem.prepare(data, model, model.Settings(fraction=0.2, rate=1.3), 3)
    sizes = np.hypot(0.2 * np.median(data.X), 0.2 * data.X)
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        expected = stats.norm.logpdf(data.X, A @ W, sizes).sum()
        expected += sum(stats.expon.logpdf(F, scale=1 / 1.3).sum() for F in (A, W))
        assert model.log_joint(problem, *factors)[m] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("key", ["gaussian", "uniform", "kl", "itakura_saito", "known_noise"])
def test_data_are_drawn_around_the_product(key):
    """Means over many draws against AW, in units of their standard error."""
    rng = np.random.default_rng(4)
    A, W = rng.gamma(2.0, 1.0, (5, 2)), rng.gamma(2.0, 1.0, (2, 6))
    data, model = Dataset.from_array(A @ W), MODELS[key]
    chosen = {"gaussian": {"sigma": 0.3}, "uniform": {"epsilon": 0.3}}.get(key, {})
    problem = Problem.prepare(data, model, replace(model.Settings(), **chosen), 2)
    draws = np.array([model.draw(problem, A @ W, rng) for _ in range(4000)])
    z = (draws.mean(axis=0) - A @ W) / (draws.std(axis=0) / np.sqrt(len(draws)))
    assert np.abs(z).max() < 4.5
    spread = {"gaussian": 0.3, "uniform": 0.3 / np.sqrt(3), "kl": np.sqrt(A @ W)}
    spread["known_noise"] = np.hypot(0.1 * np.median(A @ W), 0.1 * (A @ W))
    expected = np.broadcast_to(spread.get(key, A @ W), (5, 6))
    np.testing.assert_allclose(draws.std(axis=0), expected, rtol=0.12)


def test_zeros_and_fractions_are_refused_in_a_sentence():
    holed = Dataset.from_array(np.array([[1.0, 0.0], [2.0, 3.0]]), name="spectra")
    with pytest.raises(DataError, match="'spectra' holds 1 zero; the Itakura–Saito likelihood"):
        engine.run(holed, RunSpec("random_restarts", 1, "itakura_saito"))
    fractions = Dataset.from_array(np.array([[1.5, 1.0], [2.0, 3.0]]), name="fractions")
    said = MODELS["kl"].unnormalised(fractions, MODELS["kl"].Settings())
    assert said.startswith(
        "'fractions' holds 1.5; the Kullback–Leibler likelihood is a distribution"
    )
