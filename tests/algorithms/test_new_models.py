"""A model of one file, registered by one line, works with every algorithm that can."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.model import EntryPrior
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import low_rank
from bnmf_core.explorers.interior import Interior
from bnmf_core.likelihoods import MODELS, gaussian
from bnmf_core.posterior import places, stein
from bnmf_core.runs import engine, planning
from bnmf_core.samplers import gibbs, hamiltonian
from bnmf_core.samplers.coordinates import EntryCoordinates, coordinates
from tests.suited import BRIEF

from .kernels import flat_density, many_problems
from .toys import BOX, HALF_NORMAL

TOYS = {toy.key: toy for toy in (BOX, HALF_NORMAL)}
# The weights of a box cannot take up the scale of a solved NMF, nor does a Gaussian fit in it.
WORKING = {
    "box": {"gibbs", "hmc", "tempered_smc", "mode_jumps", "svgd", "q_svgd", "dsgd", "panpal"}
    | {"metropolis", "langevin"},
    # Those that draw entries between 0 and 1 have none to draw here.
    "half_normal": {
        key for key, one in registry.ALGORITHMS.items() if one.works_with(MODELS["gaussian"])
    },
}
# Few steps from the start.
BRIEFER = BRIEF | {key: {"iterations": 20} for key in ("svgd", "q_svgd", "dsgd", "nvi")}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for toy in TOYS.values():
        monkeypatch.setitem(MODELS, toy.key, toy)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return low_rank(12, 15, 3, noise=0.1)


@pytest.mark.parametrize("model", TOYS)
def test_what_works_with_it_follows_from_what_it_can_do(model):
    working = {
        key for key, one in registry.ALGORITHMS.items() if one.works_with(registry.model(model))
    }
    assert working == WORKING[model]


@pytest.mark.parametrize("algorithm", registry.algorithms())
@pytest.mark.parametrize("model", TOYS)
def test_every_algorithm_that_can_runs_with_it(model, algorithm, data):
    spec = RunSpec(algorithm, 3, model, 4, 1, BRIEFER.get(algorithm, {}))
    if algorithm not in WORKING[model]:
        with pytest.raises(SettingsError, match=f"“{TOYS[model].label}”"):
            planning.check(data, spec)
        return
    found = engine.run(data, spec)
    assert found.M == 4 and np.isfinite(found.log_joint).all()
    assert (found.A >= 0).all() and (found.W >= 0).all()
    if model == "box":
        assert (found.A <= 1).all() and (found.W <= 1).all()
    K = stein.kernel_matrix(found, data, "interior", 1.0, 1.0)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.trace(K)


# Conditional draws


class Uniforms:
    """Stands in for a generator: u = 1 − random is the same everywhere."""

    def __init__(self, u):
        self.u = u

    def random(self, shape):
        return np.full(shape, 1.0 - self.u)


@pytest.mark.slow
@pytest.mark.parametrize("model", TOYS)
@pytest.mark.parametrize("value", [-2.0, 0.1, 0.9, 3.0])
@pytest.mark.parametrize("sigma", [0.05, 0.4, 30.0])
def test_conditional_draws_are_those_of_the_log_joint(model, value, sigma):
    """Beyond a draw lies the part u of the density along its entry, below it where mirrored."""
    dataset = Dataset(np.full((1, 1), value), "matrix", ("feature",), ("observation",))
    toy = TOYS[model]
    problem = Problem(dataset, toy, toy.Settings(sigma=sigma), 1)
    law, other = toy.conditionals(problem.model_settings), 0.8
    top = 1.0 if model == "box" else 6.0
    t = np.linspace(0, 1, 50_001)
    x = top * t**3 * (10 - 15 * t + 6 * t**2)  # finest at both ends
    W = np.full((x.size, 1, 1), other)
    density = toy.log_joint(problem, x[:, None, None], W)
    density = np.exp(density - density.max())
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) * np.diff(x))])
    below /= below[-1]
    for u in (0.02, 0.3, 0.5, 0.97):
        C, G = np.full((1, 1, 1), value * other), np.full((1, 1, 1), other**2)
        F = np.ones((1, 1, 1))
        drawn = gibbs.draw(F, C, G, law.noise_variance, law.A, Uniforms(u))
        seen = gibbs.draw_seen(F, C, W[:1], np.ones((1, 1)), law.noise_variance, law.A, Uniforms(u))
        np.testing.assert_allclose(seen, drawn, rtol=1e-12)
        part = np.interp(drawn[0, 0, 0], x, below)
        assert min(abs(part - u), abs(1 - part - u)) < 1e-6


@pytest.mark.parametrize(
    ("mean", "sd"), [(-300.0, 1.0), (-3.0, 0.1), (0.2, 0.05), (0.8, 2.0), (40.0, 1.0), (0.5, 1e6)]
)
def test_draws_from_an_interval_have_the_right_distribution(mean, sd):
    n, rng = 20_000, np.random.default_rng(0)
    C, G = np.full((1, 1, n), mean), np.ones((1, 1, 1))
    drawn = gibbs.draw(np.ones((1, 1, n)), C, G, sd**2, EntryPrior(largest=1.0), rng)[0, 0]
    law = stats.truncnorm(-mean / sd, (1 - mean) / sd, mean, sd)
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-4


def test_a_component_that_is_not_used_is_drawn_from_the_prior_on_the_interval():
    n, rng = 20_000, np.random.default_rng(0)
    for rate, law in ((0.0, stats.uniform()), (3.0, stats.truncexpon(3.0, scale=1 / 3.0))):
        C, G = np.zeros((1, 1, n)), np.zeros((1, 1, 1))
        prior = EntryPrior(rate=rate, largest=1.0)
        drawn = gibbs.draw(np.ones((1, 1, n)), C, G, 1.0, prior, rng)[0, 0]
        assert stats.kstest(drawn, law.cdf).pvalue > 1e-4


# Coordinates

MIXES = [(True, True), (True, False), (False, True)]


@pytest.mark.parametrize("mix", MIXES)
def test_bounded_coordinates_lead_there_and_back(mix):
    rng = np.random.default_rng(2)
    chart = EntryCoordinates(5, *mix)
    A, W = rng.random((3, 5, 2)), rng.random((3, 2, 4))
    back = chart.to_factors(chart.to_position(A, W))
    np.testing.assert_allclose(back[0], A, rtol=1e-13)
    np.testing.assert_allclose(back[1], W, rtol=1e-13)
    q = rng.standard_normal((3, 2, 9))
    np.testing.assert_allclose(chart.to_position(*chart.to_factors(q)), q, rtol=1e-12, atol=1e-14)
    A[0, :2], W[0, :2] = 0.0, 1.0  # the corners have no position; what is lifted has one
    assert np.isfinite(chart.to_position(*chart.lift(A, W))).all()


@pytest.mark.parametrize("mix", MIXES)
def test_the_jacobian_of_bounded_coordinates_is_the_determinant(mix):
    chart, rng = EntryCoordinates(4, *mix), np.random.default_rng(3)
    q = rng.standard_normal((1, 1, 7))

    def entries(q):
        A, W = chart.to_factors(q)
        return np.concatenate([A.ravel(), W.ravel()])

    h, J = 1e-6, np.empty((7, 7))
    for k in range(7):
        ahead, behind = q.copy(), q.copy()
        ahead[0, 0, k] += h
        behind[0, 0, k] -= h
        J[:, k] = (entries(ahead) - entries(behind)) / (2 * h)
    value, gradient = flat_density(chart)(q)
    assert value[0] == pytest.approx(np.linalg.slogdet(J)[1], rel=1e-7)
    assert_slopes(flat_density(chart), q, gradient)


def assert_slopes(density, q, gradient, h=1e-6):
    for place in np.ndindex(q.shape):
        ahead, behind = q.copy(), q.copy()
        ahead[place] += h
        behind[place] -= h
        slope = (density(ahead)[0] - density(behind)[0])[place[0]] / (2 * h)
        assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_the_density_in_the_box_and_its_gradient_fit_together():
    rng = np.random.default_rng(4)
    dataset = Dataset.from_array(rng.random((5, 2)) @ rng.random((2, 4)))
    problem = Problem(dataset, BOX, BOX.Settings(), 2)
    chart = coordinates(problem)
    assert chart == EntryCoordinates(5, True, True)
    density, q = chart.density(problem), rng.standard_normal((2, 2, 9))
    values, gradient = density(q)
    assert_slopes(density, q, gradient)
    jacobian = flat_density(chart)(q)[0]
    np.testing.assert_allclose(values - jacobian, BOX.log_joint(problem, *chart.to_factors(q)))
    # The explorers' coordinates and those of the discrepancy are the same, in other orders.
    interior = Interior.of(problem)
    np.testing.assert_allclose(interior.score(problem, q), gradient, rtol=1e-12)
    v, h = rng.standard_normal(q.shape), 1e-6
    along = (interior.score(problem, q + h * v) - interior.score(problem, q - h * v)) / (2 * h)
    np.testing.assert_allclose(interior.score_along(problem, q, v), along, rtol=1e-5, atol=1e-5)


def test_the_scores_of_the_discrepancy_are_those_of_the_explorers(data):
    found = engine.run(data, RunSpec("gibbs", 3, "box", 5, 1, {"warm_up": 5}))
    rng = np.random.default_rng(5)
    A, W = (rng.uniform(0.2, 0.8, F.shape) for F in (found.A, found.W))
    found = replace(found, A=A, W=W)
    problem = places.problem_of(found, data)
    of_A, of_W = places.blocks(problem, found, "interior")
    interior = Interior.of(problem)
    q = interior.to_position(A, W)
    by_A, by_W = interior.split(interior.score(problem, q))
    np.testing.assert_allclose(of_A.score.reshape(A.shape), by_A.transpose(0, 2, 1), rtol=1e-9)
    np.testing.assert_allclose(of_W.score.reshape(W.shape), by_W, rtol=1e-9)
    np.testing.assert_allclose(of_W.position.reshape(W.shape), q[:, :, data.D :], rtol=1e-12)
    assert (of_A.dimension, of_W.dimension) == (A[0].size, W[0].size)


# Invariance: θ from the prior and X given θ; whatever moves θ given X leaves it as the prior says.

CHAINS, ROWS, COLUMNS, RANK, SIGMA = 4000, 3, 2, 2, 0.4


def joint(rng):
    A, W = rng.random((CHAINS, ROWS, RANK)), rng.random((CHAINS, RANK, COLUMNS))
    return A, W, A @ W + SIGMA * rng.standard_normal((CHAINS, ROWS, COLUMNS))


def problems(X, sigma=SIGMA):
    problem = many_problems(X, RANK, gaussian.MODEL)
    problem.model, problem.model_settings = BOX, BOX.Settings(sigma=sigma)
    return problem


def by_gibbs(A, W, X, rng, sigma=SIGMA):
    A = np.ascontiguousarray(A.transpose(0, 2, 1))
    for _ in range(4):
        A, W = gibbs.sweep(problems(X, sigma), A, W, rng)
    return A.transpose(0, 2, 1), W


def by_hmc(A, W, X, rng, jacobian=True):
    chart = EntryCoordinates(ROWS, True, True)
    whole, bare = chart.density(problems(X)), flat_density(chart)

    def without(q):
        return tuple(one - other for one, other in zip(whole(q), bare(q), strict=True))

    density = whole if jacobian else without
    q = chart.to_position(A, W)
    point = hamiltonian.Point(q, *density(q))
    for _ in range(6):
        steps = np.full(CHAINS, 0.3)
        point = hamiltonian.transition(density, point, steps, rng, count=6).point
    return chart.to_factors(point.q)


def p_value(move) -> float:
    """The least of those of all entries and of the residuals' squares, times their number."""
    rng = np.random.default_rng(11)
    A, W, X = joint(rng)
    A, W = move(A, W, X, rng)
    entries = np.concatenate([A.reshape(CHAINS, -1), W.reshape(CHAINS, -1)], axis=1).T
    values = [stats.kstest(entry, "uniform").pvalue for entry in entries]
    residual = ((X - A @ W) ** 2).sum(axis=(1, 2)) / SIGMA**2
    values.append(stats.kstest(residual, stats.chi2(ROWS * COLUMNS).cdf).pvalue)
    return min(values) * len(values)


@pytest.mark.parametrize("move", [by_gibbs, by_hmc])
def test_a_sampler_leaves_the_posterior_in_the_box_invariant(move):
    assert p_value(move) > 1e-3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda *given: by_gibbs(*given, sigma=1.3 * SIGMA),
        lambda *given: by_hmc(*given, jacobian=False),
    ],
    ids=["another noise", "no Jacobian"],
)
def test_a_planted_mistake_is_noticed(wrong):
    assert p_value(wrong) < 1e-6
