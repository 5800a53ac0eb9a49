"""SVGD, Q-SVGD and DSGD: directions by definition, what they lead to, the runs around them."""

from dataclasses import replace

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, RunError, SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.explorers import dsgd, q_svgd, stein_descent, stein_direction, svgd
from bnmf_core.explorers.interior import Interior
from bnmf_core.likelihoods import silf
from bnmf_core.posterior import places, stein
from bnmf_core.runs import engine
from bnmf_core.solvers import solution

from .kernels import make_problem, stein_discrepancy

pytestmark = pytest.mark.slow

LENGTHS = np.array([1.3, 0.6])
NOISE = {
    "gaussian": {"sigma": 0.7, "rate": 1.3},
    "gaussian_simplex": {"sigma": 0.7, "rate": 1.3},
    "silf": {"epsilon": 0.5, "rate": 1.3},
}
KEYS = ("svgd", "q_svgd", "dsgd")


@pytest.fixture(params=list(NOISE))
def model(request):
    return request.param


@pytest.fixture(params=["gaussian", "gaussian_simplex"])
def noise(request):
    return request.param


@pytest.fixture(params=[*NOISE, *(f"silf {objective}" for objective in silf.OBJECTIVES)])
def curved(request):
    """The models with a Hessian–vector product; SILF in the bend of its loss as well."""
    return request.param


@pytest.fixture(params=[-0.5, -0.8])
def exponent(request):
    return request.param


def case(model, m=5, shape=(4, 3, 2), seed=0):
    """A problem, its coordinates and m prior draws in them."""
    rng = np.random.default_rng(seed)
    key, _, objective = model.partition(" ")
    known = registry.model(key)
    data = Dataset.from_array(rng.exponential(size=shape[:2]))
    problem = Problem(data, known, known.Settings(**NOISE[key]), shape[2])
    pairs = [known.prior(problem, rng) for _ in range(m)]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    if objective:  # with β = 1 the loss bends from f = 0 to 2ε
        bent = replace(problem.model_settings, objective=objective, beta=1.0)
        values = silf.objective(replace(problem, model_settings=bent), A, W)
        problem = replace(problem, model_settings=replace(bent, epsilon=float(values.max())))
    chart = Interior.of(problem)
    return problem, chart, chart.to_position(A, W)


def discrepancy(problem, chart, q, lengths=LENGTHS, exponent=-0.5) -> float:
    q = chart.settled(q)
    scores = [part.reshape(q.shape[0], -1) for part in chart.split(chart.score(problem, q))]
    return stein_discrepancy(chart.parts(q), scores, chart.dimensions(q), lengths, exponent)


def free_direction(chart, q, rng) -> np.ndarray:
    """Random, and where the columns of A are on the simplex, along it."""
    v = rng.standard_normal(q.shape)
    if chart.simplex:
        v[:, :, : chart.D] -= v[:, :, : chart.D].mean(axis=2, keepdims=True)
    return v


# The directions


def naive_direction(positions, scores, exponent):
    """φ(x_i) = (1/M) Σ_j k(x_j, x_i) s_j + ∇_{x_j} k(x_j, x_i), slopes by the complex step."""
    x, s = np.concatenate(positions, axis=1), np.concatenate(scores, axis=1)
    ends = np.cumsum([part.shape[1] for part in positions])[:-1]

    def k(one, other):
        total = 0.0
        for part, length in zip(np.split(one - other, ends), LENGTHS, strict=True):
            total = total + 0.5 * (1 + (part**2).sum() / length**2) ** exponent
        return total

    found = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            found[i] += k(x[j], x[i]) * s[j]
            for n in range(x.shape[1]):
                step = np.zeros(x.shape[1], dtype=complex)
                step[n] = 1e-30j
                found[i, n] += k(x[j] + step, x[i]).imag / 1e-30
    return found / x.shape[0]


def test_the_direction_is_the_definition(model, exponent):
    problem, chart, q = case(model)
    scores = [part.reshape(q.shape[0], -1) for part in chart.split(chart.score(problem, q))]
    expected = naive_direction(chart.parts(q), scores, exponent)
    found = svgd.variational_gradient(problem, chart, q, LENGTHS, exponent)
    flat = np.concatenate([p.reshape(q.shape[0], -1) for p in chart.split(found)], axis=1)
    np.testing.assert_allclose(flat, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_coordinates_slopes_and_discrepancy_are_those_that_particles_are_judged_by(model):
    problem, chart, q = case(model)
    M = q.shape[0]
    A, W = chart.to_factors(q)
    particles = Particles(
        A=A,
        W=W,
        ids=np.arange(M),
        chain=np.zeros(M, int),
        draw=np.arange(M),
        weights=np.full(M, 1 / M),
        log_joint=np.zeros(M),
        error=np.zeros(M),
        seconds=np.zeros(M),
        spec=RunSpec("svgd", 2, model, M, 0, model_settings=NOISE[model]),
        info={"model_settings": NOISE[model]},
    )
    blocks = places.blocks(problem, particles, "interior")
    scores = chart.split(chart.score(problem, q))
    for block, position, score, factor in zip(blocks, chart.parts(q), scores, "AW", strict=True):

        def as_stored(F, factor=factor):  # a column of A is a row here
            F = F.reshape(M, 2, -1)
            return (F.transpose(0, 2, 1) if factor == "A" else F).reshape(M, -1)

        np.testing.assert_allclose(as_stored(position), block.position, atol=1e-12)
        size = np.abs(block.score).max()
        np.testing.assert_allclose(as_stored(score), block.score, rtol=1e-10, atol=1e-12 * size)
    assert chart.dimensions(q) == tuple(block.dimension for block in blocks)
    K = stein.Products.of(blocks).kernel(*LENGTHS)
    assert discrepancy(problem, chart, q) == pytest.approx(stein.ksd(K, np.full(M, 1 / M)))


def test_the_hessian_product_is_the_derivative_of_the_slopes(curved):
    problem, chart, q = case(curved)
    v, h = free_direction(chart, q, np.random.default_rng(1)), 1e-5
    ahead, behind = (chart.score(problem, chart.settled(q + step * v)) for step in (h, -h))
    found = chart.score_along(problem, q, v)
    scale = np.abs(found).max()
    np.testing.assert_allclose(found, (ahead - behind) / (2 * h), atol=1e-7 * scale)
    # The Hessian is symmetric: u·Hv = v·Hu.
    u = free_direction(chart, q, np.random.default_rng(2))
    assert (u * found).sum() == pytest.approx((v * chart.score_along(problem, q, u)).sum())


def test_downhill_is_the_gradient_of_the_discrepancy(curved, exponent):
    problem, chart, q = case(curved)
    downhill = dsgd.downhill(problem, chart, q, LENGTHS, exponent)
    rng, h = np.random.default_rng(3), 1e-5
    for _ in range(5):
        v = free_direction(chart, q, rng)
        ahead, behind = (
            discrepancy(problem, chart, q + step * v, LENGTHS, exponent) for step in (h, -h)
        )
        assert -(downhill * v).sum() == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


def test_one_particle_alone_climbs_the_density(model):
    """With M = 1 the direction is the slope, so a run is gradient ascent by the same rule."""
    problem, chart, q = case(model, m=1)
    found = svgd.variational_gradient(problem, chart, q, LENGTHS, -0.5)
    slope = chart.score(problem, q)
    np.testing.assert_allclose(found, slope, rtol=1e-14, atol=1e-14 * np.abs(slope).max())
    settings = svgd.Settings(rule="adagrad", iterations=20, start="prior")
    state, batch = run_alone(svgd, problem, settings, 1)
    q, squares = svgd_start(problem, settings, 1), 0.0
    for _ in range(20):
        slope = chart.score(problem, q)
        squares = squares + slope**2
        q = chart.settled(q + 0.05 * slope / (np.sqrt(squares) + stein_descent.TINY))
    np.testing.assert_allclose(state.q, q, rtol=1e-10, atol=1e-10)
    assert batch.size == 1


# AdaGrad's steps become small early, so it takes a larger first one.
RULES = ({"rule": "adam"}, {"rule": "adagrad", "step_size": 0.5})


@pytest.mark.parametrize("rule", RULES)
def test_one_particle_ends_where_the_density_is_flat(noise, rule):
    problem, chart, _ = case(noise)
    settings = svgd.Settings(**rule, iterations=3000, solver_iterations=0)
    state, _ = run_alone(svgd, problem, settings, 1)
    before = np.abs(chart.score(problem, svgd_start(problem, settings, 1))).max()
    assert np.abs(chart.score(problem, state.q)).max() < 1e-3 * before


def svgd_start(problem, settings, m):
    shard = Shard(0, 0, m, 4)
    return svgd.ALGORITHM.init(problem, settings, shard, shard.generator()).q


def run_alone(module, problem, settings, m, seed=4):
    shard = Shard(0, 0, m, seed)
    rng = shard.generator()
    state = module.ALGORITHM.init(problem, settings, shard, rng)
    while True:
        state, batch = module.ALGORITHM.step(problem, state, settings, rng)
        if batch.size:
            return state, batch


# What they lead to


@pytest.mark.parametrize("module", [svgd, q_svgd, dsgd])
@pytest.mark.parametrize("rule", RULES)
def test_the_discrepancy_falls(noise, module, rule):
    problem, chart, _ = case(noise)
    settings = module.Settings(**rule, solver_iterations=0)
    shard = Shard(0, 0, 20, 4)
    start = module.ALGORITHM.init(problem, settings, shard, shard.generator()).q
    end = run_alone(module, problem, settings, 20)[0].q
    # With one unit for all, and with the median lengths of either end.
    for q in (start, end):
        lengths = stein_direction.median_lengths(chart.parts(q))
        before, after = (discrepancy(problem, chart, p, lengths) for p in (start, end))
        assert after < 0.1 * before


@pytest.mark.parametrize("module", [svgd, dsgd])
def test_particles_in_another_order_move_alike(noise, module):
    problem, chart, q = case(noise, m=7)
    order = np.random.default_rng(5).permutation(7)
    settings = module.Settings(iterations=50)
    ends = []
    for start in (q, q[order]):
        nothing = np.zeros_like(start)
        lengths = stein_direction.median_lengths(chart.parts(start))
        state = stein_descent.State(start, nothing, nothing, lengths, 0, 0)
        batch = None
        while batch is None or not batch.size:
            state, batch = module.ALGORITHM.step(problem, state, settings, None)
        ends.append(state.q)
    np.testing.assert_allclose(ends[1], ends[0][order], rtol=0, atol=1e-9)


def two_dimensional(model):
    """A problem whose posterior has two coordinates, and their density on a grid.

    The coordinates are log a, log w, or half the log-ratio of a column's two entries and log w.
    """
    D = 1 if model == "gaussian" else 2
    X = np.full((D, 1), 3.0) if D == 1 else np.array([[2.0], [1.0]])
    known = registry.model(model)
    problem = make_problem(X, 1, sigma=0.8, rate=0.5, model=known)
    chart, grid = Interior.of(problem), np.linspace(-4, 4, 401)
    first, second = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
    columns = [first] if D == 1 else [first, -first]
    q = chart.settled(np.stack([*columns, second], axis=1)[:, None, :])
    A, W = chart.to_factors(q)
    # The density of the coordinates: that of the factors times all their entries.
    log_density = known.log_joint(problem, A, W) + q.sum(axis=(1, 2))
    density = np.exp(log_density - log_density.max())
    return problem, chart, np.stack([first, second], axis=1), density / density.sum()


def moments(x):
    """Means, variances and covariance of x (…, M, 2): (…, 5)."""
    mean = x.mean(axis=-2)
    centred = x - mean[..., None, :]
    product = (centred[..., 0] * centred[..., 1]).mean(axis=-1)
    return np.concatenate([mean, (centred**2).mean(axis=-2), product[..., None]], axis=-1)


def test_particles_spread_like_the_posterior(noise):
    """On two coordinates, its moments are met within what as many independent draws err by."""
    problem, chart, grid, density = two_dimensional(noise)
    M = 50
    mean = density @ grid
    centred = grid - mean
    exact = [*mean, *(density @ centred**2), density @ centred.prod(axis=1)]
    rng = np.random.default_rng(6)
    draws = grid[rng.choice(density.size, (400, M), p=density)]
    typical = moments(draws).std(axis=0)
    # Some prior draws are far out, where no other particle pushes: large steps bring them in.
    settings = svgd.Settings(iterations=1500, step_size=0.3, last_step=0.1, start="prior")
    for seed in (1, 2, 3):
        A, W = chart.parts(run_alone(svgd, problem, settings, M, seed)[0].q)
        found = moments(np.stack([A[:, 0], W[:, 0]], axis=1))
        assert (np.abs(found - exact) < typical).all(), (found - exact) / typical


# The runs around them


@pytest.mark.parametrize("key", KEYS)
def test_pieces_of_one_iteration_change_no_bit(key, small, monkeypatch):
    spec = RunSpec(key, 3, particles=6, seed=2, settings={"iterations": 20})
    whole = engine.run(small, spec)
    # The starts are solved in smaller pieces too.
    monkeypatch.setattr(solution, "STEP_WORK", 1.0)
    pieces = engine.run(small, spec)
    np.testing.assert_array_equal(pieces.A, whole.A)
    np.testing.assert_array_equal(pieces.W, whole.W)
    assert (whole.diagnostics["iterations"] == 20).all()


@pytest.mark.parametrize("key", KEYS)
def test_every_model_it_works_with_gives_a_run(key, model, small):
    spec = RunSpec(key, 3, model, 5, 1, {"iterations": 30})
    if not registry.algorithm(key).works_with(registry.model(model)):
        with pytest.raises(SettingsError, match="DSGD needs "):
            engine.run(small, spec)
        return
    particles = engine.run(small, spec)
    assert (particles.A >= 0).all() and (particles.W >= 0).all()
    assert np.isfinite(particles.log_joint).all()
    if registry.model(model).support_A == "simplex":
        np.testing.assert_allclose(particles.A.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("particles", "together", "sizes"),
    [(7, 100, [7]), (100, 100, [100]), (101, 100, [51, 50]), (5, 1, [1] * 5), (8, 3, [3, 3, 2])],
)
def test_large_runs_are_cut_into_even_groups(particles, together, sizes):
    assert stein_descent.shard_sizes(svgd.Settings(together=together), particles) == sizes


def test_particles_that_coincide_have_a_length_scale_all_the_same(noise):
    problem, chart, q = case(noise)
    same = np.repeat(q[:1], 4, axis=0)
    np.testing.assert_array_equal(stein_direction.median_lengths(chart.parts(same)), [1.0, 1.0])
    towards = svgd.variational_gradient(problem, chart, same, np.ones(2), -0.5)
    slope = chart.score(problem, same)
    np.testing.assert_allclose(towards, slope, rtol=1e-12, atol=1e-12 * np.abs(slope).max())


@pytest.mark.parametrize("key", KEYS)
def test_what_cannot_start_is_refused_with_a_sentence(key, small):
    with pytest.raises(BNMFError, match="prior rate λ above 0.*drift off"):
        engine.run(small, RunSpec(key, 2, particles=3, model_settings={"rate": 0}))
    # A dataset is not all zeros, but what a run sees of it may be.
    zeros = replace(small, X=np.zeros_like(small.X))
    with pytest.raises(RunError, match="zero, so .*nothing to start from"):
        engine.run(zeros, RunSpec(key, 2, particles=3, model_settings={"sigma": 1.0}))
