"""The prior rate λ that is taken from the data: by its definition, its units, and a planted one."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from bnmf_core import RunSpec, registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.runs import engine
from bnmf_core.runs.planning import describe, make_plan

BOTH, SIMPLEX = ("gaussian", "uniform"), ("gaussian_simplex", "silf")


def resolved(dataset, key, rank=3, **given):
    model = registry.model(key)
    return model.resolve(dataset, rank, model.Settings(**given))


@pytest.mark.parametrize("key", BOTH + SIMPLEX)
def test_an_open_rate_gives_AW_the_mean_of_X_under_the_prior(small, key):
    model, settings = registry.model(key), resolved(small, key)
    problem = Problem(small, model, settings, 3)
    rng = np.random.default_rng(0)
    means = np.array([(A @ W).mean() for A, W in (model.prior(problem, rng) for _ in range(2000))])
    assert means.mean() == pytest.approx(small.mean, abs=4 * means.std() / np.sqrt(means.size))
    # The same whatever else is open, and only where it is open itself.
    fixed = {"epsilon": 0.5} if key in ("silf", "uniform") else {"sigma": 0.5}
    assert resolved(small, key, **fixed).rate == settings.rate
    assert resolved(small, key, rate=1.0).rate == 1.0
    assert resolved(small, key, rate=0.0).rate == 0.0


@pytest.mark.parametrize("size", [(20, 30), (10, 800)])
def test_an_open_rate_maximizes_the_marginal_likelihood_of_one_exact_component(size):
    """Over its scale t, t**(D−N−1) exp(−λ(at + w/t)) integrates to 2 (w/a)**ν/2 K_ν(2λ√(aw))."""
    (D, N), rng = size, np.random.default_rng(2)
    a, w = rng.exponential(size=(D, 1)), rng.exponential(size=(1, N))
    root, order = np.sqrt(a.sum() * w.sum()), abs(D - N)

    def negative(log_rate):
        nodes = np.linspace(-12, 12, 20001)  # log t about its balance; logs, as K_ν overflows
        inner = order * nodes - 2 * np.exp(log_rate) * root * np.cosh(nodes)
        return -((D + N) * log_rate + logsumexp(inner))

    best = np.exp(minimize_scalar(negative, bounds=(-5, 5), method="bounded").x)
    found = resolved(Dataset.from_array(a @ w), "gaussian", 1).rate
    assert found == pytest.approx(best, rel=1 / D + 1 / N)
    # 1 over the mean entry of balanced factors is another value, the more so the flatter X is.
    assert (D + N) / (2 * root) / best > (1.01 if N < 100 else 3)


@pytest.mark.parametrize("key", BOTH + SIMPLEX)
def test_the_unit_of_the_data_does_not_matter(small, key):
    """100 times larger X: both factors are 10 times larger, W on the simplex 100 times."""
    larger = Dataset.from_array(100 * small.X)
    ratio = resolved(small, key).rate / resolved(larger, key).rate
    assert ratio == pytest.approx(10 if key in BOTH else 100, rel=1e-6)


@pytest.mark.parametrize("rate", [0.05, 1.0, 20.0])
def test_a_planted_rate_is_found(rate):
    """Both factors Exp(λ), enough of them that no component is much larger than another."""
    rng = np.random.default_rng(1)
    A, W = rng.exponential(1 / rate, (60, 4)), rng.exponential(1 / rate, (4, 80))
    assert resolved(Dataset.from_array(A @ W), "gaussian", 4).rate == pytest.approx(rate, rel=0.15)


def test_a_run_tells_its_rate(small):
    info = describe(make_plan(small, RunSpec("gibbs", 3)))
    assert info["model_settings"]["rate"] == resolved(small, "gaussian").rate
    particles = engine.run(small, RunSpec("gibbs", 3, particles=2, model_settings={"rate": 1.0}))
    assert particles.info["model_settings"]["rate"] == 1.0


def test_an_open_rate_is_stored_as_open(store, small):
    dataset = store.add_dataset(small)
    for given in ({}, {"rate": 0.5}, {"sigma": 0.1}):
        claim = store.life.enter(dataset, RunSpec("gibbs", 3, model_settings=given))
        assert store.run(claim.run_id).spec.model_settings == given
