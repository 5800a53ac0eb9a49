"""HMC: its dynamics, its coordinates and gradients, and the run around them.

That it leaves the posterior invariant is proved in test_invariance.py.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import BNMFError, RunError, SettingsError
from bnmf_core.core.settings import declarations
from bnmf_core.core.spec import RunSpec
from bnmf_core.posterior.places import problem_of
from bnmf_core.runs import engine, planning
from bnmf_core.samplers import hamiltonian, hmc
from bnmf_core.samplers.chains import chains_of, shard_sizes
from bnmf_core.samplers.starting import LIFT, lifted, starts
from tests.slopes import by_complex_step
from tests.suited import BRIEF, model_of, suited

from .kernels import MODELS, chart_of, draw_joint, flat_density, make_problem, many_problems

SUPPORTS = list(MODELS)
UNIT = 1.5


@pytest.fixture(params=SUPPORTS)
def support(request):
    return request.param


def stationary(support, chains, seed, shape=(4, 3, 2)):
    """Chains at draws from their own posteriors: density, point, generator, coordinates."""
    rng = np.random.default_rng(seed)
    A, W, X = draw_joint(support, chains, rng, shape)
    chart = chart_of(support, shape[0], UNIT)
    density = chart.density(many_problems(X, shape[2], MODELS[support]))
    q = chart.to_position(A, W)
    return density, hamiltonian.Point(q, *density(q)), rng, chart


# The dynamics


@pytest.mark.parametrize("count", [1, 7, 100])
def test_leapfrog_runs_back_to_where_it_began(support, count):
    density, point, rng, chart = stationary(support, 50, 0)
    momentum = rng.standard_normal(point.q.shape)
    # Within the stiffest chain's limit of stability: beyond it rounding errors double and double.
    step = np.linspace(0.005, 0.03, 50)
    end, last = hamiltonian.leapfrog(density, point, momentum, step, count, chart.reflected)
    if support == "simplex" and count == 100:  # some weights have met the wall
        free = hamiltonian.leapfrog(density, point, momentum, step, count)[0]
        assert (free.q[..., chart.reflected] < 0).any()
    back, again = hamiltonian.leapfrog(density, end, -last, step, count, chart.reflected)
    np.testing.assert_allclose(back.q, point.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(-again, momentum, rtol=0, atol=1e-10)


def test_leapfrog_keeps_volume(support):
    """|det ∂(q', p')/∂(q, p)| = 1, by central differences, also across a reflection."""
    density, point, rng, chart = stationary(support, 1, 5, shape=(2, 2, 1))
    momentum, step = rng.standard_normal(point.q.shape), np.array([0.4])
    size = point.q.size
    if support == "simplex":
        point.q[..., -1] = 0.05
        momentum[..., -1] = -2.0

    def moved(values):
        q = values[:size].reshape(point.q.shape)
        start = hamiltonian.Point(q, *density(q))
        end, last = hamiltonian.leapfrog(
            density, start, values[size:].reshape(q.shape), step, 4, chart.reflected
        )
        return np.concatenate([end.q.ravel(), last.ravel()])

    at, h = np.concatenate([point.q.ravel(), momentum.ravel()]), 1e-6
    columns = [(moved(at + h * e) - moved(at - h * e)) / (2 * h) for e in np.eye(2 * size)]
    assert abs(np.linalg.det(np.array(columns))) == pytest.approx(1.0, abs=1e-6)


def test_the_energy_error_falls_with_the_square_of_the_step(support):
    density, point, rng, chart = stationary(support, 2000, 1)
    momentum = 0.5 * rng.standard_normal(point.q.shape)
    if support == "simplex":  # a reflection adds an error of first order: stay off the wall
        point.q[..., chart.reflected] += 5.0
        point = hamiltonian.Point(point.q, *density(point.q))
    before = hamiltonian.energy(point, momentum)
    errors = []
    for count in (40, 80, 160):
        step = np.full(2000, 0.2 / count)
        end, last = hamiltonian.leapfrog(density, point, momentum, step, count, chart.reflected)
        errors.append(np.abs(hamiltonian.energy(end, last) - before))
    for larger, smaller in itertools.pairwise(errors):
        assert np.median(larger / smaller) == pytest.approx(4.0, abs=0.1)


def energy_errors(support, step, count, seed) -> np.ndarray:
    """ΔH of 20,000 stationary chains, inf where the trajectory left the ground."""
    density, point, rng, chart = stationary(support, 20_000, seed)
    momentum, steps = rng.standard_normal(point.q.shape), np.full(20_000, step)
    end, last = hamiltonian.leapfrog(density, point, momentum, steps, count, chart.reflected)
    with np.errstate(all="ignore"):
        error = hamiltonian.energy(end, last) - hamiltonian.energy(point, momentum)
    return np.where(np.isfinite(error), error, np.inf)


def within_five_errors(values, expected) -> bool:
    return abs(values.mean() - expected) < 5 * values.std() / np.sqrt(values.size)


def test_exp_of_the_energy_error_is_one_on_average(support):
    # Steps within the stiffest chains' limit of stability; beyond it exp(−ΔH) has no variance.
    ratio = np.exp(-energy_errors(support, 0.02, 10, 2))
    assert ratio.std() > 1e-3 and within_five_errors(ratio, 1.0)


def test_coarse_steps_err_up_as_often_as_their_weights_say(support):
    """E[e^(−ΔH); ΔH > 0] = P(ΔH < 0): the same identity for bounded numbers, at any step size."""
    error = energy_errors(support, 0.25, 5, 3)
    upward = np.where(error > 0, np.exp(-np.maximum(error, 0)), 0.0)
    assert 0.2 < (error > 0.1).mean() and within_five_errors(upward - (error < 0), 0.0)


def test_a_trajectory_in_pieces_has_the_same_bits(support):
    density, point, rng, chart = stationary(support, 5, 3)
    half, step = rng.standard_normal(point.q.shape), np.full(5, 0.05)
    whole = hamiltonian.glide(density, point, half, step, 12, chart.reflected)
    front, there = point, half
    for count in (1, 4, 7):
        front, there = hamiltonian.glide(density, front, there, step, count, chart.reflected)
    np.testing.assert_array_equal(front.q, whole[0].q)
    np.testing.assert_array_equal(there, whole[1])


def test_a_chain_that_leaves_the_ground_stays_where_it_was(support):
    density, point, rng, chart = stationary(support, 4, 4)
    step = np.array([0.01, 1e3, 0.01, 1e3])
    outcome = hamiltonian.transition(density, point, step, rng, chart.reflected, 10)
    np.testing.assert_array_equal(outcome.divergent, [False, True, False, True])
    np.testing.assert_array_equal(outcome.point.q[[1, 3]], point.q[[1, 3]])
    assert (outcome.probability[[1, 3]] == 0).all() and np.isfinite(outcome.point.value).all()
    assert not np.array_equal(outcome.point.q[0], point.q[0])


# Coordinates


def factors_by_hand(support, q, rows):
    """One chain's q (R, K) to A (D, R), W (R, N), entry by entry; complex q is welcome."""
    if support == "positive":
        return np.exp(q[:, :rows]).T, np.exp(q[:, rows:])
    A = np.empty((rows, q.shape[0]), dtype=q.dtype)
    for r in range(q.shape[0]):
        left = 1.0
        for k in range(rows - 1):
            z = 1 / (1 + np.exp(-q[r, k] - np.log(rows - 1 - k)))
            A[k, r] = left * (1 - z)
            left = left * z
        A[rows - 1, r] = left
    return A, UNIT * q[:, rows - 1 :]


def log_density_by_hand(support, q, X, sigma, rate):
    rows = X.shape[0]
    A, W = factors_by_hand(support, q, rows)
    value = -((X - A @ W) ** 2).sum() / (2 * sigma**2) - rate * W.sum()
    if support == "positive":
        return value - rate * A.sum() + q.sum()
    for r in range(q.shape[0]):  # Betancourt's Jacobian, factor by factor
        for k in range(rows - 1):
            z = 1 / (1 + np.exp(-q[r, k] - np.log(rows - 1 - k)))
            value += (rows - 1 - k) * np.log(z) + np.log(1 - z)
    return value


def test_the_density_and_its_gradient_are_those_of_the_definition(support):
    """The gradient against the complex step, which has no truncation error: Im f(x + ih)/h."""
    rng = np.random.default_rng(6)
    X = rng.exponential(size=(5, 4))
    chart = chart_of(support, 5, UNIT)
    problem = make_problem(X, 3, 0.7, 1.3, MODELS[support])
    q = rng.standard_normal((2, 3, 9 if support == "positive" else 8))
    if support == "simplex":
        q[..., chart.reflected] = np.abs(q[..., chart.reflected])
    values, gradient = chart.density(problem)(q)
    by_hand = [log_density_by_hand(support, one, X, 0.7, 1.3) for one in q]
    assert values[0] - values[1] == pytest.approx(by_hand[0] - by_hand[1], rel=1e-11)
    for c in range(2):
        slopes = by_complex_step(lambda p: log_density_by_hand(support, p, X, 0.7, 1.3), q[c])
        assert gradient[c] == pytest.approx(slopes, rel=1e-10, abs=1e-10)


def test_the_jacobian_is_the_determinant(support):
    """Of A's free entries and W by q, central differences."""
    rng, h, rows = np.random.default_rng(7), 1e-6, 5
    chart = chart_of(support, rows, UNIT)
    q = rng.standard_normal((1, 1, 8 if support == "positive" else 7))

    def free(values):
        A, W = chart.to_factors(values.reshape(q.shape))
        last = rows if support == "positive" else rows - 1
        return np.concatenate([A[0, :last, 0], W[0, 0]])

    columns = [
        (free(q.ravel() + h * e) - free(q.ravel() - h * e)) / (2 * h) for e in np.eye(q.size)
    ]
    log_determinant = np.linalg.slogdet(np.array(columns))[1]
    if support == "simplex":  # the density leaves out the constant of W's unit
        log_determinant -= 3 * np.log(UNIT)
    assert flat_density(chart)(q)[0][0] == pytest.approx(log_determinant, rel=1e-7)


@pytest.mark.parametrize("rows", [2, 3, 500])
def test_coordinates_lead_there_and_back(support, rows):
    rng = np.random.default_rng(8)
    chart = chart_of(support, rows, UNIT)
    A, W = rng.exponential(size=(3, rows, 4)), rng.exponential(size=(3, 4, 6))
    if support == "simplex":
        A /= A.sum(axis=1, keepdims=True)
    back_A, back_W = chart.to_factors(chart.to_position(A, W))
    np.testing.assert_allclose(back_A, A, rtol=1e-10)
    np.testing.assert_allclose(back_W, W, rtol=1e-12)


def test_lifting_leaves_large_entries_and_gives_zeros_a_small_part():
    F = np.zeros((1, 4, 3))
    F[0, :, 0] = [0, 2, 2, 4]
    F[0, :, 1] = [1, 1, 1, 1]
    result = lifted(F, axis=1)
    np.testing.assert_array_equal(result[0, 1:, 0], F[0, 1:, 0])
    assert result[0, 0, 0] == pytest.approx(LIFT * 2)
    np.testing.assert_allclose(result[0, :, 2], LIFT * F.mean())  # an empty component
    np.testing.assert_array_equal(lifted(np.zeros((1, 2, 2)), axis=1), np.full((1, 2, 2), LIFT))


def test_the_unit_of_the_data_changes_nothing_but_the_unit(small):
    """W's unit comes from the data, so the same chain runs whatever X is measured in."""
    settings = {"warm_up": 3, "leapfrog_steps": 5}
    chains = []
    for factor in (1.0, 1024.0):
        spec = RunSpec(
            "hmc",
            3,
            "gaussian_simplex",
            4,
            3,
            settings,
            {"sigma": 0.5 * factor, "rate": 0.1 / factor},
        )
        chains.append(engine.run(Dataset.from_array(small.X * factor), spec))
    np.testing.assert_allclose(chains[1].A, chains[0].A, rtol=1e-9)
    np.testing.assert_allclose(chains[1].W, 1024 * chains[0].W, rtol=1e-9)


# The run


@pytest.mark.parametrize("model", registry.models())
def test_draws_lie_on_the_support_and_steps_are_frozen_after_the_warm_up(small, model):
    settings, small = {"chains": 3, "warm_up": 60, "leapfrog_steps": 20}, suited(small, model)
    particles = engine.run(small, RunSpec("hmc", 3, model, 90, 1, settings))
    assert (particles.A >= 0).all() and (particles.W >= 0).all()
    if registry.model(model).support_A == "simplex":
        np.testing.assert_allclose(particles.A.sum(axis=1), 1.0, rtol=1e-12)
    told = {"accepted", "acceptance", "step_size", "divergent", "energy"}
    assert set(particles.diagnostics) == told and np.isfinite(particles.diagnostics["energy"]).all()
    for chain in range(3):
        steps = particles.diagnostics["step_size"][particles.chain == chain]
        assert steps.max() <= steps.min() * (1 + hmc.JITTER) / (1 - hmc.JITTER)
    assert 0.55 < particles.diagnostics["acceptance"].mean() < 0.98
    if registry.model(model).offending is None:  # elsewhere a trajectory can leave the density
        assert not particles.diagnostics["divergent"].any()
    problem = problem_of(particles, small)
    f = problem.loss.values(problem, particles.A, particles.W)
    np.testing.assert_allclose(particles.error, problem.loss.measured(small, f), rtol=1e-11)


@pytest.mark.parametrize(
    ("chains", "particles"),
    [(1, 5), (2, 5), (3, 3), (5, 23), (10, 20), (64, 7), (7, 1), (64, 64), (20, 90)],
)
def test_draws_are_shared_out_among_chains_and_shards(chains, particles):
    settings = hmc.Settings(chains=chains)
    sizes = shard_sizes(settings, particles)
    together = min(chains, particles)
    assert sum(sizes) == particles and len(sizes) == min(together, max(2, -(-together // 8)))
    start, parts = 0, []
    for index, size in enumerate(sizes):
        first, draws = chains_of(settings, Shard(index, start, size, seed=0))
        assert first == sum(len(part) for part in parts) and draws.sum() == size
        parts.append(draws)
        start += size
    draws = np.concatenate(parts)
    assert draws.size == min(chains, particles)
    assert draws.max() - draws.min() <= 1 and (np.diff(draws) <= 0).all()


def test_chains_and_draws_are_counted(small):
    settings = {"chains": 3, "warm_up": 4, "leapfrog_steps": 3, "thinning": 2}
    particles = engine.run(small, RunSpec("hmc", 2, particles=8, settings=settings))
    assert [int((particles.chain == c).sum()) for c in range(3)] == [3, 3, 2]
    trace = particles.trace
    assert [int((trace["chain"] == c).sum()) for c in range(3)] == [5, 5, 4]
    first = [particles.A[(particles.chain == c) & (particles.draw == 0)][0] for c in range(3)]
    assert not np.allclose(first[0], first[1]) and not np.allclose(first[1], first[2])


def test_a_trajectory_larger_than_a_step_is_cut_without_changing_a_bit(small, monkeypatch):
    spec = RunSpec("hmc", 2, particles=3, settings={"warm_up": 3, "leapfrog_steps": 7})
    whole = engine.run(small, spec)
    monkeypatch.setattr("bnmf_core.core.algorithm.STEP_WORK", 1.0)  # one leapfrog step at a time
    seen = []
    pieces = engine.run(small, spec, seen.append)
    np.testing.assert_array_equal(pieces.A, whole.A)
    for key, values in whole.trace.items():
        np.testing.assert_array_equal(pieces.trace[key], values)
    assert len(seen) == 5 * 7 + 4 * 7  # two draws in the first chain, one in the second


def test_the_energy_of_a_draw_is_that_of_where_its_trajectory_began(small):
    settings = {"chains": 1, "warm_up": 100, "leapfrog_steps": 10}
    particles = engine.run(small, RunSpec("hmc", 2, particles=300, settings=settings))
    problem = planning.make_plan(small, particles.spec).problem
    chart = hmc.coordinates(problem)
    q = chart.to_position(particles.A, particles.W)
    potential = -chart.density(problem)(q)[0]
    # What is left is the kinetic energy: half of χ² with as many degrees as there are coordinates.
    kinetic = particles.diagnostics["energy"][1:] - potential[:-1]
    degrees = q[0].size
    assert (kinetic > 0).all()
    assert kinetic.mean() == pytest.approx(degrees / 2, abs=4 * np.sqrt(degrees / 2 / 299))


def test_the_step_size_is_adapted_to_the_target(small):
    acceptance = {}
    for target in (0.6, 0.9):
        settings = {"chains": 4, "warm_up": 300, "leapfrog_steps": 10, "target_acceptance": target}
        particles = engine.run(small, RunSpec("hmc", 2, particles=800, settings=settings))
        acceptance[target] = particles.diagnostics["acceptance"].mean()
    assert acceptance[0.9] == pytest.approx(0.9, abs=0.05)
    # The mean over the warm-up comes to a low target slowly, and from the careful side.
    assert 0.55 < acceptance[0.6] < acceptance[0.9] - 0.05


# Starts, of every sampler

SAMPLERS = [
    key
    for key, known in registry.ALGORITHMS.items()
    if known.family == "sampler" and "start" in declarations(known.Settings)
]


@pytest.fixture
def known():
    rng = np.random.default_rng(9)
    pairs = [(rng.exponential(size=(6, 2)), rng.exponential(size=(2, 5))) for _ in range(2)]
    truth = tuple(Truth(str(i), A, W) for i, (A, W) in enumerate(pairs))
    return Dataset.from_array(pairs[0][0] @ pairs[0][1], truth=truth)


def test_known_starts_are_all_chosen(known):
    problem = dataclasses.replace(make_problem(known.X, 2), dataset=known)
    generators = [np.random.default_rng(seed) for seed in range(32)]
    A, W = starts(problem, hmc.Settings(start="known"), generators, "HMC")
    of_each = [np.isclose(A @ W, t.A @ t.W, rtol=0.05).all(axis=(1, 2)) for t in known.truth]
    assert sum(of_each).all() and all(6 < one.sum() < 26 for one in of_each)


@pytest.mark.parametrize("algorithm", SAMPLERS)
def test_known_starts_need_a_known_factorization_of_the_rank(small, known, algorithm):
    settings = BRIEF.get(algorithm, {}) | {"start": "known", "warm_up": 0}
    model = model_of(algorithm)
    known, small = suited(known, model), suited(small, model)
    assert engine.run(known, RunSpec(algorithm, 2, model, 2, settings=settings)).M == 2
    with pytest.raises(SettingsError, match="of 'matrix' have rank 2"):
        engine.run(known, RunSpec(algorithm, 3, model, 2, settings=settings))
    with pytest.raises(SettingsError, match="No exact factorization of 'small' is known"):
        engine.run(small, RunSpec(algorithm, 2, model, 2, settings=settings))


@pytest.mark.parametrize("algorithm", SAMPLERS)
@pytest.mark.parametrize("model", [model.key for model in MODELS.values()])
def test_what_no_chain_can_start_from_is_refused(small, algorithm, model):
    if not registry.algorithm(algorithm).works_with(registry.model(model)):
        with pytest.raises(BNMFError, match=" needs .*, which the model “.*” does not have"):
            planning.check(small, RunSpec(algorithm, 2, model))
        return
    with pytest.raises(SettingsError, match="rate λ above 0"):
        engine.run(small, RunSpec(algorithm, 2, model, model_settings={"rate": 0}))
    zeros = Dataset(np.zeros((3, 4)), "zeros", ("f",) * 3, ("o",) * 4)
    with pytest.raises(RunError, match="Every entry that the run sees is zero"):
        engine.run(zeros, RunSpec(algorithm, 1, model, model_settings={"sigma": 1.0}))
    far = make_problem(small.X * 1e98, 2, 1e-80, model=registry.model(model))
    if algorithm == "mode_jumps":  # its chains start where a pilot of Gibbs chains has come to
        return
    made, rng = registry.algorithm(algorithm), np.random.default_rng(0)
    with pytest.raises(RunError, match="the data have probability zero"):
        made.init(far, made.Settings(start="prior"), Shard(0, 0, 3, 1), rng)


@pytest.mark.parametrize("algorithm", SAMPLERS)
def test_constant_data_can_be_sampled(algorithm):
    settings, model = {"warm_up": 20}, model_of(algorithm)
    particles = engine.run(
        suited(Dataset.from_array(np.full((4, 5), 3.0)), model),
        RunSpec(algorithm, 2, model, 5, settings=settings),
    )
    assert np.isfinite(particles.log_joint).all()
