"""The threshold model: its loss, its objectives and gradients, its constants, its threshold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, sparse, stats

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.core.threshold import threshold_sentence
from bnmf_core.likelihoods import gaussian_simplex, silf
from bnmf_core.likelihoods.reference import reference_errors, reference_start, reference_values
from bnmf_core.runs import engine
from tests.slopes import by_complex_step

MODEL = silf.MODEL
positive = st.floats(1e-6, 1e6)


@pytest.fixture(params=["dense", "sparse"])
def data(request, small) -> Dataset:
    X = np.where(small.X > np.median(small.X), small.X, 0.0)
    return Dataset.from_array(sparse.csc_array(X) if request.param == "sparse" else X)


@pytest.fixture
def factors(small):
    rng = np.random.default_rng(1)
    A = rng.dirichlet(np.ones(small.D), size=(2, 3)).transpose(0, 2, 1)
    return A, 3 * rng.exponential(size=(2, 3, small.N))


def make_problem(data, objective, epsilon=None, **changes) -> Problem:
    """By default ε lies below every f of the tests, so that the slope of the loss is 1."""
    epsilon = 1e-3 if epsilon is None else epsilon
    changes = {"rate": 1.0} | changes
    return Problem(data, MODEL, silf.Settings(objective, epsilon, **changes), 3)


def defined(X, A, W, objective, scale):
    """f by its definition, for complex A and W too."""
    Y = A @ W
    if objective == "frobenius":
        return ((X - Y) ** 2).sum()
    ratio = (X + 1e-6 * scale) / (Y + 1e-6 * scale)
    if objective == "kullback_leibler":
        return np.where(X > 0, (X + 1e-6 * scale) * np.log(ratio) - X + Y, Y).sum()
    return (ratio - np.log(ratio) - 1).sum()


# The loss


@given(positive, st.floats(1e-3, 1.0))
def test_the_loss_joins_smoothly(epsilon, beta):
    joints = np.array([(1 - beta) * epsilon, (1 + beta) * epsilon])
    np.testing.assert_allclose(silf.silf(joints / epsilon, 1.0, beta), [0, beta], atol=1e-12)
    np.testing.assert_allclose(silf.silf(joints, epsilon, beta)[1], beta * epsilon, rtol=1e-9)
    np.testing.assert_allclose(silf.silf_slope(joints, epsilon, beta), [0, 1], atol=1e-12)
    for side in (1 - 1e-9, 1 + 1e-9):
        np.testing.assert_allclose(silf.silf_slope(joints * side, epsilon, beta), [0, 1], atol=1e-5)
    # The three pieces as the paper writes them.
    inside, bend, beyond = 0.5 * joints[0], epsilon, 3 * epsilon
    assert silf.silf(inside, epsilon, beta) == 0.0
    assert silf.silf(bend, epsilon, beta) == pytest.approx(beta * epsilon / 4, rel=1e-9)
    assert silf.silf(beyond, epsilon, beta) == pytest.approx(2 * epsilon, rel=1e-12)


@given(positive, st.floats(1e-2, 1.0), st.floats(0, 3))
def test_the_slope_is_the_derivative_of_the_loss(epsilon, beta, part):
    y, h = part * epsilon, 1e-6 * epsilon * beta
    difference = silf.silf(y + h, epsilon, beta) - silf.silf(y - h, epsilon, beta)
    assert silf.silf_slope(y, epsilon, beta) == pytest.approx(difference / (2 * h), abs=1e-5)


# Objectives and gradients


@pytest.mark.parametrize("objective", silf.OBJECTIVES)
def test_the_objective_is_what_it_is_defined_as(data, factors, objective):
    X, problem = data.dense(), make_problem(data, objective)
    expected = [defined(X, *pair, objective, X.mean()) for pair in zip(*factors, strict=True)]
    np.testing.assert_allclose(silf.objective(problem, *factors), expected, rtol=1e-10)
    seen = silf.OBJECTIVES[objective].values_and_gradients(problem, *factors)[0]
    np.testing.assert_allclose(seen, expected, rtol=1e-10)


@pytest.mark.parametrize("place", ["bend", "beyond"])
@pytest.mark.parametrize("objective", silf.OBJECTIVES)
def test_the_score_is_the_gradient_with_every_entry_free(data, factors, objective, place):
    """Against the complex step: Im f(x + ih)/h."""
    X = data.dense()
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        f = defined(X, A, W, objective, X.mean())
        epsilon = {"bend": f / 1.04, "beyond": 0.5 * f}[place]
        problem = make_problem(data, objective, epsilon, C=1.7, rate=1.3)
        slope_of_loss = {"bend": (f - 0.9 * epsilon) / (0.2 * epsilon), "beyond": 1.0}[place]
        score_A, score_W = MODEL.score(problem, *factors)
        of_A = by_complex_step(lambda F, W=W: defined(X, F, W, objective, X.mean()), A)
        of_W = by_complex_step(lambda F, A=A: defined(X, A, F, objective, X.mean()), W)
        for score, slope, rate in ((score_A, of_A, 0.0), (score_W, of_W, 1.3)):
            expected = -1.7 * slope_of_loss * slope - rate
            assert score[m] == pytest.approx(expected, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("objective", silf.OBJECTIVES)
def test_log_joint_and_score_are_the_log_joint_and_the_score(data, factors, objective):
    problem = make_problem(data, objective)
    values, by_A, by_W = MODEL.log_joint_and_score(problem, *factors)
    np.testing.assert_allclose(values, MODEL.log_joint(problem, *factors), rtol=1e-9)
    f = silf.objective(problem, *factors)
    np.testing.assert_allclose(values, MODEL.log_joint(problem, *factors, f), rtol=1e-9)
    for ours, theirs in zip((by_A, by_W), MODEL.score(problem, *factors), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_below_the_threshold_only_the_prior_speaks(small, factors):
    problem = make_problem(small, "frobenius", 1e9, rate=0.8)
    score_A, score_W = MODEL.score(problem, *factors)
    assert (score_A == 0).all() and (score_W == -0.8).all()
    np.testing.assert_array_equal(MODEL.log_likelihood(problem, *factors), 0.0)


@pytest.mark.parametrize("objective", ["kullback_leibler", "itakura_saito"])
def test_zeros_leave_divergences_and_slopes_finite(small, objective):
    X = np.where(small.X > np.median(small.X), small.X, 0.0)
    A, W = np.zeros((1, small.D, 3)), np.zeros((1, 3, small.N))
    A[0, 0], W[0, :, 0] = 1.0, 2.0
    problem = make_problem(Dataset.from_array(X), objective)
    for values in MODEL.log_joint_and_score(problem, A, W):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("objective", silf.OBJECTIVES)
def test_an_exact_factorization_has_objective_zero(objective):
    rng = np.random.default_rng(4)
    A, W = rng.random((1, 6, 2)), rng.random((1, 2, 7))
    A[0, :2, 0], W[0, 1, :3] = 0.0, 0.0
    A[0, :2, 1] = 0.0  # whole rows of zeros
    problem = make_problem(Dataset.from_array((A @ W)[0]), objective)
    f, by_A, by_W = silf.OBJECTIVES[objective].values_and_gradients(problem, A, W)
    assert f == pytest.approx(0.0, abs=1e-12)
    if objective == "kullback_leibler":  # an entry of 0 has a slope of 1: rows of zeros stay
        assert (by_A[:, :2] > 0.1).all()
        by_A[:, :2] = 0.0
    assert np.abs(by_A).max() < 1e-6 and np.abs(by_W).max() < 1e-6


def test_missing_entries_do_not_count(small, factors):
    mask = np.random.default_rng(5).random(small.X.shape) < 0.7
    masked = Dataset.from_array(small.X, mask=mask)
    A, W = factors
    X = np.where(mask, small.X, 0) + 1e-6 * small.X[mask].mean()
    Y = A @ W + 1e-6 * small.X[mask].mean()
    expected = ((X * np.log(X / Y) - X + Y) * mask).sum(axis=(1, 2))
    ours = silf.objective(make_problem(masked, "kullback_leibler"), A, W)
    np.testing.assert_allclose(ours, expected, rtol=1e-10)


# Constants


@pytest.mark.parametrize(("D", "N"), [(2, 2), (3, 5), (12, 15)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 400.0])
@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_the_likelihood_of_the_squared_error_sums_to_one(D, N, epsilon, beta):
    """Z by adaptive quadrature over the radius: ∫ r^(n−1) exp(−C·SILF(r²)) dr · area."""
    problem = Problem(
        Dataset.from_array(np.ones((D, N))), MODEL, silf.Settings("frobenius", epsilon, beta), 1
    )
    n, C = D * N, 2.0

    def height(r):
        return (n - 1) * np.log(r) - C * silf.silf(r**2, epsilon, beta)

    grid = np.geomspace(1e-3 * np.sqrt(epsilon), 10 * np.sqrt(epsilon + n), 200_001)
    top, peak = height(grid).max(), grid[np.argmax(height(grid))]
    joints = np.sqrt(epsilon * np.array([1 - beta, 1 + beta]))
    edges = np.unique([0.0, *joints, peak, 0.8 * peak, 1.3 * peak, grid[-1]])
    parts = [
        integrate.quad(lambda r: np.exp(height(r) - top), a, b, epsabs=1e-13, limit=200)[0]
        for a, b in zip(np.maximum(edges[:-1], 1e-12), edges[1:], strict=True)
    ]
    ball = stats.chi2(n)  # its density holds the area of the sphere
    area = ball.logpdf(1.0) + np.log(2.0) + 0.5 + 0.5 * n * np.log(2 * np.pi)
    expected = area + top + np.log(sum(parts))
    assert silf.log_normaliser(problem) == pytest.approx(expected, rel=1e-9, abs=1e-8)


def test_with_a_threshold_of_nothing_it_is_the_gaussian_model(small, factors):
    """ε → 0 leaves exp(−C‖X − AW‖²): Gaussian noise of σ² = 1/(2C)."""
    ours = MODEL.log_joint(make_problem(small, "frobenius", 1e-9, C=2.0, rate=1.3), *factors)
    settings = gaussian_simplex.Settings(sigma=0.5, rate=1.3)
    gaussian = Problem(small, gaussian_simplex.MODEL, settings, 3)
    expected = gaussian_simplex.MODEL.log_joint(gaussian, *factors)
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_the_log_joint_of_a_divergence_lacks_the_normaliser_only(small, factors):
    problem = make_problem(small, "itakura_saito", C=2.0, rate=1.3)
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        f = defined(small.X, A, W, "itakura_saito", small.X.mean())
        expected = -2.0 * (f - 1e-3)
        expected += sum(stats.dirichlet.logpdf(column, np.ones(column.size)) for column in A.T)
        expected += stats.expon.logpdf(W, scale=1 / 1.3).sum()
        assert MODEL.log_joint(problem, *factors)[m] == pytest.approx(expected, rel=1e-10)


def test_the_largest_data_have_a_normaliser():
    values = [silf._log_radial_integral(n, 5e4, 0.1, 2.0) for n in (10**6, 10**7)]
    # Far beyond the threshold the likelihood is Gaussian: Z = (π/C)^(n/2) exp(Cε).
    for n, value in zip((10**6, 10**7), values, strict=True):
        assert value == pytest.approx(0.5 * n * np.log(np.pi / 2) + 2 * 5e4, rel=1e-12)


# The threshold


def test_an_open_threshold_is_above_fifty_references(small):
    settings = silf.MODEL.resolve(small, 3, silf.Settings())
    largest = reference_errors(small, 3, 50).max()
    assert settings.epsilon == pytest.approx(1.2 * largest, rel=1e-6)
    assert silf.MODEL.resolve(small, 3, silf.Settings(epsilon=0.3)).epsilon == 0.3


@pytest.mark.parametrize("objective", ["kullback_leibler", "itakura_saito"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
def test_an_open_threshold_of_a_divergence_comes_from_its_own_minima(small, objective, kind):
    X = small.X.copy()
    X[0, :3] = 0.0
    data = Dataset.from_array(kind(X))
    ours = reference_values(data, 3, 4, silf.OBJECTIVES[objective])
    squared = [reference_start(data, 3, restart) for restart in range(4)]
    A, W = (np.stack(factors) for factors in zip(*squared, strict=True))
    start = silf.objective(make_problem(data, objective), A, W)
    assert (ours < 0.1 * start).all()
    dense = reference_values(Dataset.from_array(X), 3, 4, silf.OBJECTIVES[objective])
    np.testing.assert_allclose(ours, dense, rtol=1e-4)


def test_the_references_of_the_same_data_are_made_once(small, monkeypatch):
    known, made = {}, []
    monkeypatch.setattr(silf, "_known", known)

    def counted(dataset, rank, restarts, loss):
        made.append((rank, loss.key))
        return np.array([1.0, 2.0])

    monkeypatch.setattr(silf, "reference_values", counted)
    for data, rank in ((small, 3), (replace(small), 3), (small, 2), (small, 3)):
        assert silf.MODEL.resolve(data, rank, silf.Settings()).epsilon == pytest.approx(2.4)
    assert made == [(3, "frobenius"), (2, "frobenius")]
    silf.MODEL.resolve(small.columns(np.arange(5)), 3, silf.Settings())
    assert len(made) == 3
    monkeypatch.setattr(silf, "MOST_KNOWN", 2)
    silf.MODEL.resolve(small, 4, silf.Settings())
    assert len(known) == 1


def test_an_exact_factorization_leaves_a_threshold_above_rounding():
    X = np.outer(np.arange(1.0, 7), np.arange(1.0, 9))
    for objective, scale in (("frobenius", (X**2).sum()), ("kullback_leibler", X.sum())):
        settings = silf.MODEL.resolve(Dataset.from_array(X), 1, silf.Settings(objective))
        assert settings.epsilon == pytest.approx(1e-6 * scale, rel=0.3)


def test_what_meets_the_threshold_is_said(small, factors):
    values = silf.objective(make_problem(small, "frobenius"), *factors)
    between = make_problem(small, "frobenius", values.mean())
    met = silf.THRESHOLD.values(between, *factors) <= silf.THRESHOLD.epsilon(between.model_settings)
    np.testing.assert_array_equal(met, values == values.min())
    assert threshold_sentence(values, values.mean()).startswith("1 of 2 factorizations meet")
    sentence = threshold_sentence(np.array([3.14159, 9.0]), 2.0)
    assert sentence == (
        "None of the 2 factorizations meets the threshold ε = 2; the smallest ε that one of them "
        "meets is 3.142."
    )


@given(st.floats(1e-8, 1e12))
def test_the_smallest_threshold_that_is_shown_is_met(best):
    shown = threshold_sentence(np.array([best]), best / 2).split()[-1].rstrip(".")
    assert best * (1 - 1e-12) <= float(shown) <= best * 1.0011


# Runs


@pytest.mark.slow
@pytest.mark.parametrize("objective", silf.OBJECTIVES)
def test_hmc_and_explorers_run_with_every_objective(small, objective):
    settings = {"objective": objective}
    solved = engine.run(small, RunSpec("random_restarts", 3, "silf", 4, 1, model_settings=settings))
    np.testing.assert_allclose(solved.A.sum(axis=1), 1.0, rtol=1e-12)
    assert set(solved.info["model_settings"]) == {"objective", "epsilon", "beta", "C", "rate"}
    chains = {"chains": 2, "warm_up": 150, "leapfrog_steps": 20}
    drawn = engine.run(small, RunSpec("hmc", 3, "silf", 100, 1, chains, settings))
    np.testing.assert_allclose(drawn.A.sum(axis=1), 1.0, rtol=1e-12)
    assert (drawn.W >= 0).all() and np.isfinite(drawn.log_joint).all()
    assert 0.5 < drawn.diagnostics["acceptance"].mean() < 0.99
    problem = Problem(small, MODEL, silf.Settings(**drawn.info["model_settings"]), 3)
    np.testing.assert_allclose(drawn.log_joint, MODEL.log_joint(problem, drawn.A, drawn.W))
    epsilon = silf.THRESHOLD.epsilon(problem.model_settings)
    assert (silf.THRESHOLD.values(problem, solved.A, solved.W) <= epsilon).any()


def test_what_no_chain_can_start_from_is_refused(small):
    with pytest.raises(SettingsError, match="rate λ above 0"):
        engine.run(small, RunSpec("hmc", 2, "silf", model_settings={"rate": 0}))
    zeros = Dataset(np.zeros((3, 4)), "zeros", ("f",) * 3, ("o",) * 4)
    with pytest.raises(RunError, match="Every entry that the run sees is zero"):
        engine.run(zeros, RunSpec("hmc", 1, "silf", model_settings={"epsilon": 1.0}))
    with pytest.raises(SettingsError, match="'Objective f' was 'poisson'; choose one of frobenius"):
        engine.run(small, RunSpec("hmc", 1, "silf", model_settings={"objective": "poisson"}))


def test_inputs_are_left_alone(small, factors):
    before = [F.copy() for F in factors]
    for objective in silf.OBJECTIVES:
        MODEL.log_joint_and_score(make_problem(replace(small), objective), *factors)
    for F, kept in zip(factors, before, strict=True):
        np.testing.assert_array_equal(F, kept)
