"""Metropolis–Hastings and Langevin: steps, their adaptation, the bias of what rejects nothing."""

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import MODELS
from bnmf_core.runs import engine, planning
from bnmf_core.samplers import langevin, metropolis
from bnmf_core.samplers.coordinates import coordinates
from bnmf_core.samplers.hamiltonian import Point

from .kernels import make_problem
from .test_invariance import SMALL_RATE, SMALL_SIGMA, SMALL_X, exact_means


def normal(q):
    """The standard normal density, as coordinates hand it over."""
    return -0.5 * np.square(q).sum(axis=(1, 2)), -q


@pytest.mark.parametrize("step", [0.5, 1.0, 1.4])
def test_langevin_on_a_normal_density_has_exactly_the_variance_of_its_recursion(step):
    """q ← (1 − ε²/2) q + ε ξ keeps the variance 1/(1 − ε²/4), where the posterior has 1."""
    rng, chains, width = np.random.default_rng(3), 400, 50
    expected = 1 / (1 - step**2 / 4)
    q = np.sqrt(expected) * rng.standard_normal((chains, 1, width))
    point, steps = Point(q, *normal(q)), np.full(chains, step)
    for _ in range(20):
        point = langevin.unadjusted(normal, point, steps, rng).point
    error = expected * np.sqrt(2 / point.q.size)
    assert abs(point.q.var() - expected) < 5 * error
    assert abs(point.q.var() - 1.0) > 5 * error


def products(chart, point) -> np.ndarray:
    """Σ A W of each chain: (c,)."""
    A, W = chart.to_factors(point.q)
    return (A @ W).sum(axis=(1, 2))


@pytest.mark.slow
def test_the_bias_of_langevin_is_of_the_order_of_the_squared_step():
    """Halving ε leaves a quarter of the bias, measured against quadrature."""
    problem = make_problem(SMALL_X, 1, SMALL_SIGMA, SMALL_RATE)
    chart, chains = coordinates(problem), 3000
    density, rng = chart.density(problem), np.random.default_rng(4)
    pairs = [MODELS["gaussian"].prior(problem, rng) for _ in range(chains)]
    q = chart.to_position(*(np.stack(factors) for factors in zip(*pairs, strict=True)))
    point = Point(q, *density(q))
    for _ in range(600):
        point = metropolis.move(density, point, np.full(chains, 0.6), rng).point
    expected, biases = exact_means("positive")["total"], {}
    for step in (0.24, 0.12):
        here, count = point, int(16 / step**2)
        sums = np.zeros(chains)
        for number in range(count):
            here = langevin.unadjusted(density, here, np.full(chains, step), rng).point
            if number >= count // 4:
                sums += products(chart, here)
        means = sums / (count - count // 4)
        stayed = np.isfinite(means)
        assert stayed.mean() > 0.99
        means = means[stayed]
        biases[step] = (means.mean() - expected, means.std() / np.sqrt(means.size))
    (large, error), (small, small_error) = biases[0.24], biases[0.12]
    assert abs(large) > 8 * error
    # Beyond the squared step there are terms of higher order.
    assert abs(small - large / 4) < 4 * np.hypot(small_error, error / 4) + 0.05 * abs(large)


def test_a_divergent_langevin_step_ends_the_chain_and_a_metropolis_proposal_is_only_rejected():
    q = np.full((2, 1, 3), 1.0)

    def cliff(q):
        value = np.where(q[:, 0, 0] > 0, 0.0, -1e9)
        return value, np.where(np.arange(3) == 0, -50.0, 0.0) * np.ones_like(q)

    point, steps = Point(q, *cliff(q)), np.array([0.01, 1.0])
    after = langevin.unadjusted(cliff, point, steps, np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(after.point.q).all(axis=(1, 2)), [False, True])
    np.testing.assert_array_equal(after.accepted, [True, False])
    wide = metropolis.move(cliff, point, np.array([0.01, 1e3]), np.random.default_rng(2))
    assert np.isfinite(wide.point.q).all()


def test_metropolis_asks_the_model_for_no_score_and_sees_the_same_density():
    for name, X in (("gaussian", SMALL_X), ("gaussian_simplex", SMALL_X)):
        problem = make_problem(X, 1, SMALL_SIGMA, SMALL_RATE, MODELS[name])
        q = np.random.default_rng(5).standard_normal((6, 1, 4 if name == "gaussian" else 3))
        chart = coordinates(problem)
        if chart.reflected is not None:
            q[..., chart.reflected] = np.abs(q[..., chart.reflected])
        with_score = chart.density(problem)(q)[0]
        np.testing.assert_allclose(metropolis.density_of(problem)(q)[0], with_score, rtol=1e-12)


DATA = Dataset.from_array(np.random.default_rng(6).gamma(1.0, size=(8, 10)))


@pytest.mark.parametrize(("key", "aim"), [("metropolis", 0.234), ("langevin", 0.95)])
def test_the_step_size_is_adapted_in_the_warm_up_only(key, aim):
    settings = {"warm_up": 1500, "thinning": 50, "chains": 3}
    spec = RunSpec(key, 2, particles=30, seed=1, settings=settings, model_settings={"sigma": 0.3})
    run = engine.run(DATA, spec)
    steps = run.diagnostics["step_size"]
    for chain in range(3):
        assert len(set(steps[run.chain == chain])) == 1
    assert len(set(steps)) == 3
    assert run.diagnostics["acceptance"].mean() == pytest.approx(aim, abs=0.08)


def test_a_given_step_size_is_kept_from_the_first_step():
    settings = {"warm_up": 20, "thinning": 5, "chains": 2, "step_size": 0.01}
    run = engine.run(DATA, RunSpec("langevin", 2, particles=6, settings=settings))
    np.testing.assert_allclose(run.diagnostics["step_size"], 0.01, rtol=1e-14)


def test_langevin_says_that_it_makes_no_draws():
    plan = planning.make_plan(DATA, RunSpec("langevin", 2, particles=4))
    assert not plan.algorithm.exact and plan.algorithm.members == "outputs"
