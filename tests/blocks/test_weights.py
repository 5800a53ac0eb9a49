"""The weights of all observations, which no run keeps, are those of the factorization."""

import io

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.likelihoods.itakura_saito import LOSS as ITAKURA_SAITO
from bnmf_core.passes.weights import weights_of_all
from bnmf_core.share import formats
from bnmf_core.solvers.nnls import solve_weights


@pytest.fixture
def stored(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.poisson(20 * rng.random((400, 3)) @ rng.random((3, 15))).astype(float)
    np.save(tmp_path / "X.npy", X)
    return X.T, Dataset.from_blocks(tmp_path / "X.npy", sample=60, block_bytes=15 * 8 * 90)


@pytest.mark.parametrize("loss", [SQUARED_ERROR, KULLBACK_LEIBLER])
def test_no_weights_fit_better(stored, loss):
    X, data = stored
    A = np.random.default_rng(3).random((15, 3))
    W = np.concatenate(list(weights_of_all(data, A, loss)), axis=1)
    problem = Problem.without_model(Dataset.from_array(X), 3, loss=loss)
    _, _, slope = loss.values_and_gradients(problem, A[None], W[None])
    scale = np.abs(A).sum() * X.mean()
    assert (np.minimum(W, slope[0]) >= -1e-4 * scale).all()
    assert (np.abs(slope[0] * (W > 0)) <= 1e-4 * scale).all()


def test_a_run_exports_the_weights_of_all_observations(stored, runner):
    X, data = stored
    spec = RunSpec("random_restarts", 3, particles=2, holdout=0.1)
    chains = RunSpec("gibbs", 3, particles=4, settings={"warm_up": 2})
    run_id, of_chains = runner.start(data, [spec, chains])
    runner.wait([run_id, of_chains])
    file = io.BytesIO()
    formats.write(runner.store, run_id, "weights.npy", file)
    found = np.load(io.BytesIO(file.getvalue()))
    particles = runner.store.particles(run_id)
    best = particles.A[int(np.argmin(particles.error))]
    np.testing.assert_allclose(found, solve_weights(X, best[None])[0].T, atol=1e-9)
    with pytest.raises(SettingsError, match="kept of the sample only"):
        formats.write(runner.store, of_chains, "weights.npy", io.BytesIO())


def test_other_losses_and_data_in_memory_are_refused(stored):
    X, data = stored
    with pytest.raises(SettingsError, match="is in memory"):
        next(weights_of_all(Dataset.from_array(X), np.ones((15, 1)), SQUARED_ERROR))
    with pytest.raises(SettingsError, match="not for the Itakura"):
        next(weights_of_all(data, np.ones((15, 1)), ITAKURA_SAITO))
