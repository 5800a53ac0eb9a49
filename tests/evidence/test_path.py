"""Every step of a path leaves its density invariant: moments against sums over a fine grid."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import gaussian
from bnmf_core.samplers.entries import Entries, Given, conditional_moments, redraw, rescale
from bnmf_core.samplers.gibbs_path import ConditionalPosterior, GibbsPath, Neighbourhood
from bnmf_core.samplers.truncated_normals import TruncatedNormals

CHAINS = 20_000


def posterior_of(row, sigma=0.4, rate=0.8):
    """The posterior of a single row, which no file may hold but a grid can: rank 1."""
    X = np.array([row])
    data = SimpleNamespace(
        X=X, D=1, N=X.size, mask=None, missing=0, observed=X.size, squared_norm=float((X**2).sum())
    )
    settings = gaussian.Settings(sigma=sigma, rate=rate)
    return ConditionalPosterior(Problem(data, gaussian.MODEL, settings, 1))


def neighbourhood(D, N):
    rng = np.random.default_rng(5)
    parts = [
        TruncatedNormals.of(rng.normal(0.6, 0.3, (1, n)), rng.uniform(0.1, 0.4, (1, n)), np.inf)
        for n in (D, N)
    ]
    return Neighbourhood(parts[0], parts[1], (np.full((1, D), 0.7), np.full((1, N), 0.7)))


def grid_of_three(log_density, far=6.0, points=160):
    """A fine grid of three positive numbers and the density on it, in log steps."""
    line = np.exp(np.linspace(np.log(1e-5), np.log(far), points))
    places = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    log_mass = log_density(places) + np.log(places).sum(axis=1)
    mass = np.exp(log_mass - log_mass.max())
    return places, mass / mass.sum()


def summaries(places):
    a, w, v = places.T
    return np.stack([a, w, v, a * w, a * a, np.log(a), np.log(w)])


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.0, 0.3, 1.0])
def test_a_step_leaves_the_path_where_it_was(power):
    """A 1×2 matrix of rank 1: three numbers, and D ≠ N, so that the Jacobian of scales counts."""
    posterior = posterior_of([1.2, 0.5])
    around = neighbourhood(1, 2)
    path = GibbsPath(posterior, around)

    def log_density(places):
        A, W = places[:, None, :1], places[:, None, 1:]
        log_joint = posterior.log_joint(A, W, posterior.given_A(A))
        start = around.A.log_density(A) + around.W.log_density(W)
        return (1 - power) * start + power * log_joint

    places, mass = grid_of_three(log_density)
    exact = summaries(places) @ mass
    rng = np.random.default_rng(1)
    # Chains that begin as the density says have to stay so distributed.
    population = path.start(CHAINS, rng)
    chosen = rng.choice(places.shape[0], CHAINS, p=mass)
    start = places[chosen]
    population = replace(population, place=(start[:, None, :1], start[:, None, 1:]))
    for _ in range(4):
        population = path.move(population, power, rng)
    drawn = summaries(np.concatenate([part[:, 0] for part in population.place], axis=1))
    error = drawn.std(axis=1) / np.sqrt(CHAINS)
    # The grid itself is good to about a thousandth.
    np.testing.assert_array_less(np.abs(drawn.mean(axis=1) - exact), 4.5 * error + 2e-3)


def test_the_ratio_that_a_population_carries_is_that_of_its_place():
    posterior = posterior_of([1.2, 0.5])
    path = GibbsPath(posterior, neighbourhood(1, 2))
    rng = np.random.default_rng(2)
    population = path.move(path.start(50, rng), 0.5, rng)
    A, W = path.factors(population)
    log_joint = gaussian.MODEL.log_joint(posterior.problem, A, W)
    start = path.around.A.log_density(A.transpose(0, 2, 1)) + path.around.W.log_density(W)
    np.testing.assert_allclose(population.log_ratio, log_joint - start, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gaps", [False, True])
def test_conditional_moments_are_those_of_each_entry_alone(gaps):
    rng = np.random.default_rng(0)
    m, R, n, k = 2, 3, 5, 7
    F, other, X = rng.random((m, R, n)), rng.random((m, R, k)), rng.random((k, n))
    seen = (rng.random((k, n)) < 0.6).astype(float) if gaps else np.ones((k, n))
    entries = Entries(rng.normal(size=(R, n)), rng.random((R, n)) + 0.1, np.inf)
    heat = 3.0
    given = Given(other, other @ (X * seen), seen if gaps else None)
    mean, variance = conditional_moments(F, given, heat, entries)
    for p, r, i in np.ndindex(m, R, n):

        def log_density(x, p=p, r=r, i=i):
            f = F[p, :, i].copy()
            f[r] = x
            residual = seen[:, i] * (X[:, i] - f @ other[p])
            own = entries.linear[r, i] * x - 0.5 * entries.precision[r, i] * x * x
            return -0.5 * heat * residual @ residual + own

        # A parabola is known from three of its points.
        low, middle, high = (log_density(x) for x in (-1.0, 0.0, 1.0))
        bend = 2 * middle - low - high
        assert variance[p, r, i] == pytest.approx(1 / bend, rel=1e-9)
        assert mean[p, r, i] == pytest.approx((high - low) / 2 / bend, rel=1e-8, abs=1e-8)


def test_the_fast_draw_and_the_general_one_are_the_same():
    rng = np.random.default_rng(0)
    F, other, X = rng.random((2, 3, 9)), rng.random((2, 3, 7)), rng.random((7, 9))
    entries = Entries(rng.normal(size=(3, 9)), rng.random((3, 9)) + 0.1, np.inf)
    whole, by_columns = F.copy(), F.copy()
    redraw(whole, Given(other, other @ X, None), 2.0, entries, np.random.default_rng(1))
    everything = np.ones((7, 9))
    redraw(by_columns, Given(other, other @ X, everything), 2.0, entries, np.random.default_rng(1))
    np.testing.assert_allclose(whole, by_columns, rtol=1e-9)


def test_a_scale_move_leaves_the_product_alone():
    rng = np.random.default_rng(0)
    A, W = rng.random((4, 2, 6)), rng.random((4, 2, 5))
    before = np.einsum("mrd,mrn->mdn", A, W)
    flat = [Entries(np.full((2, n), -1.0), np.zeros((2, n)), np.inf) for n in (6, 5)]
    moved_A, moved_W = A.copy(), W.copy()
    rescale(moved_A, moved_W, flat[0], flat[1], (A[0], W[0]), rng)
    np.testing.assert_allclose(np.einsum("mrd,mrn->mdn", moved_A, moved_W), before, rtol=1e-12)
    assert (moved_A != A).any()


def test_an_entry_that_is_hardly_seen_is_where_its_prior_has_it():
    """Of the last observation one feature was seen, and only component 1 has it."""
    rng, rate = np.random.default_rng(2), 2.0
    A = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 1.5], [0.4, 0.8]])
    W = rng.exponential(1 / rate, (2, 30))
    X = np.maximum(A @ W + 0.05 * rng.normal(size=(4, 30)), 0.0)
    mask = np.ones(X.shape, bool)
    mask[1:, -1] = False
    data = Dataset.from_array(X, mask=mask)
    problem = Problem(data, gaussian.MODEL, gaussian.Settings(sigma=0.05, rate=rate), 2)
    posterior = ConditionalPosterior(problem)
    found = [posterior.around(A, W, np.random.default_rng(seed)) for seed in range(3)]
    hardly = [around.W.mean[1, -1] * rate for around in found]
    # Averages of normals before they are cut would be thousands of times as far out.
    assert 0.5 < min(hardly) <= max(hardly) < 5.0
    # What X determines stays where it was.
    for around in found:
        of_A, of_W = around.centre
        np.testing.assert_allclose((of_A.T @ of_W)[:, :-1], (A @ W)[:, :-1], atol=0.25)
