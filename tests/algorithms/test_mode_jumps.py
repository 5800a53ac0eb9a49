"""Jumps between modes: their densities by definition, and masses that are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bnmf_core import distances, find_modes, mode_evidence
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs import engine, planning
from bnmf_core.samplers import fitted_jump
from bnmf_core.samplers.adaptation import Pilot
from bnmf_core.samplers.landmarks import landmarks, match, unit_columns

from .kernels import make_problem
from .masses import mass_of_first, nearest_solution

SHORT = {"pilot": 60, "warm_up": 5}


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [pytest.param(0.05, marks=pytest.mark.long), 0.001])
def test_two_solutions_have_half_the_mass_each(sigma):
    settings = {"chains": 40, "sweeps": 1}
    spec = RunSpec(
        "mode_jumps",
        3,
        particles=40_000,
        settings=settings,
        model_settings={"sigma": sigma, "rate": 1.0},
    )
    particles = engine.run(laurberg("two"), spec)
    assert abs(mass_of_first(particles) - 0.5) < 0.04
    assert 0.04 < particles.info["acceptance"] < 0.2
    assert particles.info["notes"] == [
        "40 restarts fell into 2 modes; chains jump between them by fitted proposals."
    ]


def test_that_no_jump_was_accepted_is_said_with_what_to_do():
    """Sharp modes of many counts, and a jump in a single step."""
    X = np.round(4000.0 * np.tile(laurberg("two").X, (2, 2)))
    settings = SHORT | {"chains": 2, "proposal": "annealed", "bridge": 1}
    spec = RunSpec("mode_jumps", 3, "poisson", particles=6, settings=settings)
    particles = engine.run(Dataset.from_array(X), spec)
    assert particles.info["acceptance"] == 0.0
    said = " ".join(particles.info["notes"])
    assert said.count("A chain accepted none of its 8 jumps") == 1
    assert "more steps of an annealed jump" in said


@pytest.mark.slow
def test_with_noise_one_of_two_equal_fits_has_nearly_all_the_mass():
    settings = {"chains": 40, "sweeps": 1, "start": "known"}
    spec = RunSpec(
        "mode_jumps",
        3,
        particles=40_000,
        settings=settings,
        model_settings={"sigma": 0.01, "rate": 1.0},
    )
    particles = engine.run(laurberg("two", noise=0.01), spec)
    assert 0.0005 < mass_of_first(particles) < 0.02
    assert particles.info["notes"][0].startswith("The known factorizations are 2 modes;")


def of_two_solutions(particles):
    """0 or 1 for each, of factorizations of X that has every row of the problem twice."""
    A = np.asarray(particles.A)
    return nearest_solution(SimpleNamespace(A=A.reshape(A.shape[0], 2, 6, 3).sum(axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("proposal", "chains", "draws", "warm_up"),
    [
        pytest.param("annealed", 16, 40, 20, marks=pytest.mark.long),
        ("fitted", 40, 400, 300),
    ],
)
def test_modes_of_counts_are_visited_as_often_as_they_have_mass(proposal, chains, draws, warm_up):
    X = np.round(40.0 * np.tile(laurberg("two").X, (2, 2)))
    X[5, 6] += 8.0  # which one solution explains better
    data = Dataset.from_array(X)
    settings = {"chains": chains, "sweeps": 1, "warm_up": warm_up, "proposal": proposal}
    spec = RunSpec("mode_jumps", 3, "poisson", particles=chains * draws, settings=settings)
    particles = engine.run(data, spec)
    assert particles.info["notes"][0].startswith("40 restarts fell into 2 modes; chains jump")
    first = of_two_solutions(particles) == 0
    means = np.array([first[particles.chain == c].mean() for c in range(chains)])
    assert (means > 0.05).mean() > 0.5 and (means < 0.95).mean() > 0.5  # they do cross
    starts = engine.run(data, RunSpec("random_restarts", 3, "poisson", particles=20))
    starts = starts.subset(find_modes(distances(starts), threshold=10.0).representative)
    found = mode_evidence(data, starts, rng=np.random.default_rng(0), repeats=4, check=False)
    (mass,) = found["mass"][of_two_solutions(starts) == 0]
    error = np.hypot(means.std(ddof=1) / np.sqrt(chains), 0.05)
    assert abs(mass - 0.5) > 0.1 and abs(first.mean() - mass) < 3.5 * error


@pytest.mark.parametrize("algorithm", ["mode_jumps", "tempered_smc"])
def test_counts_with_a_dispersion_are_refused(algorithm):
    data = Dataset.from_array(np.arange(1.0, 13.0).reshape(3, 4))
    planning.check(data, RunSpec(algorithm, 2, "poisson"))
    with pytest.raises(SettingsError, match="cannot draw counts with a dispersion: "):
        planning.check(data, RunSpec(algorithm, 2, "negative_binomial"))


def test_one_mode_is_told_with_what_to_run_first():
    rng = np.random.default_rng(0)
    data = Dataset.from_array(rng.random((6, 1)) @ rng.random((1, 7)) + 0.01 * rng.random((6, 7)))
    particles = engine.run(data, RunSpec("mode_jumps", 1, particles=6, settings=SHORT))
    (note,) = particles.info["notes"]
    assert "nothing to jump to" in note and "run Random restarts or Q-Transform first" in note
    # What it proposes within the one mode is accepted or not as anywhere.
    assert set(particles.diagnostics["acceptance"]) <= {0.0, 1.0}


# The mixture of Student t


def test_the_density_of_the_mixture_is_that_of_scipy():
    rng = np.random.default_rng(1)
    roots = np.linalg.cholesky([np.eye(4), np.diag([4.0, 1.0, 0.25, 9.0]) + 0.2])
    modes = fitted_jump.FittedModes(rng.standard_normal((2, 4)), roots)
    z = rng.standard_normal((50, 4))
    parts = [
        stats.multivariate_t.pdf(z, loc, root @ root.T, df=8)
        for loc, root in zip(modes.centers, modes.roots, strict=True)
    ]
    np.testing.assert_allclose(
        fitted_jump.log_density(modes, z), np.log(np.mean(parts, axis=0)), rtol=1e-10
    )


def test_what_is_drawn_has_the_moments_that_were_fitted():
    rng = np.random.default_rng(2)
    mean, covariance = np.array([[1.0, -2.0, 0.5]]), np.diag([1.0, 4.0, 0.01]) + 0.05
    modes = fitted_jump.fit(mean, covariance[None] + mean[:, :, None] * mean[:, None])
    z = fitted_jump.draw(modes, 400_000, rng)
    np.testing.assert_allclose(z.mean(axis=0), mean[0], atol=0.015)
    np.testing.assert_allclose(np.cov(z.T), covariance, atol=0.05)


# Landmarks


def test_alike_bases_are_one_landmark_whatever_their_order_and_scale():
    rng = np.random.default_rng(10)
    one, other = np.eye(5)[:, :3], np.eye(5)[:, [4, 3, 1]]
    A = np.stack(
        [3.0 * one[:, [2, 0, 1]] + 0.01 * rng.random((5, 3)), one, other, 0.5 * one[:, ::-1]]
    )
    found = landmarks(A, np.array([1.0, 0.5, 2.0, 3.0]), threshold=10.0, most=5)
    assert [m for m, _ in found] == [1, 2]
    np.testing.assert_array_equal(found[0][1], [0, 1, 2])
    assert found[1][1][1] == 2  # the component that both have stands in the same place
    assert [m for m, _ in landmarks(A, np.array([1.0, 0.5, 2.0, 3.0]), 10.0, most=1)] == [1]


# The pilot


def between_two_solutions(sigma):
    """A problem of two solutions, and as landmarks both and the place halfway between them."""
    data = laurberg("two", noise=0.01)
    (one, V), (other, W) = ((truth.A, truth.W) for truth in data.truth)
    order = match(*unit_columns(np.stack((one, other))))[1]
    A = np.stack((one, other[:, order], (one + other[:, order]) / 2))
    problem = make_problem(data.X, 3, sigma)
    return problem, A, np.stack((V, W[order], (V + W[order]) / 2))


def test_a_place_that_chains_leave_is_no_mode():
    problem, A, W = between_two_solutions(sigma=0.01)
    pilot = Pilot.of(A, W, chains=8)
    rng = np.random.default_rng(11)
    recorded = 0
    for sweep in range(150):
        pilot = pilot.swept(problem, rng)
        if sweep >= 100:
            pilot, recorded = pilot.added(lambda A, W: (A, A**2)), recorded + 1
    stayed = pilot.stayed()
    assert stayed[:2].all() and not stayed[2].any()
    mean, _ = pilot.means(stayed, recorded)
    assert mean.shape == (2, *A[0].T.shape)
    found = unit_columns(mean.transpose(0, 2, 1))
    angles = [match(found[k], unit_columns(A[k : k + 1])[0])[0] for k in range(2)]
    assert max(angles) < 3.0


def test_a_chain_that_exchanged_components_has_not_stayed():
    _, A, W = between_two_solutions(sigma=0.01)
    pilot = Pilot.of(A[:2], W[:2], chains=3)
    exchanged = pilot.A.copy()
    exchanged[1] = exchanged[1][[1, 0, 2]]
    np.testing.assert_array_equal(
        replace(pilot, A=exchanged).stayed(), [[True, False, True], [True, True, True]]
    )


def test_moments_are_means_over_the_chains_that_stayed():
    rng = np.random.default_rng(12)
    first, second = rng.random((6, 2, 5)), rng.random((6, 4))
    pilot = Pilot(rng.random((3, 4, 2)), rng.random((6, 2, 4)), np.empty((6, 2, 1)), first, second)
    stayed = np.array([[True, True], [False, False], [False, True]])
    one, other = pilot.means(stayed, recorded=10)
    np.testing.assert_allclose(one, [first[:2].sum(axis=0) / 20, first[5] / 10])
    np.testing.assert_allclose(other, [second[:2].sum(axis=0) / 20, second[5] / 10])
