"""Stein kernels: against their definition, Stein's identity, what does not change them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bnmf_core
from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.split import SPLIT_SEED, holdout_columns
from bnmf_core.posterior import places, stein
from bnmf_core.posterior.places import Block
from bnmf_core.runs import engine
from tests.generated import generated

from .definition import MODEL_SETTINGS, RATE, naive_places, naive_stein

FORMS = list(places.FORMS)


@pytest.fixture(params=list(MODEL_SETTINGS))
def model(request):
    return request.param


def particles_of(A, W, model="gaussian", **model_settings) -> Particles:
    M = A.shape[0]
    values = MODEL_SETTINGS[model] | model_settings
    return Particles(
        A=A,
        W=W,
        ids=np.arange(M) + 100,
        chain=np.zeros(M, int),
        draw=np.arange(M),
        weights=np.full(M, 1 / M),
        log_joint=np.zeros(M),
        error=np.zeros(M),
        seconds=np.zeros(M),
        spec=RunSpec("hmc", A.shape[2], model, M, 0, model_settings=values),
        info={"model_settings": values},
    )


def prior_draws(model, M, shape, rng, rate=RATE):
    D, N, R = shape
    A = rng.exponential(1 / rate, (M, D, R))
    if registry.model(model).support_A == "simplex":
        A /= A.sum(axis=1, keepdims=True)
    return A, rng.exponential(1 / rate, (M, R, N))


def case(model, M=4, shape=(4, 3, 2), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=shape[:2])
    return particles_of(*prior_draws(model, M, shape, rng), model), Dataset.from_array(X)


# The definition, pair by pair


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("length_A", "length_W", "exponent"), [(1e-2, 1e3, -0.5), (0.3, 2.0, -0.5), (1.0, 0.7, -0.8)]
)
def test_every_entry_is_the_definition(model, form, length_A, length_W, exponent):
    particles, data = case(model)
    K = stein.kernel_matrix(particles, data, form, length_A, length_W, exponent)
    points = [
        naive_places(data.X, A, W, model, form)
        for A, W in zip(particles.A, particles.W, strict=True)
    ]
    lengths = (length_A, length_W)
    for i, (x, score_x, sizes) in enumerate(points):
        for j, (y, score_y, _) in enumerate(points):
            expected = naive_stein(x, y, score_x, score_y, sizes, lengths, exponent)
            scale = np.sqrt(K[i, i] * K[j, j])
            assert K[i, j] == pytest.approx(expected, rel=1e-10, abs=1e-10 * scale)


@pytest.mark.parametrize("form", FORMS)
def test_the_diagonal_is_known(model, form):
    """K_ii = ‖s_i‖² + ½(dim_A/c_A² + dim_W/c_W²) at b = −½."""
    particles, data = case(model, M=6)
    K = stein.kernel_matrix(particles, data, form, 0.4, 1.7)
    free = registry.model(model).support_A == "simplex" and form == "interior"
    dim_A = (4 - free) * 2
    for m in range(6):
        score = naive_places(data.X, particles.A[m], particles.W[m], model, form)[1]
        expected = score @ score + 0.5 * (dim_A / 0.4**2 + 2 * 3 / 1.7**2)
        assert K[m, m] == pytest.approx(expected, rel=1e-12)


# Stein's identity


def off_diagonal_mean(K):
    """E[K_p(x, x')] over independent pairs, and its standard error as a U-statistic."""
    M = K.shape[0]
    off = K - np.diag(np.diagonal(K))
    rows = off.sum(axis=1) / (M - 1)
    squared = (off**2).sum() / (M * (M - 1))
    return rows.mean(), np.sqrt(4 * rows.var() / M + 2 * squared / (M * (M - 1)))


def exponential_block(draws, form):
    if form == "paper":
        return Block(draws[:, None], -np.ones((draws.size, 1)), 1)
    return Block(np.log(draws)[:, None], 1 - draws[:, None], 1)


@pytest.mark.parametrize("length", [0.5, 1.0])
def test_for_one_exponential_the_paper_form_expects_one_and_the_interior_form_zero(length):
    """Of E[K_p] what remains is p(0)² k(0, 0) = 1 where the density does not vanish."""
    draws = np.random.default_rng(0).exponential(size=1500)
    for form, expected in (("paper", 1.0), ("interior", 0.0)):
        mean, error = off_diagonal_mean(
            stein.Products.of([exponential_block(draws, form)]).kernel(length)
        )
        assert error < 0.08
        assert abs(mean - expected) < 4.5 * error


def prior_kernel(model, form, M, seed, shape=(3, 2, 2)):
    """Kernel of draws from the prior, under a posterior whose data say next to nothing."""
    settings_ = {"rate": 1.0} | ({"epsilon": 1e12} if model == "silf" else {"sigma": 1e6})
    rng = np.random.default_rng(seed)
    particles = particles_of(*prior_draws(model, M, shape, rng, 1.0), model, **settings_)
    data = Dataset.from_array(rng.exponential(size=shape[:2]))
    return stein.kernel_matrix(particles, data, form, 1.0, 1.0)


@pytest.mark.slow
def test_in_the_interior_form_the_posterior_has_no_discrepancy(model):
    mean, error = off_diagonal_mean(prior_kernel(model, "interior", 2000, 1))
    typical = prior_kernel(model, "interior", 50, 1).trace() / 50
    assert abs(mean) < 4.5 * error and error < 0.01 * typical


@pytest.mark.slow
def test_in_the_paper_form_the_posterior_itself_has_a_discrepancy(model):
    mean, error = off_diagonal_mean(prior_kernel(model, "paper", 2000, 2))
    assert mean > 20 * error


def test_without_the_jacobian_the_identity_fails():
    """The test above has power: scores without it are off by far more than the noise."""
    draws = np.random.default_rng(3).exponential(size=2000)
    right = exponential_block(draws, "interior")
    mean, error = off_diagonal_mean(
        stein.Products.of([replace(right, score=right.score - 1)]).kernel(1.0)
    )
    assert mean > 10 * error


def test_draws_are_nearer_to_their_own_posterior_than_to_one_of_less_noise(small):
    chosen = {"sigma": 1.0, "rate": 1.0}
    drawn = engine.run(
        small, RunSpec("gibbs", 2, particles=300, settings={"thinning": 5}, model_settings=chosen)
    )
    own = stein.kernel_matrix(drawn, small, "interior", 1.0, 1.0)
    wrong = replace(drawn, info={"model_settings": {"sigma": 0.5, "rate": 1.0}})
    other = stein.kernel_matrix(wrong, small, "interior", 1.0, 1.0)
    assert stein.ksd(own, drawn.weights) < 0.5 * stein.ksd(other, drawn.weights)


# What must hold for every collection


@generated(40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(list(MODEL_SETTINGS)),
    st.sampled_from(FORMS),
    st.integers(2, 12),
    st.floats(1e-2, 1e3),
    st.floats(1e-2, 1e3),
    st.floats(-0.95, -0.05),
)
def test_kernels_are_symmetric_semidefinite_and_move_with_the_particles(
    seed, model, form, M, length_A, length_W, exponent
):
    particles, data = case(model, M, seed=seed)
    arguments = (data, form, length_A, length_W, exponent)
    K = stein.kernel_matrix(particles, *arguments)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)
    order = np.random.default_rng(seed).permutation(M)
    moved = stein.kernel_matrix(particles.subset(order), *arguments)
    diagonal = np.diagonal(K)[order]
    scale = np.sqrt(diagonal[:, None] * diagonal)
    assert (np.abs(moved - K[np.ix_(order, order)]) < 1e-11 * scale).all()


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_features_and_observations_does_not_matter(model, form):
    particles, data = case(model, 5)
    rows, columns = [2, 0, 3, 1], [1, 2, 0]
    turned = replace(particles, A=particles.A[:, rows], W=particles.W[:, :, columns])
    K = stein.kernel_matrix(particles, data, form, 1.0, 1.0)
    other = Dataset.from_array(data.X[np.ix_(rows, columns)])
    np.testing.assert_allclose(stein.kernel_matrix(turned, other, form, 1.0, 1.0), K, rtol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_duplicates_have_equal_rows(model, form):
    particles, data = case(model, 3)
    twice = particles.subset(np.array([0, 1, 2, 0, 1, 2, 0]))
    K = stein.kernel_matrix(twice, data, form, 1e-3, 1e-3)
    scale = np.sqrt(np.diagonal(K)[:, None] * np.diagonal(K))
    index = np.ix_([0, 1, 2, 0, 1, 2, 0], [0, 1, 2, 0, 1, 2, 0])
    assert (np.abs(K - K[:3, :3][index]) < 1e-12 * scale).all()


def two_clusters(rng, M, n, spread):
    """Two far groups of near points, of which the last two of each are the same."""
    centres = 1e3 * rng.standard_normal((2, n))
    x = np.repeat(centres, M // 2, axis=0) + spread * rng.standard_normal((M, n))
    x[-1], x[M // 2 - 1] = x[-2], x[M // 2 - 2]
    return x


@pytest.mark.parametrize("spread", [1e-9, 1e-3, 1.0])
def test_near_points_far_from_the_centre_keep_their_distances(spread):
    rng = np.random.default_rng(7)
    x, s = two_clusters(rng, 12, 40, spread), 1e3 * rng.standard_normal((12, 40))
    apart = x[:, None] - x
    squared, across = stein._differences(x, s)
    np.testing.assert_allclose(squared, (apart**2).sum(axis=2), rtol=1e-9, atol=1e-20)
    expected = ((s[None] - s[:, None]) * apart).sum(axis=2)
    scale = np.linalg.norm(s[None] - s[:, None], axis=2) * np.linalg.norm(apart, axis=2)
    assert (np.abs(across - expected) <= 1e-9 * scale).all()


def test_a_long_chain_of_near_points_keeps_its_distances():
    rng = np.random.default_rng(8)
    x = np.cumsum(1e-4 * rng.standard_normal((60, 3)) + 0.02, axis=0)
    apart = x[:, None] - x
    squared, across = stein._differences(x, x**2)
    np.testing.assert_allclose(squared, (apart**2).sum(axis=2), rtol=1e-11, atol=0)
    expected = ((x[None] ** 2 - x[:, None] ** 2) * apart).sum(axis=2)
    np.testing.assert_allclose(across, expected, rtol=1e-9, atol=1e-15)


def test_inputs_are_left_alone(model):
    particles, data = case(model)
    before = particles.A.copy(), particles.W.copy(), data.X.copy()
    particles.A.flags.writeable = particles.W.flags.writeable = False
    for form in FORMS:
        stein.kernel_matrix(particles, data, form)
    for ours, kept in zip((particles.A, particles.W, data.X), before, strict=True):
        np.testing.assert_array_equal(ours, kept)


# Zeros, slopes that are not finite, and the problem of a run


def test_a_zero_entry_counts_as_next_to_nothing(model):
    particles, data = case(model)
    A = particles.A.copy()
    A[1, 0, 0] = 0.0
    if registry.model(model).support_A == "simplex":
        A /= A.sum(axis=1, keepdims=True)
    touching = replace(particles, A=A)
    K = stein.kernel_matrix(touching, data, "interior", 1.0, 1.0)
    assert np.isfinite(K).all() and np.linalg.eigvalsh(K)[0] > 0
    smaller = stein.kernel_matrix(touching, data, "interior", 1.0, 1.0, lift=1e-14)
    # The slope has a limit there; only the distance grows with the logarithm.
    assert smaller[1, 1] == pytest.approx(K[1, 1], rel=1e-9)
    with pytest.raises(SettingsError, match="no logarithm, and factorization 101 has"):
        stein.kernel_matrix(touching, data, "interior", 1.0, 1.0, lift=0.0)
    assert np.isfinite(stein.kernel_matrix(touching, data, "paper")).all()


@pytest.mark.parametrize("form", FORMS)
def test_slopes_that_are_not_finite_are_named(form):
    particles, data = case("gaussian", M=9)
    W = particles.W.copy()
    W[2:, 0, 0] = 1e200
    A = particles.A.copy()
    A[2:] *= 1e200
    with pytest.raises(DataError, match="factorizations 102, 103, 104, 105, 106 and 2 more have"):
        stein.kernel_matrix(replace(particles, A=A, W=W), data, form)


@pytest.mark.parametrize("model", ["gaussian", "silf"])
def test_the_problem_of_a_run_is_what_it_solved(small, model):
    run = engine.run(small, RunSpec("random_restarts", 3, model, 4, 1, holdout=0.2))
    seen = small.columns(holdout_columns(small.N, 0.2, SPLIT_SEED)[0])
    for dataset in (small, seen):
        problem = places.problem_of(run, dataset)
        np.testing.assert_array_equal(problem.dataset.X, seen.X)
        values = problem.model.log_joint(problem, run.A, run.W)
        np.testing.assert_allclose(values, run.log_joint, rtol=1e-9)
    with pytest.raises(DataError, match="of a 12×12 matrix, .* 'matrix' is 12×4"):
        places.problem_of(run, Dataset.from_array(small.X[:, :5]))
    assert stein.kernel_matrix(run, small).shape == (4, 4)


def test_a_stored_run_has_the_same_kernel(small, tmp_path):
    run = engine.run(small, RunSpec("random_restarts", 3, "silf", 4, 1))
    run.save(tmp_path / "run.npz")
    loaded = Particles.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(
        stein.kernel_matrix(loaded, small), stein.kernel_matrix(run, small)
    )


def test_the_public_names_are_these():
    assert bnmf_core.kernel_matrix is stein.kernel_matrix
    assert callable(bnmf_core.stein_weights)


# Length scales


def products_of(particles, form):
    return stein.Products.of(places.positions(particles, form))


def test_the_similarity_is_one_on_the_diagonal_and_falls_with_distance(model):
    particles, _ = case(model, 8)
    for form in FORMS:
        k = products_of(particles, form).similarities(0.5, 2.0).mean(axis=0)
        np.testing.assert_array_equal(np.diagonal(k), 1.0)
        assert ((k > 0) & (k <= 1)).all()
        assert np.linalg.eigvalsh(k)[0] > -1e-12
        smaller = products_of(particles, form).similarities(0.05, 0.2).mean(axis=0)
        assert (smaller - k <= 1e-15).all()


def test_the_similarity_is_the_kernel_as_published():
    particles, _ = case("gaussian", 3)
    k = products_of(particles, "paper").similarities(0.3, 1.5).mean(axis=0)
    for i in range(3):
        for j in range(3):
            u = ((particles.A[i] - particles.A[j]) ** 2).sum()
            v = ((particles.W[i] - particles.W[j]) ** 2).sum()
            expected = 0.5 * 0.3 * (u + 0.09) ** -0.5 + 0.5 * 1.5 * (v + 2.25) ** -0.5
            assert k[i, j] == pytest.approx(expected, rel=1e-12)


def test_lengths_that_do_not_tell_particles_apart_are_said(model):
    particles, _ = case(model, 30)
    for form in FORMS:
        products = products_of(particles, form)
        suggested = products.median_lengths()
        sentence = products.sentence(*suggested)
        assert sentence == "Both length scales distinguish the factorizations."
        sentence = products.sentence(1e-6, 1e6)
        assert "c_A = 1e-06 vanishes" in sentence and "c_W = 1e+06 saturates" in sentence
        assert f"{suggested[0]:.3g} for A and {suggested[1]:.3g} for W" in sentence


def test_suggested_lengths_are_median_distances_of_those_that_differ():
    particles, _ = case("gaussian", 3)
    twice = particles.subset(np.array([0, 1, 2, 2, 2]))
    A = particles.A.reshape(3, -1)
    distances = {(i, j): np.linalg.norm(A[i] - A[j]) for i in range(3) for j in range(i)}
    expected = np.median([distances[1, 0]] + 3 * [distances[2, 0], distances[2, 1]])
    assert products_of(twice, "paper").median_lengths()[0] == pytest.approx(expected, rel=1e-12)
    assert products_of(particles.subset(np.array([1, 1])), "paper").median_lengths() == (1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"form": "ambient"}, "no form 'ambient'; choose one of interior, paper"),
        ({"length_A": 0.0}, "length scale of A was 0.0"),
        ({"length_W": float("nan")}, "length scale of W was nan"),
        ({"exponent": 0.5}, "exponent was 0.5"),
        ({"exponent": -1.0}, "exponent was -1.0"),
    ],
)
def test_what_makes_no_kernel_is_refused(changes, sentence):
    particles, data = case("gaussian")
    with pytest.raises(SettingsError, match=sentence):
        stein.kernel_matrix(particles, data, **changes)
