"""Data with gaps: what was not seen does not count, in no solver, model or completion."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.decomposition import NMF

from bnmf_core.compare.quality import hidden_error_of_means, hidden_errors
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.repair import hide_entries
from bnmf_core.explorers.interior import Interior
from bnmf_core.likelihoods import MODELS, gaussian, itakura_saito, kullback_leibler, silf
from bnmf_core.likelihoods.reference import CONVERGED, OPTIMA, reference_factors, reference_values
from bnmf_core.numerics.completion import complete, mean_product
from bnmf_core.numerics.linalg import balanced_svd
from bnmf_core.solvers import SOLVERS, hals, solution
from bnmf_core.solvers.kernels import TILE, sweep_each
from bnmf_core.solvers.solution import Stopping, random_start
from tests.slopes import by_complex_step

OF_SQUARED_ERROR = [key for key, solver in SOLVERS.items() if solver.serves(SQUARED_ERROR)]


def make_problem(X, mask, rank) -> Problem:
    return Problem.without_model(Dataset.from_array(X, mask=mask), rank)


def random_starts(problem, count, seed=0):
    rng = np.random.default_rng(seed)
    pairs = [random_start(problem.dataset, problem.rank, rng) for _ in range(count)]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def seen_error(X, mask, A, W) -> float:
    return float(((X - A @ W)[mask] ** 2).sum())


@pytest.fixture(scope="module")
def gappy():
    """120×200, rank 4 plus noise, 30 % hidden; large enough for the approach on a compressed X."""
    rng = np.random.default_rng(11)
    X = rng.gamma(0.5, 1.0, (120, 4)) @ rng.gamma(0.5, 1.0, (4, 200)) + 0.3 * rng.random((120, 200))
    data = hide_entries(Dataset.from_array(X), 0.3, rng)
    problem = Problem.without_model(data, 4)
    assert problem.compression_rank == 14
    return problem


# Solvers

entries = st.floats(0, 10)


@st.composite
def factorizations(draw):
    D, N, R = draw(st.integers(2, 6)), draw(st.integers(2, 6)), draw(st.integers(1, 3))
    mask = draw(arrays(bool, (D, N)))
    mask[0, 0] = True
    X = draw(arrays(float, (D, N), elements=entries))
    X[0, 0] = max(X[0, 0], 1.0)
    return (
        X,
        mask,
        draw(arrays(float, (1, D, R), elements=entries)),
        draw(arrays(float, (1, R, N), elements=entries)),
    )


@pytest.mark.parametrize("solver", OF_SQUARED_ERROR)
@given(factorizations())
def test_the_error_of_the_seen_entries_never_rises(solver, factorization):
    X, mask, A, W = factorization
    problem = make_problem(X, mask, A.shape[2])
    slack = 1e-12 * ((X**2).sum() + ((A[0] @ W[0]) ** 2).sum())
    before = seen_error(X, mask, A[0], W[0])
    for _ in range(6):
        A, W = solution.solve_with(SOLVERS[solver], problem, A, W, Stopping(1, 0.0))
        assert np.isfinite(A).all() and np.isfinite(W).all()
        assert (A >= 0).all() and (W >= 0).all()
        after = seen_error(X, mask, A[0], W[0])
        assert after <= before + slack
        before = after


@pytest.mark.parametrize("solver", OF_SQUARED_ERROR)
def test_the_recorded_error_is_that_of_the_seen_entries(small, solver):
    mask = np.random.default_rng(0).random(small.X.shape) > 0.3
    problem = make_problem(small.X, mask, 3)
    state = SOLVERS[solver].start(problem, *random_starts(problem, 4))
    while state.active.any():
        state = SOLVERS[solver].advance(problem, state, Stopping(25, 0.0))
    expected = [seen_error(small.X, mask, *pair) for pair in zip(*state.particles, strict=True)]
    np.testing.assert_allclose(state.squared_error, expected, rtol=1e-9)


@pytest.mark.parametrize("part", [2, 20, 2**18])
def test_the_lines_may_be_cut_anywhere(small, monkeypatch, part):
    mask = np.random.default_rng(0).random(small.X.shape) > 0.3
    problem = make_problem(small.X, mask, 3)
    A, W = random_starts(problem, 3)
    usual = hals.solve(problem, A, W, 20, 0.0)
    monkeypatch.setattr(solution, "GRAM_ENTRIES", part)
    for ours, theirs in zip(hals.solve(problem, A, W, 20, 0.0), usual, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_gram_matrices_are_sums_over_what_was_seen():
    rng = np.random.default_rng(0)
    F, seen = rng.random((3, 7)), (rng.random((7, 5)) < 0.6).astype(float)
    F[1, seen[:, 2] > 0] = 0.0  # the third column sees nothing of this component
    ((columns, G),) = solution.seen_grams(F, seen)
    assert columns == slice(0, 5)
    for n in range(5):
        expected = sum(seen[k, n] * np.outer(F[:, k], F[:, k]) for k in range(7))
        np.testing.assert_allclose(G[:, :, n], expected, rtol=1e-14)
    assert (G[1, :, 2] == 0).all() and (G[:, 1, 2] == 0).all()


@pytest.mark.parametrize("n", [1, TILE, TILE + 3])
@pytest.mark.parametrize("R", [1, 4, 9])
def test_sweep_each_is_coordinate_descent(n, R):
    rng = np.random.default_rng(n)
    F, C = rng.random((2, R, n)), rng.standard_normal((2, R, n))
    other = rng.random((2, n, R, 5 + R))
    G = np.einsum("pnrk,pnsk->prsn", other, other)
    expected = F.copy()
    for _ in range(2):
        for r in range(R):
            rest = (G[:, r] * expected).sum(axis=1) - G[:, r, r] * expected[:, r]
            expected[:, r] = np.maximum(0.0, (C[:, r] - rest) / G[:, r, r])
    sweep_each(F, C, G, 2)
    np.testing.assert_allclose(F, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", OF_SQUARED_ERROR)
def test_an_exact_product_is_told_where_nothing_was_seen(solver):
    rng = np.random.default_rng(5)
    X = rng.gamma(0.5, 1.0, (40, 3)) @ rng.gamma(0.5, 1.0, (3, 50))
    data = hide_entries(Dataset.from_array(X), 0.3, rng)
    problem = Problem.without_model(data, 3)
    A, W = random_starts(problem, 6)
    A, W = solution.solve_with(SOLVERS[solver], problem, A, W, Stopping(1000, 0.0))
    best = hidden_errors(data, A, W).min()
    assert best < 0.01 * hidden_error_of_means(data)


@pytest.mark.slow
def test_the_approach_ends_as_low_as_full_iterations_do(gappy):
    data = gappy.dataset
    A, W = random_starts(gappy, 6)
    quick = hals.solve(gappy, A, W, 2000, 1e-7)
    plain = solution.start_full(gappy, A, W)
    while plain.active.any():
        plain = hals.advance(gappy, plain, Stopping(5000, 1e-7))
    ours, theirs = (
        [seen_error(data.X, data.mask, *pair) for pair in zip(*pairs, strict=True)]
        for pairs in (quick, plain.particles)
    )
    assert min(ours) <= 1.001 * min(theirs)
    assert np.median(ours) <= 1.01 * np.median(theirs)


def test_it_ends_where_no_entry_can_be_improved(gappy):
    X, mask = gappy.dataset.X, gappy.dataset.mask
    A, W = random_starts(gappy, 2)
    A, W = hals.solve(gappy, A, W, 20_000, 1e-13)
    for m in range(2):
        residual = (A[m] @ W[m] - X) * mask
        for factor, gradient, size in (
            (A[m], residual @ W[m].T, np.abs(X @ W[m].T).max()),
            (W[m], A[m].T @ residual, np.abs(A[m].T @ X).max()),
        ):
            assert gradient.min() >= -1e-5 * size
            assert np.abs(factor * gradient).max() <= 1e-5 * size * factor.max()


def test_good_enough_counts_the_seen_entries(gappy):
    A, W = random_starts(gappy, 4)
    A, W = solution.solve_with(hals.SOLVER, gappy, A, W, Stopping(2000, 1e-9, good_enough=0.25))
    norm = np.linalg.norm(gappy.dataset.X)
    for pair in zip(A, W, strict=True):
        error = np.sqrt(seen_error(gappy.dataset.X, gappy.dataset.mask, *pair)) / norm
        assert error <= 0.25


def test_a_random_start_has_the_mean_of_what_was_seen():
    rng = np.random.default_rng(0)
    mask = rng.random((200, 300)) > 0.5
    data = Dataset.from_array(np.full((200, 300), 3.0), mask=mask)
    assert data.mean == 3.0 and data.observed == mask.sum()
    A, W = random_start(data, 4, rng)
    assert (A @ W).mean() == pytest.approx(2 / np.pi * 3.0, rel=0.1)


# Completion


def test_an_exact_product_is_completed():
    rng = np.random.default_rng(2)
    X = rng.gamma(1.0, 1.0, (30, 2)) @ rng.gamma(1.0, 1.0, (2, 45))
    mask = rng.random(X.shape) > 0.2
    seen = np.where(mask, X, 0.0)
    for matrix, where in ((seen, mask), (seen.T, mask.T)):
        completed = complete(matrix, where, 2)
        np.testing.assert_array_equal(completed[where], matrix[where])
        truth = X if matrix is seen else X.T
        assert np.linalg.norm(completed - truth) < 0.02 * np.linalg.norm(truth)
    start = np.where(mask, X, mean_product(seen, mask))
    assert np.linalg.norm(start - X) > 0.1 * np.linalg.norm(X)


@pytest.mark.slow
def test_the_completion_comes_ever_closer_to_its_rank(gappy, monkeypatch):
    data, distances = gappy.dataset, []
    for most in range(1, 12):
        monkeypatch.setattr("bnmf_core.numerics.completion.MOST_ITERATIONS", most)
        singular = np.linalg.svd(complete(data.X, data.mask, 4), compute_uv=False)
        distances.append((singular[4:] ** 2).sum())
    assert (np.diff(distances) <= 1e-9 * distances[0]).all()
    assert distances[-1] < 0.9 * distances[0]


def test_a_line_without_a_seen_entry_is_completed_too():
    X, mask = np.full((6, 7), 2.0), np.ones((6, 7), dtype=bool)
    mask[3], mask[:, 2] = False, False
    np.testing.assert_allclose(complete(np.where(mask, X, 0), mask, 1), X, rtol=1e-6)


def test_singular_vectors_and_compression_are_those_of_the_completion(gappy):
    expected = balanced_svd(gappy.completed, 3)
    for ours, theirs in zip(gappy.svd(3), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * abs(theirs).max())
    packed = gappy.compression
    lost = np.linalg.norm(gappy.completed - packed.U.astype(float) @ packed.V.T.astype(float))
    singular = np.linalg.svd(gappy.completed, compute_uv=False)
    assert lost <= 1.02 * np.sqrt((singular[14:] ** 2).sum())
    whole = Problem.without_model(Dataset.from_array(np.ones((3, 4))), 1)
    assert whole.completed is whole.dataset.X and whole.seen is None


# Models


@pytest.fixture
def masked(small) -> Dataset:
    return Dataset.from_array(small.X, mask=np.random.default_rng(7).random(small.X.shape) > 0.3)


@pytest.fixture
def factors(small):
    rng = np.random.default_rng(1)
    A = rng.dirichlet(np.ones(small.D), size=(2, 3)).transpose(0, 2, 1)
    return A, 3 * rng.exponential(size=(2, 3, small.N))


def defined(X, mask, A, W, objective):
    """f by its definition over the seen entries, for complex A and W too."""
    x, y = X[mask], (A @ W)[mask]
    if objective == "frobenius":
        return ((x - y) ** 2).sum()
    floor = 1e-6 * x.mean()
    ratio = (x + floor) / (y + floor)
    if objective == "kullback_leibler":
        return np.where(x > 0, (x + floor) * np.log(ratio) - x + y, y).sum()
    return (ratio - np.log(ratio) - 1).sum()


@pytest.mark.parametrize(
    ("model", "objective"),
    [("gaussian", None), ("gaussian_simplex", None), *(("silf", f) for f in silf.OBJECTIVES)],
)
def test_the_score_is_the_gradient_over_the_seen_entries(masked, factors, model, objective):
    """Against the complex step: Im f(x + ih)/h."""
    chosen = {"epsilon": 1e-3, "C": 1.7} if objective else {"sigma": 0.7}
    if objective:
        chosen["objective"] = objective
    settings = MODELS[model].Settings(rate=1.3, **chosen)
    problem = Problem(masked, MODELS[model], settings, 3)
    slope_of_f = -1.7 if objective else -1 / (2 * 0.7**2)
    values, *both = MODELS[model].log_joint_and_score(problem, *factors)
    np.testing.assert_allclose(values, MODELS[model].log_joint(problem, *factors), rtol=1e-9)
    f = partial(defined, masked.X, masked.mask, objective=objective or "frobenius")
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        rates = (1.3 if model == "gaussian" else 0.0, 1.3)
        slopes = by_complex_step(partial(f, W=W), A), by_complex_step(partial(f, A), W)
        for score, slope, rate in zip(both, slopes, rates, strict=True):
            assert score[m] == pytest.approx(slope_of_f * slope - rate, rel=1e-9, abs=1e-7)


def test_the_log_joint_counts_the_seen_entries_only(masked, factors):
    problem = Problem(masked, gaussian.MODEL, gaussian.Settings(sigma=0.7, rate=1.3), 3)
    for m, (A, W) in enumerate(zip(*factors, strict=True)):
        expected = stats.norm.logpdf(masked.X, A @ W, 0.7)[masked.mask].sum()
        expected += sum(stats.expon.logpdf(F, scale=1 / 1.3).sum() for F in (A, W))
        ours = gaussian.MODEL.log_joint(problem, *factors)[m]
        assert ours == pytest.approx(expected, rel=1e-11)


def test_the_derivative_along_a_direction_is_that_of_the_gradients(masked, factors):
    problem = Problem(masked, gaussian.MODEL, gaussian.Settings(sigma=0.7, rate=1.3), 3)
    rng = np.random.default_rng(3)
    A, W = factors
    moved_A, moved_W, h = rng.standard_normal(A.shape), rng.standard_normal(W.shape), 1e-5
    model = gaussian.MODEL
    ends = [model.score(problem, A + s * moved_A, W + s * moved_W) for s in (h, -h)]
    for ours, forward, backward in zip(
        model.score_along(problem, A, W, moved_A, moved_W), *ends, strict=True
    ):
        difference = (forward - backward) / (2 * h)
        np.testing.assert_allclose(ours, difference, rtol=1e-6, atol=1e-6 * np.abs(ours).max())


def test_steins_identity_holds_with_gaps():
    """E[score] = 0 in log coordinates, θ from the prior and X from the likelihood.

    The score of one who takes unseen entries for zeros does not vanish.
    """
    D, N, R, draws = 3, 4, 2, 3000
    mask = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]], dtype=bool)
    rng = np.random.default_rng(6)
    scores = {"gaps": [], "zeros": []}
    settings = gaussian.Settings(sigma=1.0, rate=1.0)
    names = ("f",) * D, ("o",) * N
    for _ in range(draws):
        A, W = rng.exponential(size=(1, D, R)), rng.exponential(size=(1, R, N))
        X = ((A @ W)[0] + rng.standard_normal((D, N))) * mask
        for kind, known in (("gaps", mask), ("zeros", None)):
            problem = Problem(Dataset(X, "X", *names, mask=known), gaussian.MODEL, settings, R)
            chart = Interior.of(problem)
            scores[kind].append(chart.score(problem, chart.to_position(A, W))[0].ravel())
    z = {
        kind: np.abs(np.mean(found, axis=0) / (np.std(found, axis=0) / np.sqrt(draws))).max()
        for kind, found in scores.items()
    }
    limit = stats.norm.isf(1e-4 / (2 * R * (D + N)))
    assert z["gaps"] < limit < z["zeros"]


def test_the_noise_level_comes_from_the_seen_entries(masked):
    sigma = gaussian.MODEL.resolve(masked, 3, gaussian.Settings()).sigma
    A, W = reference_factors(masked, 3, OPTIMA, stopping=CONVERGED)
    squared = ((masked.X - A @ W)[:, masked.mask] ** 2).sum(axis=1)
    best = squared.argmin()
    free = (A[best] > 1e-9 * A[best].max()).sum() + (W[best] > 1e-9 * W[best].max()).sum() - 3
    assert sigma**2 == pytest.approx(squared[best] / (masked.mask.sum() - free), rel=1e-9)


@pytest.mark.parametrize("loss", [kullback_leibler.LOSS, itakura_saito.LOSS], ids=lambda f: f.key)
def test_references_of_a_divergence_are_as_low_as_scikit_learns(small, loss):
    X = small.X + loss.floor(small)
    ours = reference_values(small, 3, 5, loss)
    settings = {"solver": "mu", "beta_loss": loss.key.replace("_", "-"), "random_state": 0}
    theirs = NMF(3, init="random", max_iter=200, tol=1e-4, **settings).fit(X.T)
    assert ours.min() <= 1.01 * theirs.reconstruction_err_**2 / 2.0


@pytest.mark.slow
def test_an_open_threshold_comes_from_the_seen_entries(masked):
    epsilon = silf.MODEL.resolve(masked, 3, silf.Settings()).epsilon
    values = reference_values(masked, 3, 50, SQUARED_ERROR)
    assert epsilon == pytest.approx(1.2 * values.max(), rel=1e-12)
    seen = masked.X[masked.mask]
    for loss, size in zip(
        silf.OBJECTIVES.values(), ((seen**2).sum(), seen.sum(), seen.size), strict=True
    ):
        assert loss.size(masked) == pytest.approx(size, rel=1e-13)
