"""Evidence against plain importance sampling, masses against symmetry, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from bnmf_core import Dataset, RunSpec, distances, find_modes, laurberg, mode_evidence, run
from bnmf_core.core.errors import Cancelled, RunError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.evidence import weighing
from bnmf_core.evidence.annealing import anneal, halved
from bnmf_core.evidence.hamiltonian_path import SmoothPosterior
from bnmf_core.evidence.weighing import own_part
from bnmf_core.likelihoods import gaussian
from bnmf_core.numerics.populations import Population, systematic
from bnmf_core.samplers.gibbs_path import ConditionalPosterior

CONVERGED = {"max_iterations": 3000, "tolerance": 1e-9}


def restarts_of(data, rank, count=20, **model_settings):
    spec = RunSpec(
        "random_restarts",
        rank=rank,
        particles=count,
        model_settings=model_settings,
        settings=CONVERGED,
    )
    return run(data, spec)


def one_of_each_mode(data, rank, count=20, **model_settings):
    found = restarts_of(data, rank, count, **model_settings)
    return found.subset(find_modes(distances(found), 10.0).representative)


def evidence_by_importance(data, rank, settings, draws, rng):
    """log p(X) and its error from draws of the prior."""
    seen = np.ones(data.X.shape) if data.mask is None else data.mask
    normaliser = -0.5 * seen.sum() * np.log(2 * np.pi * settings.sigma**2)
    values = []
    for _ in range(draws // 50_000):
        A = rng.exponential(1 / settings.rate, (50_000, data.D, rank))
        W = rng.exponential(1 / settings.rate, (50_000, rank, data.N))
        residual = (data.X - A @ W) * seen
        values.append(normaliser - 0.5 * (residual**2).sum(axis=(1, 2)) / settings.sigma**2)
    values = np.concatenate(values)
    weights = np.exp(values - values.max())
    error = weights.std() / weights.mean() / np.sqrt(weights.size)
    return logsumexp(values) - np.log(values.size), error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hidden", "solve"),
    [
        (True, False),
        pytest.param(True, True, marks=pytest.mark.long),
        pytest.param(False, True, marks=pytest.mark.long),
    ],
)
def test_the_evidence_is_that_of_importance_sampling(hidden, solve):
    """A 3×4 matrix of rank 1, with and without gaps: eight numbers, one mode."""
    X = np.outer([1.0, 0.6, 0.3], [0.9, 0.4, 1.1, 0.2]) + 0.05
    mask = np.ones(X.shape, bool)
    if hidden:
        mask[0, 1] = mask[2, 3] = False
    data = Dataset.from_array(X, mask=mask)
    settings = gaussian.Settings(sigma=0.4, rate=1.0)
    exact, error = evidence_by_importance(data, 1, settings, 1_000_000, np.random.default_rng(0))
    start = restarts_of(data, 1, 2, sigma=0.4, rate=1.0).subset(np.array([0]))
    found = mode_evidence(data, start, rng=np.random.default_rng(1), solve=solve).iloc[0]
    assert abs(found["log_evidence"] - exact) < 3 * np.hypot(found["error"], error)
    assert found["error"] < 0.3


@pytest.mark.slow
def test_relabelled_draws_are_counted_once():
    """Rank 2 and so much noise that components change places: log Z + log 2! is the evidence."""
    rng = np.random.default_rng(4)
    data = Dataset.from_array(rng.random((3, 3)) + 0.2)
    settings = gaussian.Settings(sigma=0.5, rate=1.0)
    exact, error = evidence_by_importance(data, 2, settings, 3_000_000, np.random.default_rng(0))
    starts = one_of_each_mode(data, 2, sigma=0.5, rate=1.0)
    found = mode_evidence(data, starts, rng=np.random.default_rng(1))
    total = logsumexp(found["log_evidence"]) + np.log(2)
    allowed = 3 * np.hypot(found["error"].max(), error)
    assert abs(total - exact) < allowed
    assert allowed < 1.0


@pytest.mark.slow
def test_trajectories_find_what_sweeps_find():
    """The Gaussian posterior by slopes alone, against its conditional draws."""
    data = laurberg("two", noise=0.05, rng=np.random.default_rng(0))
    starts = one_of_each_mode(data, 3, sigma=0.1, rate=1.0)
    problem = Problem(data, gaussian.MODEL, gaussian.Settings(sigma=0.1, rate=1.0), 3)
    found = []
    for posterior in (SmoothPosterior(problem), ConditionalPosterior(problem)):
        rng, values = np.random.default_rng(0), []
        for _ in range(4):
            around = posterior.around(starts.A[0], starts.W[0], rng)
            values.append(anneal(posterior.path(around), 128, rng).log_evidence)
        found.append(logsumexp(values) - np.log(4))
    assert abs(found[0] - found[1]) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("solve", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_model_without_conditional_draws_is_weighed_by_its_slopes(solve):
    """Columns of A that sum to 1, rank 1: log p(X) by importance sampling from the prior."""
    X = np.outer([0.5, 0.3, 0.2], [2.0, 1.0, 1.5]) + 0.05
    data = Dataset.from_array(X)
    settings = {"sigma": 0.3, "rate": 1.0}
    spec = RunSpec(
        "random_restarts", rank=1, particles=2, model="gaussian_simplex", model_settings=settings
    )
    start = run(data, spec).subset(np.array([0]))
    found = mode_evidence(data, start, rng=np.random.default_rng(1), solve=solve).iloc[0]
    rng = np.random.default_rng(0)
    A = rng.dirichlet(np.ones(3), 500_000)
    W = rng.exponential(1.0, (500_000, 1, 3))
    squared = ((data.X - A[:, :, None] @ W) ** 2).sum(axis=(1, 2))
    values = -0.5 * squared / 0.3**2 - 4.5 * np.log(2 * np.pi * 0.3**2)
    exact = logsumexp(values) - np.log(values.size)
    assert abs(found["log_evidence"] - exact) < 3 * max(found["error"], 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [pytest.param(0.05, marks=pytest.mark.long), 0.001])
def test_two_solutions_have_half_the_mass_each(sigma):
    """X is unchanged by the exchange of rows and columns that swaps them (a = ½, no noise)."""
    data = laurberg("two")
    starts = one_of_each_mode(data, 3, sigma=sigma, rate=1.0)
    assert starts.M == 2
    masses = [
        mode_evidence(data, starts, rng=np.random.default_rng(seed), particles=512)["mass"][0]
        for seed in range(4)
    ]
    assert np.abs(np.mean(masses) - 0.5) < 0.06
    assert np.abs(np.array(masses) - 0.5).max() < 0.2


@pytest.mark.parametrize("even", [True, False])
def test_more_repeats_are_made_only_where_errors_leave_the_winner_open(even, monkeypatch):
    """Two equal masses stay open however many there are; then they are known better."""
    looks = []
    look = weighing._look_around
    monkeypatch.setattr(weighing, "_look_around", lambda *of, **how: looks.append(0) or look(*of))
    noise = 0.0 if even else 0.01
    data = laurberg("two", noise=noise, rng=np.random.default_rng(0))
    starts = one_of_each_mode(data, 3, sigma=0.05 if even else 0.01, rate=1.0)
    two, eight = (
        mode_evidence(data, starts, rng=np.random.default_rng(0), most_repeats=most, check=False)
        for most in (2, 8)
    )
    # Both starts at first, and then anew for each of the repeats of each.
    assert len(looks) == (2 + 2 * 2) + (2 + 2 * (8 if even else 2))
    if even:
        widths = [(found["mass_high"] - found["mass_low"]).max() for found in (two, eight)]
        assert widths[1] < widths[0] and eight["mass_low"].max() < 0.5 < eight["mass_high"].min()
    else:
        np.testing.assert_array_equal(two.to_numpy(float), eight.to_numpy(float))


def test_with_noise_two_equal_fits_are_not_equally_probable():
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    starts = one_of_each_mode(data, 3, sigma=0.01, rate=1.0)
    found = mode_evidence(data, starts, rng=np.random.default_rng(0))
    assert found["mass"].min() < 0.03
    assert found["mass_high"].min() < 0.1
    assert found["settled"].all()
    np.testing.assert_allclose(found["mass"].sum(), 1.0)


def test_a_start_whose_chains_leave_says_where_they_went():
    """A factorization that is no fit at all: chains go to the mode, which keeps all the mass."""
    data = laurberg("unique")
    restarts = restarts_of(data, 3, 2, sigma=0.02, rate=1.0)
    both = restarts.subset(np.array([0, 1]))
    both.A[1], both.W[1] = np.eye(6)[:, 3:], both.W[1][::-1]
    found = mode_evidence(data, both, rng=np.random.default_rng(0))
    assert found["ends_in"].tolist() == [0, 0]
    np.testing.assert_allclose(found["stays"], [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(found["mass"], [1.0, 0.0], atol=1e-9)


@pytest.mark.slow
def test_a_lower_power_shares_the_mass_out():
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    starts = one_of_each_mode(data, 3, sigma=0.01, rate=1.0)
    masses = [
        mode_evidence(data, starts, rng=np.random.default_rng(0), likelihood_power=power)["mass"]
        for power in (1.0, 0.1)
    ]
    assert masses[0].min() < 0.02 < masses[1].min()


@pytest.mark.slow
def test_the_result_depends_on_the_generator_alone():
    data = laurberg("two")
    starts = one_of_each_mode(data, 3, sigma=0.05, rate=1.0)
    one, other = (
        mode_evidence(data, starts, rng=np.random.default_rng(7), particles=16) for _ in range(2)
    )
    np.testing.assert_array_equal(one.to_numpy(float), other.to_numpy(float))


def test_it_stops_when_told():
    data = laurberg("two")
    starts = restarts_of(data, 3, 2, sigma=0.05, rate=1.0)
    with pytest.raises(Cancelled):
        mode_evidence(data, starts, rng=np.random.default_rng(0), stopped=lambda: True)


def test_what_cannot_be_weighed_is_refused_in_a_sentence():
    data = laurberg("two")
    starts = restarts_of(data, 3, 2, sigma=0.05, rate=1.0)
    rng = np.random.default_rng(0)
    with pytest.raises(SettingsError, match="flat prior"):
        mode_evidence(data, starts, rng=rng, model_settings={"rate": 0.0, "sigma": 0.1})
    with pytest.raises(SettingsError, match="at least 2"):
        mode_evidence(data, starts, rng=rng, repeats=1)


def test_components_that_change_places_freely_leave_a_mode_its_part():
    """Draws in six orders, all alike: a sixth belongs to one of them, whichever few are met."""
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(3) for _ in range(400)])
    weights = np.full(400, 1 / 400)
    near = np.arange(400) < 300
    assert own_part(weights, near, orders) == pytest.approx(0.75 / 6, rel=0.15)
    few = np.arange(400) < 8
    few_orders = orders[~(orders == np.arange(3)).all(axis=1)][:400]
    assert own_part(weights[:300] * 4 / 3, few[:300], few_orders[:300]) > 0
    ordered = np.tile(np.arange(3), (400, 1))
    assert own_part(weights, near, ordered) == pytest.approx(0.75)


def test_systematic_resampling_keeps_every_particle_in_proportion():
    weights = np.array([0.5, 0.25, 0.125, 0.125])
    taken = np.bincount(
        systematic(np.repeat(weights, 8) / 8, np.random.default_rng(0)), minlength=32
    )
    expected = np.repeat(weights, 8) / 8 * 32
    assert (np.abs(taken - expected) < 1).all()
    assert taken.sum() == 32


def test_halved_steps_hold_the_old_ones():
    np.testing.assert_array_equal(halved(np.array([0.0, 0.5, 1.0])), [0, 0.25, 0.5, 0.75, 1])


def test_a_way_that_does_not_arrive_is_given_up_in_a_sentence():
    far_apart = Population((np.zeros(4),), np.array([0.0, 1e9, 2e9, 3e9]))
    still = {"start": lambda count, rng: far_apart, "move": lambda *_: far_apart}
    path = SimpleNamespace(**still, effective=0.9)
    with pytest.raises(RunError, match="had come 0% far, so it was given up"):
        anneal(path, 4, np.random.default_rng(0))
