"""Draws in ArviZ: in their chains, components in one order, with the data."""

import dataclasses
import warnings

import arviz_stats
import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, laurberg, run, to_arviz
from bnmf_core.core.errors import DataError
from bnmf_core.core.particles import Particles

DATA = laurberg("unique", noise=0.01, rng=np.random.default_rng(0))
SETTINGS = {"chains": 3, "warm_up": 30, "thinning": 1}


@pytest.fixture(scope="module")
def draws() -> Particles:
    return run(DATA, RunSpec("gibbs", 3, particles=60, settings=SETTINGS))


def relabelled(particles: Particles) -> Particles:
    """The same draws, the components of every chain in another order."""
    order = np.array([np.roll(np.arange(3), chain) for chain in particles.chain])
    return dataclasses.replace(
        particles,
        A=np.take_along_axis(particles.A, order[:, None, :], axis=2),
        W=np.take_along_axis(particles.W, order[:, :, None], axis=1),
    )


def test_a_draw_stands_at_its_place_in_its_chain(draws):
    tree = to_arviz(draws, DATA)
    A, W = tree.posterior["A"], tree.posterior["W"]
    assert A.dims == ("chain", "draw", "feature", "component")
    assert W.dims == ("chain", "draw", "component", "observation")
    for chain in range(3):
        of_chain = np.flatnonzero(draws.chain == chain)
        ordered = of_chain[np.argsort(draws.draw[of_chain])]
        np.testing.assert_array_equal(tree.sample_stats["lp"][chain], draws.log_joint[ordered])
        product = A[chain, 7].to_numpy() @ W[chain, 7].to_numpy()
        np.testing.assert_allclose(product, draws.A[ordered[7]] @ draws.W[ordered[7]])
    assert set(tree.posterior.data_vars) == {"A", "W"}


def test_arviz_says_the_same_whatever_the_order_of_components(draws):
    said = [
        arviz_stats.summary(to_arviz(some, DATA), var_names=["A"], round_to="none")
        for some in (draws, relabelled(draws))
    ]
    np.testing.assert_allclose(said[0]["r_hat"], said[1]["r_hat"])
    np.testing.assert_allclose(said[0]["mean"], said[1]["mean"])
    # As they stand, chains are of different components.
    mixed = arviz_stats.summary(relabelled(draws).to_datatree(), var_names=["A"], round_to="none")
    assert mixed["r_hat"].median() > 1.5 * said[0]["r_hat"].median()


def test_the_data_stand_beside_the_draws_with_their_gaps(draws):
    X = DATA.dense().copy()
    X[0, 1] = np.nan
    gaps = Dataset.from_array(X, features=list("abcdef"))
    observed = to_arviz(draws, gaps).observed_data["X"]
    np.testing.assert_array_equal(observed, X)
    assert observed["feature"].to_numpy().tolist() == list("abcdef")
    assert "observed_data" not in to_arviz(draws)
    with pytest.raises(DataError, match="give the dataset that was factorized"):
        to_arviz(draws, laurberg("two").columns(np.arange(4)))
    with pytest.raises(DataError, match="of type ndarray; give the Dataset"):
        to_arviz(draws, X)


@pytest.mark.parametrize("algorithm", ["random_restarts", "langevin"])
def test_what_makes_no_draws_is_said(algorithm):
    made = run(DATA, RunSpec(algorithm, 3, particles=6))
    with pytest.warns(UserWarning, match="makes no draws from the posterior"):
        to_arviz(made)


def test_arviz_draws_it(draws):
    plots = pytest.importorskip("arviz_plots", reason="arviz-plots is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = to_arviz(draws, DATA)
    drawn = plots.plot_trace(tree, var_names=["A"], coords={"component": 1}, backend="none")
    assert drawn.viz["plot"]["A"].sizes["feature"] == DATA.D
