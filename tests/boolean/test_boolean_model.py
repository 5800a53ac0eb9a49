"""The model of yes and no: density, slopes, priors, gaps, and what it refuses."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from bnmf_core import Dataset, RunSpec, boolean_tiles
from bnmf_core.boolean import model as boolean
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.data.synthetic import low_rank
from bnmf_core.evidence.paths import why_not
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.runs import planning
from bnmf_core.samplers.coordinates import coordinates
from tests.slopes import by_complex_step

PRIORS = tuple(boolean.PRIORS)
LOG_DENSITY = {  # as complex functions, so that a complex step tells their slope
    "flat": lambda x: 0 * x,
    "normal": lambda x: -(x**2) / 2,
    "laplace": lambda x: -x / 2,
    "beta": lambda x: -0.5 * np.log(x) - 0.5 * np.log(1 - x),
}


def table(D=5, N=4, seed=0, gaps=True) -> Dataset:
    rng = np.random.default_rng(seed)
    X = (rng.random((D, N)) < 0.5).astype(float)
    if gaps:
        X[1, 2] = X[3, 0] = np.nan
    return Dataset.from_array(X)


def problem_of(prior, sigma, gaps=True, rank=2) -> Problem:
    return Problem(table(gaps=gaps), boolean.MODEL, boolean.Settings(prior, sigma), rank)


def plain_log_joint(problem, A, W):
    """Of one factorization, up to a constant, also where it is complex."""
    settings, data = problem.model_settings, problem.dataset
    seen = np.ones((data.D, data.N)) if data.mask is None else data.mask
    squared = (seen * (data.X - A @ W) ** 2).sum()
    if settings.sigma is None:
        a, b = boolean.NOISE.shape, boolean.NOISE.scale
        fit = -(a + seen.sum() / 2) * np.log(b + squared / 2)
    else:
        fit = -squared / (2 * settings.sigma**2)
    return fit + LOG_DENSITY[settings.prior](A).sum() + LOG_DENSITY[settings.prior](W).sum()


def inside(problem, seed=1):
    rng, data = np.random.default_rng(seed), problem.dataset
    return rng.random((data.D, problem.rank)), rng.random((problem.rank, data.N))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("prior", PRIORS)
def test_slopes_are_those_of_a_complex_step(prior, sigma, gaps):
    problem = problem_of(prior, sigma, gaps)
    A, W = inside(problem)
    by_A, by_W = boolean.MODEL.score(problem, A[None], W[None])
    expected_A = by_complex_step(lambda F: plain_log_joint(problem, F, W), A)
    expected_W = by_complex_step(lambda F: plain_log_joint(problem, A, F), W)
    np.testing.assert_allclose(by_A[0], expected_A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_W[0], expected_W, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("prior", PRIORS)
def test_the_score_along_a_direction_is_its_derivative(prior, sigma):
    problem, h = problem_of(prior, sigma), 1e-6
    A, W = inside(problem)
    moved_A, moved_W = inside(problem, 2)
    along = boolean.MODEL.score_along(problem, A[None], W[None], moved_A[None], moved_W[None])
    above = boolean.MODEL.score(problem, A[None] + h * moved_A, W[None] + h * moved_W)
    below = boolean.MODEL.score(problem, A[None] - h * moved_A, W[None] - h * moved_W)
    for found, up, down in zip(along, above, below, strict=True):
        np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sigma", [0.3, None])
@pytest.mark.parametrize("prior", PRIORS)
def test_differences_of_the_log_joint_are_those_of_its_definition(prior, sigma):
    problem = problem_of(prior, sigma)
    (A, W), (B, V) = inside(problem), inside(problem, 3)
    found = boolean.MODEL.log_joint(problem, np.stack([A, B]), np.stack([W, V]))
    expected = plain_log_joint(problem, A, W) - plain_log_joint(problem, B, V)
    assert found[0] - found[1] == pytest.approx(expected, rel=1e-12)
    also = boolean.MODEL.log_joint_and_score(problem, np.stack([A, B]), np.stack([W, V]))[0]
    np.testing.assert_allclose(also, found, rtol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_prior_has_total_one_and_its_draws_are_its_own(prior):
    log_total = boolean.LOG_TOTALS[prior]

    def cumulative(x):
        return np.array(
            [
                integrate.quad(lambda y: np.exp(LOG_DENSITY[prior](y) - log_total), 0, one)[0]
                for one in np.atleast_1d(x)
            ]
        )

    assert cumulative(1.0)[0] == pytest.approx(1.0, abs=1e-8)
    problem = problem_of(prior, None)
    rng = np.random.default_rng(4)
    drawn = np.concatenate([F.ravel() for _ in range(40) for F in boolean.prior(problem, rng)])
    assert drawn.min() >= 0 and drawn.max() <= 1
    grid = np.linspace(0, 1, 401)
    cdf = cumulative(grid[1:-1])
    nearest = stats.kstest(drawn, lambda x: np.interp(x, grid, [0, *cdf, 1])).pvalue
    assert nearest > 1e-3


def test_an_open_noise_level_is_integrated_out():
    """∫ p(X | A, W, σ²) p(σ²) dσ², by quadrature over log σ²."""
    problem = problem_of("flat", None)
    A, W = inside(problem)
    data, (a, b) = problem.dataset, (boolean.NOISE.shape, boolean.NOISE.scale)
    residual = (data.X - A @ W)[data.mask]

    def density(t):
        prior = a * np.log(b) - special.gammaln(a) - a * t - b * np.exp(-t)
        return np.exp(stats.norm.logpdf(residual, scale=np.exp(t / 2)).sum() + prior)

    expected = np.log(integrate.quad(density, -12, 8, limit=200)[0])
    assert boolean.MODEL.log_joint(problem, A[None], W[None])[0] == pytest.approx(
        expected, rel=1e-8
    )


def test_at_the_optimum_every_flipped_cell_costs_half_a_nat():
    """Of tiles that do not overlap and noise of size one."""
    data = boolean_tiles(80, 90, 4, ones=0, rng=np.random.default_rng(5))
    known = data.truth[0]
    flipped = (data.X != boolean_product(known.A, known.W)).sum()
    assert (known.A @ known.W).max() == 1.0 and flipped > 0
    problem = Problem(data, boolean.MODEL, boolean.Settings("flat", 1.0), 4)
    assert boolean.MODEL.log_likelihood(problem, known.A[None], known.W[None])[0] == -0.5 * flipped


def test_what_lies_under_a_gap_does_not_count():
    X = table().X.copy()
    mask = table().mask
    other = Dataset.from_array(np.where(mask, X, 1.0), mask=mask)
    A, W = inside(problem_of("flat", None))
    values = [
        boolean.MODEL.log_joint(
            Problem(data, boolean.MODEL, boolean.Settings("flat", None), 2), A[None], W[None]
        )
        for data in (table(), other)
    ]
    assert values[0] == values[1]


@pytest.mark.parametrize("prior", PRIORS)
def test_entries_of_0_and_1_have_a_finite_density(prior):
    problem = problem_of(prior, None)
    A, W = (np.round(F) for F in inside(problem))
    values, by_A, by_W = boolean.MODEL.log_joint_and_score(problem, A[None], W[None])
    assert np.isfinite(values).all() and np.isfinite(by_A).all() and np.isfinite(by_W).all()


def test_scaling_balances_both_sides_and_stays_inside():
    rng = np.random.default_rng(6)
    A, W = 0.5 * rng.random((1, 6, 3)), rng.random((1, 3, 5))
    A[0, :, 2] = 0
    B, V = boolean.scale(A, W)
    np.testing.assert_allclose(B @ V, A @ W, atol=1e-14)
    np.testing.assert_allclose(B.max(axis=1)[0, :2], V.max(axis=2)[0, :2])
    B, V = boolean.scale(9 * A, 9 * W)
    assert B.max() <= 1 and V.max() <= 1


def test_data_that_are_no_yes_and_no_are_refused_with_the_entry():
    data = low_rank(6, 7, 2)
    with pytest.raises(DataError, match=r"holds .*; a Boolean model takes entries of 0 and"):
        planning.check(data, RunSpec("box_gibbs", 2, "boolean"))
    with pytest.raises(DataError, match="0 and 1 only"):
        Problem.prepare(data, boolean.MODEL, boolean.Settings(), 2)


@pytest.mark.parametrize("algorithm", ["gibbs", "mode_jumps", "tempered_smc"])
@pytest.mark.parametrize(
    ("chosen", "needed"),
    [({}, "a noise level σ"), ({"sigma": 0.3, "prior": "beta"}, "another prior than Beta")],
)
def test_samplers_that_live_on_cut_normals_say_which_settings_give_them(algorithm, chosen, needed):
    spec = RunSpec(algorithm, 2, "boolean", model_settings=chosen)
    with pytest.raises(SettingsError, match=needed):
        planning.check(table(gaps=False), spec)
    allowed = RunSpec(algorithm, 2, "boolean", model_settings={"sigma": 0.3})
    planning.check(table(gaps=False), allowed)


@pytest.mark.parametrize("chosen", [{}, {"sigma": 0.3}, {"sigma": 0.3, "prior": "beta"}])
def test_modes_can_be_weighed_under_every_setting(chosen):
    assert why_not(boolean.MODEL, boolean.Settings(**chosen)) == ""


@pytest.mark.parametrize("prior", ["flat", "normal", "laplace"])
def test_logits_keep_their_digits_near_both_ends(prior):
    problem = problem_of(prior, None)
    chart = coordinates(problem)
    q = np.random.default_rng(0).normal(0.0, 4.0, (3, 2, 9))
    q[0, 0, :3] = 30.0, -300.0, 0.0
    value, gradient = chart.density(problem)(q)
    A, W = chart.to_factors(q)
    x = np.concatenate([A.transpose(0, 2, 1), W], axis=2)
    np.testing.assert_allclose(x, special.expit(q), rtol=1e-14)
    log_joint, by_A, by_W = boolean.MODEL.log_joint_and_score(problem, A, W)
    away = np.abs(q)
    steep = -away - 2.0 * np.log1p(np.exp(-away))
    np.testing.assert_allclose(value, log_joint + steep.sum(axis=(1, 2)), rtol=1e-13)
    slopes = np.concatenate([by_A.transpose(0, 2, 1), by_W], axis=2)
    expected = slopes * np.exp(steep) + 1.0 - 2.0 * x
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-12)
