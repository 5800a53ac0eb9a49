"""Autocorrelation times, effective sample sizes, R̂, and chains in modes of their own."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bnmf_core import registry
from bnmf_core.compare.chain_modes import chain_modes, chain_modes_of
from bnmf_core.compare.distances.invariants import INVARIANTS
from bnmf_core.compare.mixing import (
    LEAST_RENEWED,
    WARNING,
    autocorrelation_time,
    energy_renewed,
    mixing,
    mixing_of,
    quantities_of,
)
from bnmf_core.core.errors import DataError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs.engine import run
from bnmf_core.samplers import hamiltonian
from tests.autoregressive import autoregressive


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.95])
def test_the_autocorrelation_time_of_a_first_order_process_is_known(rho):
    chains = autoregressive(rho, (8, 20_000))
    found = np.mean([autocorrelation_time(chain) for chain in chains])
    assert found == pytest.approx((1 + rho) / (1 - rho), rel=0.08)


def test_scale_and_shift_do_not_matter():
    chain = autoregressive(0.8, (1, 3000))[0]
    expected = pytest.approx(autocorrelation_time(chain), rel=1e-6)
    assert autocorrelation_time(1e-17 * chain) == expected
    assert autocorrelation_time(5.0 - 1e12 * chain) == expected


def test_effective_sizes_count_the_draws_of_all_chains():
    table, _ = mixing({"log_joint": autoregressive(0.5, (4, 5000))}).report
    row = table.loc["log_joint"]
    assert row["ess_bulk"] == pytest.approx(20_000 / 3, rel=0.1)
    assert 0 < row["ess_tail"] <= 20_000 * 1.1
    assert row["r_hat"] == pytest.approx(1.0, abs=0.01)
    assert (row["label"], row["unit"], row["reason"]) == ("Log joint", "nats", "")


def test_chains_at_different_levels_have_a_large_r_hat():
    draws = autoregressive(0.3, (4, 500)) + np.array([[0.0], [0.0], [5.0], [5.0]])
    table, _ = mixing({"error": draws}).report
    assert table.loc["error", "r_hat"] > 1.5
    assert table.loc["error", "ess_bulk"] < 20


@pytest.mark.parametrize(
    ("draws", "reason"),
    [
        (np.ones((2, 50)), "does not change in chain 0"),
        (np.vstack([np.arange(50.0), np.ones(50)]), "does not change in chain 1"),
        (np.random.default_rng(0).random((2, 5)), "has 5 draws; at least 8"),
        (np.empty((2, 0)), "has 0 draws; at least 8"),
        (np.array([[np.nan, *range(20)], [np.inf, *range(20)]]), "not finite"),
    ],
)
def test_what_cannot_be_measured_is_missing_with_a_reason(draws, reason):
    table, _ = mixing({"error": draws}).report
    row = table.loc["error"]
    assert reason in row["reason"] and row["reason"].endswith(".")
    assert row[["iat", "ess_bulk", "ess_tail", "r_hat"]].isna().all()
    assert np.isnan(autocorrelation_time(draws[0])) or draws.shape[1] > 8


def test_one_chain_has_sizes_but_no_r_hat():
    table, sentence = mixing({"error": autoregressive(0.3, (1, 500))}).report
    assert np.isnan(table.loc["error", "r_hat"]) and table.loc["error", "ess_bulk"] > 100
    assert "only one" in table.loc["error", "reason"]
    assert sentence.startswith(WARNING)


def test_arrays_that_do_not_fit_are_named():
    with pytest.raises(DataError, match="one row per chain"):
        mixing({"error": np.ones((2, 50)), "total": np.ones((2, 49))})
    with pytest.raises(DataError, match="one row per chain"):
        mixing({})
    with pytest.raises(DataError, match="as many chain numbers"):
        chain_modes(np.zeros((3, 3)), np.zeros(2))


def places(centres: list[float], spread: float, draws: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Distances between points on a line, and their chains; one chain at each centre."""
    rng = np.random.default_rng(0)
    points = np.concatenate([centre + spread * rng.random(draws) for centre in centres])
    return np.abs(points[:, None] - points[None, :]), np.repeat(np.arange(len(centres)), draws)


def test_chains_in_two_modes_are_told_apart():
    found = chain_modes(*places([0.0, 30.0, 0.1, 30.2], 1.0), "°")
    assert found.count == 2
    np.testing.assert_array_equal(found.labels, [0, 1, 0, 1])
    assert "4 chains sit in 2 different modes" in found.sentence and "°" in found.sentence
    assert (found.closest == found.closest.T).all() and (np.diag(found.closest) == 0).all()


def test_chains_in_one_mode_are_not_told_apart():
    assert chain_modes(*places([0.0, 0.3, 0.2], 1.0)).count == 1
    # Connected through a third chain.
    assert chain_modes(*places([0.0, 1.5, 3.0], 1.0)).count == 1
    alone = chain_modes(*places([0.0], 1.0))
    assert alone.count == 1 and "one chain only" in alone.sentence


def test_chains_that_stand_still_in_different_places_are_told_apart():
    assert chain_modes(*places([0.0, 1.0], 0.0)).count == 2
    assert chain_modes(*places([1.0, 1.0], 0.0)).count == 1


def two_chains(second: int, sigma: float = 1e-3, draws: int = 400):
    """Draws around the first solution, and around the first or the second one."""
    truth = laurberg("two").truth
    rng = np.random.default_rng(0)
    known = [truth[0]] * draws + [truth[second]] * draws
    A = np.stack([t.A for t in known]) * np.exp(sigma * rng.standard_normal((2 * draws, 6, 3)))
    W = np.stack([t.W for t in known]) * np.exp(sigma * rng.standard_normal((2 * draws, 3, 6)))
    error = sigma * rng.random(2 * draws)
    return SimpleNamespace(
        A=A,
        W=W,
        chain=np.repeat([0, 1], draws),
        draw=np.tile(np.arange(draws), 2),
        log_joint=-error,
        error=error,
        info={},
        trace={},
    )


def test_r_hat_sees_no_second_mode_and_the_sentence_says_it():
    apart, together = mixing_of(two_chains(1)), mixing_of(two_chains(0))
    for found, count in ((apart, 2), (together, 1)):
        table, sentence = found.report
        assert list(table.index) == ["log_joint", "error", *INVARIANTS]
        assert (table["r_hat"] < 1.05).all()
        assert found.modes.count == count
        assert sentence == f"{WARNING} {found.modes.sentence}"
    assert "2 different modes" in apart.report[1]
    assert "No gap separates the 2 chains" in together.report[1]


def test_quantities_come_chain_by_chain_in_order_and_cut_to_the_shortest():
    particles = two_chains(1)
    mixed = np.random.default_rng(3).permutation(800)[:-1]
    shuffled = SimpleNamespace(
        **{k: v[mixed] if isinstance(v, np.ndarray) else v for k, v in vars(particles).items()}
    )
    found = quantities_of(shuffled)
    shortest = min(np.bincount(particles.chain[mixed]))
    assert found["error"].shape == (2, shortest)
    left = {chain: np.sort(shuffled.draw[shuffled.chain == chain])[:shortest] for chain in (0, 1)}
    for chain in (0, 1):
        np.testing.assert_array_equal(
            found["error"][chain], particles.error[particles.chain == chain][left[chain]]
        )


def test_a_trace_is_taken_after_its_warm_up():
    sweeps = np.tile(np.arange(30), 2)
    values = np.arange(60.0)
    trace = {
        "chain": np.repeat([0, 1], 30),
        "sweep": sweeps,
        "warm_up": sweeps < 10,
        "log_joint": values,
        "log_likelihood": values,
        "error": values,
        "total": values,
    }
    found = quantities_of(SimpleNamespace(trace=trace))
    assert list(found) == ["log_joint", "log_likelihood", "error", "total"]
    np.testing.assert_array_equal(found["total"], [np.arange(10, 30), np.arange(40, 60)])


def test_a_run_of_gibbs_is_measured_as_it_comes():
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    settings = {"chains": 2, "warm_up": 5, "thinning": 1}
    spec = RunSpec("gibbs", rank=3, particles=200, settings=settings, model_settings={"sigma": 0.1})
    particles = run(data, spec)
    found = mixing_of(particles, data)
    table, sentence = found.report
    assert (found.chains, found.draws) == (2, 100)
    assert {"log_joint", "log_likelihood", "error", *INVARIANTS} <= set(table.index)
    assert np.isfinite(table["iat"]).all() and sentence
    problem = SimpleNamespace(dataset=data, model_settings=SimpleNamespace(sigma=0.1))
    expected = registry.model("gaussian").log_likelihood(problem, particles.A, particles.W)
    kept = quantities_of(SimpleNamespace(**{**vars(particles), "trace": {}}), data)
    np.testing.assert_allclose(kept["log_likelihood"].ravel(), expected, rtol=1e-9)
    assert chain_modes_of(particles, "l1_max").labels.shape == (2,)


def test_the_error_of_the_mean_is_that_of_the_library():
    rng = np.random.default_rng(3)
    values = 0.1 * rng.normal(size=(4, 100)).cumsum(axis=1) + rng.normal(size=(4, 100))
    row = mixing({"error": values}).report[0].loc["error"]
    assert row["mcse"] == pytest.approx(array_stats.mcse(values, method="mean"), rel=1e-9)


def test_the_energy_renewed_is_that_of_the_plain_formula():
    energies = 1e9 + np.random.default_rng(3).standard_normal((3, 4000))
    found = energy_renewed(energies)
    for chain, value in zip(energies, found, strict=True):
        changes = sum((after - before) ** 2 for before, after in itertools.pairwise(chain))
        spread = sum((energy - chain.mean()) ** 2 for energy in chain)
        assert value == pytest.approx(changes / spread, rel=1e-5)
    # Independent energies differ by √2 of their standard deviation.
    assert found == pytest.approx(2.0, rel=0.05)


def test_short_and_still_chains_have_no_energy_renewed():
    energies = np.random.default_rng(3).standard_normal((2, 20))
    energies[1] = 7.0
    assert np.isfinite(energy_renewed(energies)).tolist() == [True, False]
    assert np.isnan(energy_renewed(energies[:, :4])).all()


@pytest.mark.parametrize(("kept", "creeps"), [(0.0, False), (0.99, True)])
def test_chains_whose_momenta_are_hardly_renewed_creep(kept, creeps):
    """On a Gaussian, where ``kept`` is how much of a momentum goes on into the next trajectory."""
    rng = np.random.default_rng(5)

    def density(q):
        return -0.5 * (q**2).sum(axis=1), -q

    start = rng.standard_normal((3, 20))
    point = hamiltonian.Point(start, *density(start))
    momentum = rng.standard_normal(start.shape)
    energies = []
    for _ in range(1000):
        fresh = rng.standard_normal(start.shape)
        momentum = kept * momentum + np.sqrt(1 - kept**2) * fresh
        before = hamiltonian.energy(point, momentum)
        energies.append(before)
        end, momentum = hamiltonian.leapfrog(density, point, momentum, np.full(3, 0.2), 8)
        outcome = hamiltonian.accept(point, before, end, momentum, rng)
        # What is rejected goes back the way it came.
        momentum = np.where(outcome.accepted[:, None], momentum, -momentum)
        point = outcome.point
    found = energy_renewed(np.array(energies).T)
    assert ((found < LEAST_RENEWED) == creeps).all()
