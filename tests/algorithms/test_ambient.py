"""Descents as published: A and W as they are, projected back after every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core import RunSpec, registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import dsgd, stein_descent, svgd
from bnmf_core.explorers.ambient import Ambient, nearest_distributions
from bnmf_core.posterior.stein import kernel_matrix
from bnmf_core.runs import engine
from tests.generated import always

from .kernels import stein_discrepancy

generated = always(60)
NOISE = {
    "gaussian": {"sigma": 0.7, "rate": 1.3},
    "gaussian_simplex": {"sigma": 0.7, "rate": 1.3},
    "silf": {"epsilon": 0.5, "rate": 1.3},
}
LENGTHS = np.array([0.4, 2.0])


@pytest.fixture(params=list(NOISE))
def case(request):
    """A problem, its coordinates and five draws from the prior in them."""
    rng = np.random.default_rng(0)
    model = registry.model(request.param)
    data = Dataset.from_array(rng.random((4, 3)) + 0.5)
    problem = Problem(data, model, model.Settings(**NOISE[request.param]), 2)
    chart = Ambient.of(problem)
    A, W = zip(*(problem.model.prior(problem, rng) for _ in range(5)), strict=True)
    return problem, chart, chart.to_position(np.stack(A), np.stack(W))


@given(seed=st.integers(0, 10_000), K=st.integers(1, 9), size=st.floats(0.01, 100))
@generated
def test_the_nearest_distribution_is_the_nearest(seed, K, size):
    """x is it when x ≥ 0, Σx = 1 and (y − x)·(z − x) ≤ 0 for every corner z of the simplex."""
    y = size * np.random.default_rng(seed).standard_normal((4, K))
    x = nearest_distributions(y)
    assert (x >= 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1.0, rtol=1e-9 * max(size, 1))
    to_corners = np.eye(K)[None] - x[:, None]
    assert (np.einsum("mk,mck->mc", y - x, to_corners) <= 1e-9 * max(size, 1) ** 2).all()
    np.testing.assert_allclose(nearest_distributions(x), x, atol=1e-9)


def test_positions_are_the_factors(case):
    problem, chart, q = case
    A, W = chart.to_factors(q)
    np.testing.assert_allclose(chart.to_position(A, W), q, rtol=1e-12, atol=1e-15)
    by_A, by_W = problem.model.score(problem, A, W)
    score = chart.score(problem, q)
    np.testing.assert_allclose(score[:, :, : chart.D], by_A.transpose(0, 2, 1), rtol=1e-12)
    np.testing.assert_allclose(score[:, :, chart.D :], by_W, rtol=1e-12)


def test_downhill_is_the_gradient_of_the_published_discrepancy(case):
    """Before the projection: along any direction of the entries."""
    problem, chart, q = case

    def discrepancy(q):
        scores = [part.reshape(5, -1) for part in chart.split(chart.score(problem, q))]
        return stein_discrepancy(chart.parts(q), scores, chart.dimensions(q), LENGTHS, -0.5)

    downhill, rng, h = (
        dsgd.downhill(problem, chart, q, LENGTHS, -0.5),
        np.random.default_rng(1),
        1e-6,
    )
    for _ in range(5):
        v = rng.standard_normal(q.shape)
        slope = (discrepancy(q + h * v) - discrepancy(q - h * v)) / (2 * h)
        assert -(downhill * v).sum() == pytest.approx(slope, rel=1e-5)


def test_open_lengths_are_the_published_ones(case):
    _, chart, q = case
    chosen = svgd.Settings(coordinates="ambient")
    assert stein_descent._lengths(chart, q, chosen).tolist() == [0.01, 1000.0]
    one = svgd.Settings(coordinates="ambient", length_W=7.0)
    assert stein_descent._lengths(chart, q, one).tolist() == [0.01, 7.0]


@pytest.mark.parametrize("model", list(NOISE))
@pytest.mark.parametrize("key", ["svgd", "q_svgd", "dsgd"])
def test_a_run_stays_on_the_support_and_comes_nearer(key, model, small):
    """Entries stay ≥ 0, columns sum to 1 where they have to; what each of them follows improves."""
    chosen = {"coordinates": "ambient", "solver_iterations": 0, "iterations": 200}
    spec = RunSpec(key, 3, model, 4, 1, chosen | {"length_A": 1.0, "length_W": 1.0})
    particles = engine.run(small, spec)
    begin = engine.run(small, RunSpec(key, 3, model, 4, 1, spec.settings | {"iterations": 1}))
    assert (particles.A >= 0).all() and (particles.W >= 0).all()
    if registry.model(model).support_A == "simplex":
        np.testing.assert_allclose(particles.A.sum(axis=1), 1.0, rtol=1e-9)
    if key == "dsgd":  # downhill on the discrepancy, wherever that leads
        after, before = (
            kernel_matrix(run, small, "paper", 1.0, 1.0).mean() for run in (particles, begin)
        )
        assert after < before
    else:
        assert np.median(particles.log_joint) > np.median(begin.log_joint)


def test_a_step_is_a_part_of_a_typical_entry(small):
    """Data 100 times as large: the same particles, each factor at its own scale."""
    chosen = {"coordinates": "ambient", "iterations": 20, "solver_iterations": 0}
    sigma, lengths = 0.3, {"length_A": 1.0, "length_W": 1.0}
    one = engine.run(
        small,
        RunSpec("svgd", 3, "gaussian", 1, 2, chosen | lengths, {"sigma": sigma, "rate": 0.0001}),
    )
    hundred = engine.run(
        Dataset.from_array(100 * small.X),
        RunSpec(
            "svgd", 3, "gaussian", 1, 2, chosen | lengths, {"sigma": 100 * sigma, "rate": 1e-5}
        ),
    )
    np.testing.assert_allclose(hundred.A, 10 * one.A, rtol=1e-4, atol=1e-6)
