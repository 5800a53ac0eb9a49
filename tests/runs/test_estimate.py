"""What a run will cost: sizes exactly, times in proportion and after what was measured."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.synthetic import low_rank
from bnmf_core.likelihoods import MODELS
from bnmf_core.runs import engine
from bnmf_core.runs.estimate import FIRST_GUESS, estimate
from tests.suited import model_of, suited

PREPARING = 0.3


@pytest.mark.slow
@pytest.mark.parametrize("key", list(registry.ALGORITHMS))
def test_the_size_is_that_of_the_factors(key):
    # Some explorers start at a factorization that is known of the data.
    data = suited(low_rank(12, 15, 3, noise=0.1), model_of(key))
    spec = RunSpec(key, 3, model_of(key), particles=6)
    particles = engine.run(data, spec)
    cost = estimate(data, spec)
    assert cost.particle_bytes == particles.A.nbytes + particles.W.nbytes
    # The particles while they are put together, the data and their residual.
    assert cost.memory >= 2 * cost.particle_bytes + 2 * data.X.nbytes


def test_sweeps_of_counts_cost_what_their_model_says():
    """A gamma for every entry of X takes many times what its products with A and W do."""
    X = np.random.default_rng(0).poisson(3.0, (200, 300)).astype(float)
    data = Dataset.from_array(X)
    normal, dispersed = (
        estimate(data, RunSpec("gibbs", 3, model, 40)).busy
        for model in ("gaussian", "negative_binomial")
    )
    model = MODELS["negative_binomial"]
    problem = Problem.prepare(data, model, model.Settings(), 3)
    gibbs = registry.ALGORITHMS["gibbs"]
    assert dispersed == pytest.approx(40 * gibbs.work(problem, gibbs.Settings()) / FIRST_GUESS)
    assert dispersed > 20 * normal


@pytest.mark.parametrize("key", list(registry.ALGORITHMS))
def test_twice_the_particles_take_twice_the_time(key):
    # Beyond one shard, so that the same number of cores work.
    model = model_of(key)
    data = suited(low_rank(12, 15, 3, noise=0.1), model)
    one, two = (estimate(data, RunSpec(key, 3, model, particles=n)).seconds for n in (1000, 2000))
    assert two - PREPARING == pytest.approx(2 * (one - PREPARING))


def test_a_measured_run_corrects_the_guess(small, store):
    dataset_id = store.add_dataset(small)
    spec = RunSpec("gibbs", 3, particles=40)
    for seconds in (10.0, 12.0, 90.0):  # the median counts
        claim = store.life.enter(dataset_id, spec)
        store.life.end(claim, "complete", done=40, seconds=seconds)
    twice = estimate(small, RunSpec("gibbs", 3, particles=80), store)
    assert twice.seconds == pytest.approx(PREPARING + 24)
    other = RunSpec("random_restarts", 3, particles=80)
    assert estimate(small, other, store).seconds == estimate(small, other).seconds


def test_short_or_unfinished_runs_do_not_count(small, store):
    dataset_id, spec = store.add_dataset(small), RunSpec("gibbs", 3, particles=40)
    for status, seconds in (("complete", 0.4), ("cancelled", 50.0), ("failed", 50.0)):
        claim = store.life.enter(dataset_id, spec)
        store.life.end(claim, status, done=40, seconds=seconds)
    assert estimate(small, spec, store) == estimate(small, spec)


@pytest.mark.parametrize("key", ["random_restarts", "gibbs", "hmc"])
def test_gaps_take_more_time(small, key):
    spec = RunSpec(key, 3, particles=1000)
    data = hide_entries(small, 0.3, np.random.default_rng(0))
    assert estimate(data, spec).seconds > estimate(small, spec).seconds


def test_sparse_data_need_no_dense_residual():
    X = sparse.random_array((20_000, 9_000), density=1e-4, rng=np.random.default_rng(0))
    dataset = Dataset.from_array(sparse.csc_array(X))
    cost = estimate(dataset, RunSpec("random_restarts", 5, particles=4))
    assert cost.memory < 0.05 * 8 * dataset.D * dataset.N


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rank": 13}, "between 1 and 12"),
        ({"settings": {"chains": 0}}, "Chains"),
        ({"model_settings": {"rate": -1}}, "Prior rate"),
        ({"holdout": 0.6}, "held-out fraction"),
    ],
)
def test_what_does_not_fit_is_said_before_the_start(small, changes, sentence):
    spec = RunSpec(**{"algorithm": "gibbs", "rank": 3} | changes)
    with pytest.raises(BNMFError, match=sentence):
        estimate(small, spec)
