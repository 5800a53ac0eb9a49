"""Single mode and All modes: paper 1's lower and upper bound on coverage."""

from dataclasses import replace

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.compare.distances import distances, pairwise
from bnmf_core.compare.distances.measures import MAX_ANGLE
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import infinite_solution, laurberg
from bnmf_core.explorers import all_modes, perturb
from bnmf_core.likelihoods import MODELS
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.runs.engine import run

KINDS = [("unique", 3), ("two", 3), ("infinite", 6)]


def noisy(kind: str, sigma: float = 1e-3, seed: int = 0, **more) -> Dataset:
    return laurberg(kind, noise=sigma, rng=np.random.default_rng(seed), **more)


def make(
    algorithm: str, data: Dataset, rank: int, particles: int = 200, sigma: float = 1e-3, **settings
):
    spec = RunSpec(
        algorithm, rank, particles=particles, settings=settings, model_settings={"sigma": sigma}
    )
    return run(data, spec)


def plain_update(X, A, W):
    """Lee and Seung (2001), equation 4, with zeros left where they are."""
    A = A * np.divide(X @ W.T, A @ (W @ W.T), out=np.ones_like(A), where=A > 0)
    W = W * np.divide(A.T @ X, (A.T @ A) @ W, out=np.ones_like(W), where=W > 0)
    return A, W


@pytest.mark.parametrize(("kind", "rank"), KINDS)
def test_updates_are_those_of_lee_and_seung(kind, rank):
    rng = np.random.default_rng(1)
    data = noisy(kind)
    truth = data.truth[0]
    X = np.maximum(data.X + 0.01 * rng.standard_normal((3, *data.X.shape)), 0.0)
    A, W = np.stack([truth.A] * 3), np.stack([truth.W] * 3)
    iterations, error = np.zeros(3, dtype=np.int64), np.full(3, np.inf)
    settled = perturb.multiply_until_settled(X, A, W, iterations, error, 7, 20, 0.0)
    assert (iterations == 7).all() and not settled.any()
    settled = perturb.multiply_until_settled(X, A, W, iterations, error, 50, 20, 0.0)
    assert (iterations == 20).all() and settled.all()
    for p in range(3):
        expected = truth.A, truth.W
        for _ in range(20):
            expected = plain_update(X[p], *expected)
        np.testing.assert_allclose(A[p], expected[0], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(W[p], expected[1], rtol=1e-10, atol=1e-14)
        assert error[p] == pytest.approx(squared_errors(X[p], A[p:][:1], W[p:][:1])[0], rel=1e-6)


@pytest.mark.parametrize(("kind", "rank"), KINDS)
def test_an_exact_factorization_of_data_without_noise_is_a_fixed_point(kind, rank):
    data = laurberg(kind)
    truth = data.truth[-1]
    A, W = truth.A[None].copy(), truth.W[None].copy()
    counts, error = np.zeros(1, dtype=np.int64), np.full(1, np.inf)
    settled = perturb.multiply_until_settled(data.X[None], A, W, counts, error, 500, 500, 1e-4)
    assert settled.all() and counts[0] == perturb.CHECK_EVERY
    np.testing.assert_allclose(A[0], truth.A, rtol=1e-12)
    np.testing.assert_allclose(W[0], truth.W, rtol=1e-12)


@pytest.mark.parametrize(("kind", "rank"), KINDS)
def test_a_single_mode_stays_near_the_chosen_factorization(kind, rank):
    data = noisy(kind)
    for solution in (1, len(data.truth)):
        particles = make("single_mode", data, rank, solution=solution)
        known = data.truth[solution - 1]
        away = pairwise.cross(particles.A, particles.W, known.A[None], known.W[None], MAX_ANGLE)
        assert away.max() < 0.5  # degrees; other modes of these problems are 11 and more away
        # Each particle has noise of its own.
        assert (distances(particles)[np.triu_indices(200, 1)] > 0).all()


def test_all_modes_visit_both_solutions_equally_often():
    data = noisy("two")
    particles = make("all_modes", data, 3, particles=2000)
    first, second = (
        pairwise.cross(particles.A, particles.W, t.A[None], t.W[None], MAX_ANGLE)[:, 0] < 1.0
        for t in data.truth
    )
    assert (first ^ second).all()
    # Five standard deviations of a fair coin.
    assert abs(first.mean() - 0.5) < 5 * 0.5 / np.sqrt(2000)
    assert distances(particles.subset(np.arange(300))).max() == pytest.approx(36.97, abs=0.2)


def test_all_modes_draw_delta_uniformly_where_solutions_are_infinite():
    data = noisy("infinite", sigma=1e-5)
    particles = make("all_modes", data, 6, particles=1000, sigma=1e-5)
    # A_δ has δ in the last row of its last three columns, relative to their own one.
    delta = particles.A[:, 6, 3:] / particles.A[:, [3, 4, 5], [3, 4, 5]]
    assert np.ptp(delta, axis=1).max() < 1e-3
    ordered = np.sort(delta.mean(axis=1))
    # Kolmogorov–Smirnov at 1e-4: 2.23/√n.
    assert np.abs(ordered - (np.arange(1000) + 0.5) / 1000).max() < 2.23 / np.sqrt(1000)


def test_mixtures_of_first_and_last_are_exact():
    data = laurberg("infinite")
    problem = Problem(data, MODELS["gaussian"], None, 6)
    for seed in range(5):
        A, W = all_modes.start(problem, all_modes.Settings(), np.random.default_rng(seed))
        np.testing.assert_allclose(A @ W, data.X, atol=1e-14)
        delta = A[6, 3]
        np.testing.assert_allclose(A, infinite_solution(float(delta))[0], atol=1e-14)


@pytest.mark.parametrize(("kind", "largest"), [("two", 10.74), ("infinite", 21.3)])
def test_large_embeddings_come_near_the_published_angles(kind, largest):
    # Table 7: 10.78° and 21.41°, which vary with the embedding by about half a degree.
    rank = dict(KINDS)[kind]
    data = noisy(kind, embed=(500, 50))
    particles = make("all_modes", data, rank, particles=60, max_iterations=20)
    assert distances(particles).max() == pytest.approx(largest, abs=1.5)
    likelihood = -(particles.error**2) * data.squared_norm / (2 * 1e-3**2)
    assert likelihood.mean() == pytest.approx(-12_200, rel=0.03)  # table 5


def test_noise_is_clipped_at_zero_and_differs_between_particles():
    data = noisy("infinite")
    state = perturb.State(
        *(np.ones((4, 2, 2)),) * 2, np.zeros(4), np.ones(4, bool), np.zeros(4), 5, 10
    )
    some = perturb._noisy(data.X, 0.1, state, np.array([1, 3]))
    assert (some >= 0).all() and (some == 0).any()
    assert not np.array_equal(some[0], some[1])
    # The same noise whenever it is made, and whatever block the particle is in.
    shifted = replace(state, start=11)
    np.testing.assert_array_equal(perturb._noisy(data.X, 0.1, shifted, np.array([0]))[0], some[0])


def test_a_step_is_bounded_and_goes_on_where_it_stopped(monkeypatch):
    data = noisy("two", embed=(60, 40))
    whole = make("single_mode", data, 3, particles=6)
    monkeypatch.setattr(perturb.solution, "STEP_WORK", 1e5)
    problem = Problem.prepare(data, MODELS["gaussian"], MODELS["gaussian"].Settings(sigma=1e-3), 3)
    algorithm = registry.algorithm("single_mode")
    settings = algorithm.Settings()
    rng = np.random.default_rng(0)
    state, steps = algorithm.init(problem, settings, Shard(0, 0, 6, 0), rng), 0
    batch = None
    while batch is None or not batch.size:
        before = state.A.copy()
        new, batch = algorithm.step(problem, state, settings, rng)
        np.testing.assert_array_equal(state.A, before)
        state, steps = new, steps + 1
    assert steps > 6
    np.testing.assert_array_equal(batch.A, whole.A)
    assert algorithm.fraction(state, settings) == 1.0


@pytest.mark.parametrize("key", ["single_mode", "all_modes"])
def test_what_is_not_known_is_refused_with_a_sentence(key, small):
    with pytest.raises(SettingsError, match="No exact factorization of 'small' is known"):
        run(small, RunSpec(key, rank=3, particles=2))
    with pytest.raises(SettingsError, match="have rank 3, and the run has rank 4"):
        run(noisy("two"), RunSpec(key, rank=4, particles=2))


def test_a_factorization_that_is_not_there_is_refused_with_the_ones_that_are():
    with pytest.raises(SettingsError, match=r"there are: 1 \(A, W\), 2 \(A Q, Q W\)"):
        make("single_mode", noisy("two"), 3, solution=3)
