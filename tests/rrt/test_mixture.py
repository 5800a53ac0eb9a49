"""Mixtures: their bound against the definition, against draws, and against an optimiser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import gaussian
from bnmf_core.likelihoods.reference import reference_factors
from bnmf_core.rrt.mixture import (
    Component,
    Mixture,
    best_scale,
    component_of,
    variance_alone,
)
from tests.generated import generated

from .naive import mixture_of, naive_elbo, naive_entropy, random_component, random_mixture

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)


@given(SEEDS, SIZES, st.integers(1, 12), st.sampled_from([0.0, 0.3, 3.0]))
def test_the_bound_is_the_papers_formula(seed, M, d, apart):
    mixture = random_mixture(np.random.default_rng(seed), M, d, apart)
    assert mixture.entropy == pytest.approx(naive_entropy(mixture), rel=1e-10, abs=1e-9)
    assert mixture.elbo == pytest.approx(naive_elbo(mixture), rel=1e-10, abs=1e-9)
    assert mixture.elbo == mixture.entropy + mixture.energy


@pytest.mark.parametrize("seed", range(6))
def test_the_entropy_is_never_above_that_of_draws(seed):
    rng = np.random.default_rng(seed)
    mixture = random_mixture(rng, M=2 + seed, d=1 + seed, apart=[0.2, 1.0, 4.0][seed % 3])
    surprise = -mixture.log_density(mixture.draw(20_000, rng))
    error = surprise.std() / np.sqrt(surprise.size)
    assert mixture.entropy <= surprise.mean() + 4 * error


@pytest.mark.parametrize(("d", "variance"), [(1, 1e-6), (7, 0.3), (300, 20.0)])
def test_for_one_component_the_entropy_lacks_half_of_one_less_log_two_a_dimension(d, variance):
    one = mixture_of(np.ones((1, d)), [variance], [1.0], [0.0], [0.0])
    true = 0.5 * d * np.log(2 * np.pi * np.e * variance)
    assert true - one.entropy == pytest.approx(0.5 * d * (1 - np.log(2)), rel=1e-12)
    # And what draws say agrees with the truth: their surprise has variance d/2.
    draws = one.draw(4000, np.random.default_rng(d))
    surprise = -one.log_density(draws)
    assert abs(surprise.mean() - true) < 5 * np.sqrt(0.5 * d / 4000)


def test_draws_fall_to_components_by_weight():
    mixture = mixture_of([[-100.0], [0.0], [100.0]], [1, 4, 1], [0.2, 0.5, 0.3], [0] * 3, [-1] * 3)
    draws = mixture.draw(10_000, np.random.default_rng(0))[:, 0]
    counts = [(draws < -50).sum(), (np.abs(draws) <= 50).sum(), (draws > 50).sum()]
    assert stats.chisquare(counts, 10_000 * mixture.weights).pvalue > 1e-4
    assert stats.kstest(draws[np.abs(draws) <= 50] / 2, "norm").pvalue > 1e-4


def test_the_density_is_the_weighted_sum():
    rng = np.random.default_rng(2)
    mixture, points = random_mixture(rng, 4, 3), rng.standard_normal((5, 3))
    each = [
        stats.multivariate_normal(mu, v * np.eye(3)).pdf(points)
        for mu, v in zip(mixture.centers, mixture.variances, strict=True)
    ]
    np.testing.assert_allclose(
        mixture.log_density(points), np.log(mixture.weights @ each), rtol=1e-10
    )


@given(SEEDS, st.integers(2, 6), st.integers(1, 30), st.sampled_from([0.0, 1e-4, 1.0, 30.0]))
def test_the_bounds_without_each_are_those_of_mixtures_without(seed, M, d, apart):
    rng = np.random.default_rng(seed)
    mixture = random_mixture(rng, M, d, apart)
    # One component that has nearly all the weight, so that the sums nearly vanish without it.
    heavy = mixture.joined(random_component(rng, d, apart), 1.0, 1 - 1e-9, 7)
    for one in (mixture, heavy):
        expected = [one.without(m).elbo for m in range(one.M)]
        np.testing.assert_allclose(one.elbos_without(), expected, rtol=1e-9, atol=1e-7)


def test_without_the_only_weight_there_is_no_bound():
    rng = np.random.default_rng(0)
    mixture = random_mixture(rng, 1, 3).joined(random_component(rng, 3), 1.0, 1.0, 5)
    bounds = mixture.elbos_without()
    assert np.isnan(bounds[1])
    assert bounds[0] == pytest.approx(mixture.without(0).elbo)


def test_what_joins_can_leave_again():
    rng = np.random.default_rng(3)
    mixture, component = random_mixture(rng, 3, 4), random_component(rng, 4)
    joined = mixture.joined(component, 0.7, 0.25, number=99)
    assert joined.weights.sum() == pytest.approx(1)
    np.testing.assert_array_equal(joined.numbers, [10, 11, 12, 99])
    np.testing.assert_allclose(joined.weights, [*(0.75 * mixture.weights), 0.25])
    distances = np.square(joined.centers[:, None] - joined.centers).sum(axis=2)
    np.testing.assert_allclose(joined.squared, distances)
    again = joined.without(3)
    np.testing.assert_allclose(again.weights, mixture.weights)
    assert again.elbo == pytest.approx(mixture.elbo)
    assert Mixture.empty(4).joined(component, 0.7, 1.0, 0).elbo == pytest.approx(
        component.bound(0.7)
    )


def test_the_best_variance_alone_is_the_optimum():
    component = Component(np.zeros(9), log_joint=-3.0, trace=-40.0)
    found = optimize.minimize_scalar(lambda v: -component.bound(np.exp(v)), bounds=(-9, 9))
    assert np.log(component.best_variance) == pytest.approx(found.x, abs=1e-4)
    assert Component(np.zeros(9), -3.0, 0.0).best_variance == np.inf


@given(SEEDS, st.integers(1, 4), st.floats(-6, 6))
@generated(30)
def test_the_best_scale_keeps_products_and_is_the_optimum(seed, R, size):
    rng = np.random.default_rng(seed)
    A, W = rng.exponential(size=(2, 7, R)), 10**size * rng.exponential(size=(2, R, 4))
    scaled_A, scaled_W = best_scale(A, W)
    np.testing.assert_allclose(scaled_A @ scaled_W, A @ W, rtol=1e-10)
    lengths = np.linalg.norm(scaled_A, axis=1)
    np.testing.assert_allclose(lengths, lengths[:, :1] * np.ones(R), rtol=1e-10)
    for m in range(2):
        unit = A[m] / np.linalg.norm(A[m], axis=0)
        other = W[m] * np.linalg.norm(A[m], axis=0)[:, None]

        def curvature(log_beta, unit=unit, other=other):
            beta = np.exp(log_beta)
            return 4 * np.sum((beta * unit) ** 2) + 7 * np.sum((other / beta) ** 2)

        found = optimize.minimize_scalar(curvature, bracket=(-1.0, 1.0))
        assert np.log(lengths[m, 0]) == pytest.approx(found.x, abs=1e-6)


def test_empty_components_have_a_scale_too():
    A, W = np.ones((1, 3, 2)), np.ones((1, 2, 4))
    A[0, :, 1] = 0
    scaled_A, scaled_W = best_scale(A, W)
    np.testing.assert_allclose(scaled_A @ scaled_W, A @ W)
    nothing = best_scale(np.ones((1, 3, 2)), np.zeros((1, 2, 4)))
    np.testing.assert_allclose(np.linalg.norm(nothing[0], axis=1), 1.0)


def test_a_component_knows_its_density_and_curvature(problem, factors):
    A, W = factors[0][0], factors[1][0]
    plain = component_of(problem, A, W, rescale=False)
    np.testing.assert_array_equal(plain.center, [*A.ravel(), *W.ravel()])
    assert plain.log_joint == gaussian.MODEL.log_joint(problem, A[None], W[None])[0]
    scaled = component_of(problem, A, W, rescale=True)
    assert scaled.trace == gaussian.curvature(problem, *best_scale(A[None], W[None]))[0][0]


def test_the_curvature_is_the_sum_of_second_differences(problem, factors):
    """The log joint is a parabola in every single entry, so differences of any step are exact."""
    h, by_hand = 0.25, 0.0
    A, W = factors[0][:1], factors[1][:1]
    middle = gaussian.MODEL.log_joint(problem, A, W)[0]
    for F in (A, W):
        for place in np.ndindex(F.shape):
            before, ends = F[place], []
            for moved in (before - h, before + h):
                F[place] = moved
                ends.append(gaussian.MODEL.log_joint(problem, A, W)[0])
            F[place] = before
            by_hand += (ends[0] - 2 * middle + ends[1]) / h**2
    assert gaussian.curvature(problem, A, W)[0][0] == pytest.approx(by_hand, rel=1e-7)


def test_the_slopes_of_the_curvature_are_its_differences(problem, factors):
    A, W = (F.copy() for F in factors)
    _, by_A, by_W = gaussian.curvature(problem, A, W)
    h = 0.25
    for F, slopes in ((A, by_A), (W, by_W)):
        for place in np.ndindex(F.shape):
            before, ends = F[place], []
            for moved in (before - h, before + h):
                F[place] = moved
                ends.append(gaussian.curvature(problem, A, W)[0][place[0]])
            F[place] = before
            assert slopes[place] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-8)


def test_under_a_flat_likelihood_noise_of_its_deviation_gives_the_variance(flat):
    A, W = reference_factors(flat.dataset, 3, 4)
    noise = gaussian.Settings(sigma=flat.model_settings.epsilon / np.sqrt(3), rate=0.7)
    instead = Problem.prepare(flat.dataset, gaussian.MODEL, noise, 3)
    pairs = zip(A, W, strict=True)
    alone = [component_of(instead, a, w, rescale=True).best_variance for a, w in pairs]
    assert variance_alone(flat, A, W) == pytest.approx(max(alone))
