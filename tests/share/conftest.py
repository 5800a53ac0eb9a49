"""A small comparison with everything computed, whose names and notes are hostile."""

from contextlib import closing

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, laurberg
from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import compute
from bnmf_core.findings.answer import Answer
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore

HOSTILE = "</script><img src=http://127.0.0.2/x onerror=alert(1)>{content}"
CHAIN = {"chains": 2, "warm_up": 20, "thinning": 1}


def data() -> Dataset:
    """Twice two solutions' data, with labels and names that would do harm in a page."""
    X = laurberg("two", noise=0.001, rng=np.random.default_rng(0)).X
    X = np.hstack([X, X])
    names = [f"{HOSTILE} {d}" for d in range(6)]
    return Dataset.from_array(
        X, name=HOSTILE, features=names, labels={HOSTILE: [HOSTILE, "other"] * 6}
    )


@pytest.fixture(scope="package")
def store(tmp_path_factory):
    return RunStore(tmp_path_factory.mktemp("share"))


@pytest.fixture(scope="package")
def answer(store) -> Answer:
    specs = [
        RunSpec("random_restarts", 3, particles=12),
        RunSpec("gibbs", 3, particles=20, settings=CHAIN, seed=3),
    ]
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data(), specs, [HOSTILE, "second"])
        runner.wait(run_ids)
    comparison = open_comparison(store, run_ids)
    compute(comparison, lambda part, stage: None, lambda: False)
    return Answer(comparison, "max_angle", structure.modes_at(comparison, "max_angle", 15.0))
