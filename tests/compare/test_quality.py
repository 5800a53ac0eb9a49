"""Restarts that fit about as well as a reference run."""

from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core.compare.quality import within_error
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs.engine import run


def made(error, name="data", N=5):
    M = len(error)
    return SimpleNamespace(
        A=np.ones((M, 4, 2)), W=np.ones((M, 2, N)), error=np.array(error), info={"dataset": name}
    )


def test_those_within_the_factor_are_kept():
    reference = made([0.01, 0.02])
    kept = within_error(made([0.1, 0.2, 0.2000001, 5.0]), reference)
    np.testing.assert_array_equal(kept, [True, True, False, False])
    np.testing.assert_array_equal(within_error(made([0.03, 0.05]), reference, 2), [True, False])
    np.testing.assert_array_equal(within_error(made([0.1, 0.3]), 0.02), [True, False])


def test_a_run_is_within_its_own_error():
    particles = made([0.3, 0.1])
    assert within_error(particles, particles, factor=1.0).all()


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_a_factor_that_makes_no_sense_is_named(factor):
    with pytest.raises(SettingsError, match="The factor was"):
        within_error(made([0.1]), made([0.1]), factor)


def test_runs_of_different_data_are_not_compared():
    with pytest.raises(DataError, match="4×5 matrix.*4×6"):
        within_error(made([0.1]), made([0.1], N=6))
    with pytest.raises(DataError, match="'data'.*'other'"):
        within_error(made([0.1]), made([0.1], "other"))
    with pytest.raises(DataError, match="holds no factorization"):
        within_error(made([0.1]), made([]))


def test_filtered_restarts_keep_both_solutions_and_drop_poor_ones():
    # Paper 1, section 4.2 with its projected gradient solver, stopped far from the end.
    data = laurberg("two", noise=1e-3, rng=np.random.default_rng(0))
    model = {"sigma": 1e-3}
    settings = {"solver": "projected_gradient", "max_iterations": 20, "good_enough": 0.01}
    restarts = run(
        data, RunSpec("random_restarts", 3, particles=300, settings=settings, model_settings=model)
    )
    gibbs = run(data, RunSpec("gibbs", 3, particles=300, model_settings=model))
    kept = within_error(restarts, gibbs)
    assert 30 < kept.sum() < 300
    norm = np.sqrt(data.squared_norm)
    residual = np.linalg.norm(data.X - restarts.A @ restarts.W, axis=(1, 2))
    largest = np.linalg.norm(data.X - gibbs.A @ gibbs.W, axis=(1, 2)).max()
    np.testing.assert_array_equal(kept, residual <= 10 * largest)
    assert (restarts.error[~kept] > 10 * gibbs.error.max()).all() and norm > 0
