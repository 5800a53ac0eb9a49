"""Two analyses of the same counts under different noise stand beside each other."""

from contextlib import closing

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec
from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import compute
from bnmf_core.findings import other_noise
from bnmf_core.findings.facts import say
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore


def analysed(store, data, model, rank=2):
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, [RunSpec("random_restarts", rank, model, 4)])
        runner.wait(run_ids)
    found = open_comparison(store, run_ids)
    compute(found, lambda part, stage: None, lambda: False, ("structure",))
    return found


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.exponential(3, (8, 2)) @ rng.exponential(2, (2, 10))).astype(float)
    return Dataset.from_array(X, name="counts")


def test_the_newest_analysis_under_the_other_noise_is_named_where_it_differs(
    tmp_path, data, monkeypatch
):
    store = RunStore(tmp_path)
    gaussian = analysed(store, data, "gaussian")
    assert not other_noise.of_modes(store, gaussian)
    counts = analysed(store, data, "poisson")
    analysed(store, data, "poisson", rank=3)  # another question
    number = {gaussian.key: 3, counts.key: 1}
    monkeypatch.setattr(other_noise, "_modes", lambda one: number[one.key])
    for found in (gaussian, counts):
        assert say(other_noise.of_modes(store, found)) == (
            "“Counts: Poisson noise, gamma priors” finds 1 mode and “Gaussian noise, exponential "
            "priors” 3: only the first allows for noise that grows with the mean."
        )
    number[gaussian.key] = 1
    assert not other_noise.of_modes(store, counts)


def test_modes_are_counted_as_on_the_overview(tmp_path, data):
    found = analysed(RunStore(tmp_path), data, "poisson")
    modes = structure.modes_at(
        found, "max_angle", structure.suggested_threshold(found, "max_angle")
    )
    assert other_noise._modes(found) == modes.count
