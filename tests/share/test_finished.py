"""The finished analyses that come with the program: whole, of this version, and true."""

import numpy as np
import pytest

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.findings.answer import Answer
from bnmf_core.runs.examples import EXAMPLES
from bnmf_core.share.opening import open_archive
from bnmf_core.store.run_store import RunStore
from sample_data import sessions

EVERY = [*EXAMPLES.values(), *map(sessions.of_atlas, sessions.ATLAS_MADE)]
FINISHED = [example for example in EVERY if example.finished]


@pytest.fixture(scope="module", params=FINISHED, ids=lambda example: example.key)
def opened(request, tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("finished"))
    found = open_archive(store, request.param.finished)
    assert not found.notices
    return request.param, open_comparison(store, found.run_ids)


def test_examples_that_are_made_are_there():
    made = {*sessions.EXAMPLES_MADE, *sessions.ATLAS_MADE}
    assert {example.key for example in FINISHED} == made


def test_nothing_has_to_be_computed_again(opened):
    """Otherwise: python -m sample_data.sessions."""
    _, comparison = opened
    stages = {key: STAGES[key] for key in sessions.STAGES}
    assert all(stage.ready(comparison) for stage in stages.values())
    current = {stage.name(comparison.metrics) for stage in STAGES.values()}
    assert {path.name for path in comparison.folder.iterdir() if path.is_dir()} <= current


def test_the_errors_are_those_of_the_factorizations(opened):
    example, comparison = opened
    X = example.dataset().X
    for run in comparison.particles:
        AW = np.array(run.A) @ np.array(run.W)
        if run.spec.model == "negative_binomial":
            dispersion = run.info["model_settings"]["dispersion"]
            errors = deviance(X, AW, dispersion) / deviance(X, X.mean(), dispersion)
            np.testing.assert_allclose(run.error, errors, rtol=1e-4)
        else:
            errors = np.linalg.norm(X - AW, axis=(1, 2)) / np.linalg.norm(X)
            np.testing.assert_allclose(run.error, errors, rtol=1e-6, atol=1e-8)


def deviance(X, mean, dispersion):
    """Of the negative binomial distribution (McCullagh and Nelder 1989)."""
    itself = X * np.log(np.where(X > 0, X, 1.0) / mean)
    both = X + dispersion
    return 2.0 * (itself - both * np.log(both / (mean + dispersion))).sum(axis=(-2, -1))


def test_every_sentence_is_there_and_nothing_is_withheld(opened):
    """Of examples that were chosen; data of others may withhold what chains cannot tell."""
    example, comparison = opened
    answer = Answer(comparison, "max_angle", structure.modes_at(comparison, "max_angle", SAME_MODE))
    keys = {one.key for one in answer.findings}
    assert {"found", "probable", "fit"} <= keys
    if example.key in EXAMPLES:
        assert "uncertainty" in keys and not answer.withheld
    assert all(statement["reason"] for statement in answer.withheld)
