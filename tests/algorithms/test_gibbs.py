"""Gibbs sampling: every conditional against quadrature; the joint is in test_invariance.py.

The proof of the conditionals also shows that it would notice the known mistakes: the prior's
shift λs² dropped, and the factor W_rn dropped as in the paper's print.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from bnmf_core import Dataset, registry
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.model import EntryPrior
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import gaussian
from bnmf_core.runs import engine, planning
from bnmf_core.samplers import gibbs, scale_move
from bnmf_core.samplers.truncated_normal import TAIL, draw_factors
from tests.generated import generated

from .kernels import make_problem

UNIFORMS = np.array([1e-15, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9])


def truncated_normal(mean, sd, uniform):
    """The values with these survival probabilities (n,) under N(mean, sd²) given x ≥ 0."""
    F = np.empty((1, 1, mean.size))
    draw_factors(F, mean[None, None], np.ones((1, 1, 1)), sd**2, 0.0, uniform[None, None])
    return F[0, 0]


def survival(log_density, x, peak, width):
    """P(T > x) for a log-concave density on t ≥ 0, by adaptive quadrature."""
    top = log_density(peak)

    def integral(low, high):
        inside = [p for p in (peak - 3 * width, peak, peak + 3 * width) if low < p < high]
        return integrate.quad(
            lambda t: np.exp(log_density(t) - top),
            low,
            high,
            points=inside or None,
            limit=400,
            epsabs=0,
            epsrel=1e-12,
        )[0]

    low, high = max(0.0, peak - 15 * width), max(peak, x) + 45 * width
    below, above = integral(low, x) if x > low else 0.0, integral(x, high)
    return above / (below + above)


# The truncated normal


@pytest.mark.parametrize("a", [-40.0, -8.0, -1.0, 0.0, 1.0, 8.0, 29.99, 30.01, 40.0, 1e3, 1e6])
def test_truncated_normal_inverts_the_survival_function(a):
    """The mean lies a standard deviations below zero."""
    z = truncated_normal(np.full(UNIFORMS.size, -a), 1.0, UNIFORMS)
    peak, width = max(-a, 0.0), 1 / max(a, 1.0)
    for value, uniform in zip(z, UNIFORMS, strict=True):
        found = survival(lambda t: -t * (a + 0.5 * t), value, peak, width)
        assert abs(found - uniform) < 1e-8
        if uniform < 0.5:
            assert found == pytest.approx(uniform, rel=1e-7)


@given(st.floats(-1e6, 1e3), st.floats(1e-3, 1e3), st.floats(1e-16, 1.0), st.floats(1e-16, 1.0))
@generated(300)
def test_truncated_normal_is_non_negative_and_falls_as_u_rises(mean, sd, u, v):
    low, high = truncated_normal(np.full(2, mean), sd, np.array([max(u, v), min(u, v)]))
    assert 0 <= low <= high < np.inf


def test_truncated_normal_grows_with_its_mean_across_the_change_of_method():
    mean = -np.linspace(TAIL - 0.01, TAIL + 0.01, 2001)[::-1]
    for uniform in UNIFORMS[:-1]:
        x = truncated_normal(mean, 1.0, np.full(mean.size, uniform))
        assert (np.diff(x) > 0).all()


def test_truncated_normal_scales_with_its_unit():
    mean = np.array([-50.0, -3.0, 0.0, 2.0])
    uniform = np.array([0.3, 0.7, 0.2, 0.9])
    one = truncated_normal(mean, 1.0, uniform)
    np.testing.assert_allclose(truncated_normal(8 * mean, 8.0, uniform), 8 * one, rtol=1e-14)


# One conditional


class Uniforms:
    """Stands in for a generator: hands out chosen values of u = 1 − random."""

    def __init__(self, *values):
        self.values = list(values)

    def random(self, shape):
        rows = [self.values.pop(0) for _ in range(shape[1])]
        assert all(values.shape == shape[2:] for values in rows)
        return 1.0 - np.stack(rows)[None]


def drawn(problem, F, C, G, rng):
    """One chain's draw of F (n, R), given as the papers write it."""
    law = gaussian.MODEL.conditionals(problem.model_settings)
    F, C = F.T[None].copy(), C.T[None].copy()
    return gibbs.draw(F, C, G[None], law.noise_variance, law.A, rng)[0].T


def log_joint(X, A, W, sigma, rate, mask=None) -> float:
    return (
        stats.norm.logpdf(X, A @ W, sigma).sum(where=True if mask is None else mask)
        + stats.expon.logpdf(A, scale=1 / rate).sum()
        + stats.expon.logpdf(W, scale=1 / rate).sum()
    )


def conditional_survival(X, A, W, sigma, rate, place, value, mask=None):
    """P(entry > value | the rest); ``place`` is ("A" or "W", row, column)."""
    name, i, j = place

    def log_density(t):
        factors = {"A": A.copy(), "W": W.copy()}
        factors[name][i, j] = t
        return log_joint(X, factors["A"], factors["W"], sigma, rate, mask)

    # Three values give the parabola that the log density is.
    at = [log_density(t) for t in (0.0, 1.0, 2.0)]
    curvature = at[0] - 2 * at[1] + at[2]
    slope = at[1] - at[0] - curvature / 2
    vertex, sd = -slope / curvature, (-curvature) ** -0.5
    peak = max(vertex, 0.0)
    return survival(log_density, value, peak, sd / max(1.0, -vertex / sd))


@pytest.fixture
def position():
    """X (4, 3) with entries of both signs, so that some conditional means lie below zero."""
    rng = np.random.default_rng(8)
    A, W = rng.exponential(size=(4, 2)), rng.exponential(size=(2, 3))
    return 2 * rng.standard_normal((4, 3)), A, W


def errors_of_sweep(position, sigma, rate, draw, mask=None):
    """Largest |S(x) − u| over the entries of A and W that one sweep draws."""
    X, A, W = position
    uniforms = [np.random.default_rng(k).random(n) for k, n in enumerate((4, 4, 3, 3))]
    A, W = A.copy(), W.copy()
    worst = []
    draws = Uniforms(*uniforms)
    new_A = draw(X, A, W.T, draws)
    for r in range(2):  # column r is drawn given the columns before it
        A[:, r] = new_A[:, r]
        for d in range(4):
            found = conditional_survival(X, A, W, sigma, rate, ("A", d, r), A[d, r], mask)
            worst.append(abs(found - uniforms[r][d]))
    new_W = draw(X.T, W.T.copy(), A, draws)
    for r in range(2):
        W[r] = new_W[:, r]
        for n in range(3):
            found = conditional_survival(X, A, W, sigma, rate, ("W", r, n), W[r, n], mask)
            worst.append(abs(found - uniforms[2 + r][n]))
    return max(worst)


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 1.0), (0.1, 0.3), (2.0, 5.0)])
def test_every_entry_is_drawn_from_its_conditional(position, sigma, rate):
    problem = make_problem(position[0], 2, sigma, rate)

    def correct(X, F, other, rng):
        return drawn(problem, F, X @ other, other.T @ other, rng)

    def no_shift(X, F, other, rng):
        flat = make_problem(position[0], 2, sigma, 0.0)
        return drawn(flat, F, X @ other, other.T @ other, rng)

    def as_printed(X, F, other, rng):  # mean Σ_n (X_dn − Σ A_dr' W_r'n) / Σ_n W_rn²
        G = np.tile(other.sum(axis=0)[:, None], (1, 2))
        np.fill_diagonal(G, (other**2).sum(axis=0))
        return drawn(problem, F, np.tile(X.sum(axis=1)[:, None], (1, 2)), G, rng)

    assert errors_of_sweep(position, sigma, rate, correct) < 1e-8
    assert errors_of_sweep(position, sigma, rate, no_shift) > 1e-4
    assert errors_of_sweep(position, sigma, rate, as_printed) > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 1.0), (0.1, 0.3), (2.0, 5.0)])
def test_with_gaps_every_entry_is_drawn_given_the_seen_entries(position, sigma, rate):
    X = position[0]
    mask = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    seen = {X.shape: mask.astype(float), X.T.shape: mask.T.astype(float)}
    problem = make_problem(X, 2, sigma, rate)

    def correct(X, F, other, rng):  # F (n, R) has the rows of X
        C = (X * seen[X.shape]) @ other
        S = seen[X.shape].T
        F, C, other = F.T[None], C.T[None], other.T[None]
        return gibbs.draw_seen(F, C, other, S, sigma**2, EntryPrior(rate), rng)[0].T

    def one_gram(X, F, other, rng):  # takes an unseen entry for a zero
        return drawn(problem, F, (X * seen[X.shape]) @ other, other.T @ other, rng)

    assert errors_of_sweep(position, sigma, rate, correct, mask) < 1e-8
    assert errors_of_sweep(position, sigma, rate, one_gram, mask) > 1e-3


def test_a_component_that_no_seen_entry_uses_is_drawn_from_the_prior():
    n, rate = 4000, 2.5
    other = np.array([[0.0, 1.0, 0.0], [1.0, 2.0, 0.5]])
    seen = np.tile([[1.0], [0.0], [1.0]], (1, n))  # the only observation of the first component
    F = np.ones((1, 2, n))
    C = (other * seen[:, 0]).sum(axis=1)[None, :, None] * np.ones((1, 1, n))
    rng = np.random.default_rng(4)
    made = gibbs.draw_seen(F, C, other[None], seen, 1.0, EntryPrior(rate), rng)
    assert stats.kstest(made[0, 0], stats.expon(scale=1 / rate).cdf).pvalue > 1e-4
    assert (F == 1).all()


def test_a_sweep_draws_A_and_then_W_given_the_new_A(position):
    X, A, W = position
    problem = make_problem(X, 2, 0.5, 2.0)
    new_A, new_W = gibbs.sweep(problem, A.T[None], W[None], np.random.default_rng(0))
    rng = np.random.default_rng(0)
    expected_A = drawn(problem, A, X @ W.T, W @ W.T, rng)
    expected_W = drawn(problem, W.T, X.T @ expected_A, expected_A.T @ expected_A, rng)
    np.testing.assert_allclose(new_A[0].T, expected_A, rtol=1e-13)
    np.testing.assert_allclose(new_W[0].T, expected_W, rtol=1e-12)


def test_chains_that_do_not_fit_together_are_swept_one_after_the_other(position, monkeypatch):
    X, A, W = position
    problem = make_problem(X, 2, 0.5, 2.0)
    A, W = np.stack([A.T, 2 * A.T, A.T + 1]), np.stack([W, W + 1, 2 * W])
    monkeypatch.setattr(gibbs, "ENTRIES_TOGETHER", 1)
    found = gibbs.sweep_in_parts(problem, A, W, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for chain in range(3):
        one = gibbs.sweep(problem, A[chain : chain + 1], W[chain : chain + 1], rng)
        np.testing.assert_array_equal(found[0][chain], one[0][0])
        np.testing.assert_array_equal(found[1][chain], one[1][0])


def test_an_empty_component_is_drawn_from_the_prior():
    n, rate = 4000, 2.5
    problem = make_problem(np.ones((n, 3)), 2, rate=rate)
    other = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 0.5]])
    F = np.ones((n, 2))
    made = drawn(problem, F, np.ones((n, 3)) @ other, other.T @ other, np.random.default_rng(4))
    assert stats.kstest(made[:, 0], stats.expon(scale=1 / rate).cdf).pvalue > 1e-4
    assert (F == 1).all()


# The run


def test_kept_draws_come_after_the_warm_up_and_every_so_often(small):
    spec = RunSpec("gibbs", 3, particles=4, seed=3, settings={"warm_up": 10, "thinning": 3})
    plan = planning.make_plan(small, spec)
    shard, rng = plan.shards[0], plan.shards[0].generator()
    state = gibbs.init(plan.problem, plan.settings, shard, rng)
    A, W = state.A, state.W
    kept = []
    for sweep in range(1, 23):
        A, W = gibbs.sweep(plan.problem, A, W, rng)
        A, W, _ = scale_move.move(plan.problem, A, W, rng)
        if sweep in (13, 16, 19, 22):
            kept.append(A[0].T)
    np.testing.assert_array_equal(engine.run(small, spec).A, kept)


@pytest.mark.parametrize("moves", [True, False])
def test_the_scales_of_components_are_drawn(moves, monkeypatch):
    """E[λ(ΣW_r − ΣA_r)] = N − D, from the density of (s A_r, W_r/s), integrated by parts over s."""
    if not moves:
        monkeypatch.setattr(scale_move, "move", lambda problem, A, W, rng: (A, W, None))
    rng = np.random.default_rng(0)
    X = rng.gamma(0.5, 1.0, (20, 3)) @ rng.gamma(0.5, 1.0, (3, 120))
    data = Dataset.from_array(X + 0.02 * np.abs(rng.standard_normal(X.shape)))
    settings = {"chains": 4, "warm_up": 200, "thinning": 5}
    spec = RunSpec("gibbs", 3, particles=800, settings=settings, model_settings={"sigma": 0.02})
    rate = planning.make_plan(data, spec).problem.model_settings.rate
    drawn = engine.run(data, spec)
    apart = rate * (drawn.W.sum(axis=2) - drawn.A.sum(axis=1)).mean(axis=0)
    if moves:
        np.testing.assert_allclose(apart, 120 - 20, atol=4.0)
    else:  # sweeps alone stay near the scale where they start
        assert (apart < 50.0).all()


def test_chains_share_the_draws_and_start_apart(small):
    settings = {"chains": 3, "warm_up": 0, "thinning": 1}
    particles = engine.run(small, RunSpec("gibbs", 3, particles=8, settings=settings))
    assert np.bincount(particles.chain).tolist() == [3, 3, 2]
    first = particles.A[particles.draw == 0]
    assert not np.allclose(first[0], first[1]) and not np.allclose(first[1], first[2])


def test_more_chains_than_draws_make_one_draw_each(small):
    particles = engine.run(small, RunSpec("gibbs", 2, particles=2, settings={"chains": 64}))
    np.testing.assert_array_equal(particles.chain, [0, 1])


def test_a_prior_start_is_a_draw_from_the_prior():
    problem = make_problem(np.ones((1500, 1500)), 2, rate=4.0)
    settings = gibbs.Settings(start="prior")
    shard = Shard(0, 0, 5, seed=1)
    state = gibbs.init(problem, settings, shard, np.random.default_rng(2))
    entries = np.concatenate([state.A.ravel(), state.W.ravel()])
    assert stats.kstest(entries, stats.expon(scale=1 / 4).cdf).pvalue > 1e-4


def test_a_flat_prior_is_refused(small):
    with pytest.raises(SettingsError, match="rate λ above 0"):
        engine.run(small, RunSpec("gibbs", 2, model_settings={"rate": 0}))


def test_estimated_work_grows_with_thinning(small):
    problem = Problem.without_model(small, 3)
    algorithm = registry.algorithm("gibbs")
    once, five = (algorithm.work(problem, gibbs.Settings(thinning=thinning)) for thinning in (1, 5))
    assert five == 5 * once
