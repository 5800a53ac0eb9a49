"""The prior rate λ that is taken from the data: by its definition, its units, and a planted one."""

import numpy as np
import pytest

from bnmf_core import RunSpec, registry
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.probability.reference import reference_factors
from bnmf_core.runs import engine
from bnmf_core.runs.planning import describe, make_plan

BOTH, SIMPLEX = ("gaussian", "uniform"), ("gaussian_simplex", "silf")


def resolved(dataset, key, rank=3, **given):
    model = registry.model(key)
    return model.resolve(dataset, rank, model.Settings(**given))


@pytest.mark.parametrize("key", BOTH + SIMPLEX)
def test_an_open_rate_is_one_over_the_mean_entry_of_a_reference(small, key):
    A, W = registry.model(key).scale(*reference_factors(small, 3, 1))
    entries = np.concatenate([A.ravel(), W.ravel()]) if key in BOTH else W
    settings = resolved(small, key)
    assert settings.rate == pytest.approx(1 / entries.mean(), rel=1e-12)
    # The same whatever else is open, and only where it is open itself.
    fixed = {"epsilon": 0.5} if key in ("silf", "uniform") else {"sigma": 0.5}
    assert resolved(small, key, **fixed).rate == settings.rate
    assert resolved(small, key, rate=1.0).rate == 1.0
    assert resolved(small, key, rate=0.0).rate == 0.0


@pytest.mark.parametrize("key", BOTH + SIMPLEX)
def test_the_unit_of_the_data_does_not_matter(small, key):
    """100 times larger X: balanced factors are each 10 times larger, W on the simplex 100 times."""
    larger = Dataset.from_array(100 * small.X)
    ratio = resolved(small, key).rate / resolved(larger, key).rate
    assert ratio == pytest.approx(10 if key in BOTH else 100, rel=1e-6)


@pytest.mark.parametrize("rate", [0.05, 1.0, 20.0])
def test_a_planted_rate_is_found(rate):
    """Both factors Exp(λ), enough of them that no component is much larger than another."""
    rng = np.random.default_rng(1)
    A, W = rng.exponential(1 / rate, (60, 4)), rng.exponential(1 / rate, (4, 80))
    assert resolved(Dataset.from_array(A @ W), "gaussian", 4).rate == pytest.approx(rate, rel=0.15)


def test_a_run_tells_its_rate(small):
    info = describe(make_plan(small, RunSpec("gibbs", 3)))
    assert info["model_settings"]["rate"] == resolved(small, "gaussian").rate
    particles = engine.run(small, RunSpec("gibbs", 3, particles=2, model_settings={"rate": 1.0}))
    assert particles.info["model_settings"]["rate"] == 1.0


def test_an_open_rate_is_stored_as_open(store, small):
    dataset = store.add_dataset(small)
    for given in ({}, {"rate": 0.5}, {"sigma": 0.1}):
        claim = store.life.enter(dataset, RunSpec("gibbs", 3, model_settings=given))
        assert store.run(claim.run_id).spec.model_settings == given
