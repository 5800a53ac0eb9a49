"""What is said of a fit is what the loss of the runs measures: a divergence is no error."""

from contextlib import closing

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec
from bnmf_core.analysis import quality, structure
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.comparison import Comparison, open_comparison
from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.analysis.mode_table import mode_table
from bnmf_core.analysis.scoreboard import scoreboard
from bnmf_core.analysis.stages import compute
from bnmf_core.compare.distances.invariants import quantities
from bnmf_core.data.repair import hide_entries
from bnmf_core.figures.modes import mode_map
from bnmf_core.figures.quality import hidden_plot
from bnmf_core.figures.verdict_pictures import by_error
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import say
from bnmf_core.findings.sources import fit
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share import report
from bnmf_core.share.pictures import Subject, pictures
from bnmf_core.store.run_store import RunStore
from pages.quality_parts.pictures import pictures_of
from tests.share.test_report import unpacked

OF_SQUARES = ("relative error", "‖X − AW‖")


def counts() -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.exponential(3, (8, 2)) @ rng.exponential(2, (2, 10))).astype(float)
    return hide_entries(Dataset.from_array(X, name="counts"), 0.1, rng)


def compared(folder, *models: str) -> Answer:
    specs = [RunSpec("random_restarts", 2, one, 6, seed) for seed, one in enumerate(models)]
    store = RunStore(folder)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(counts(), specs)
        runner.wait(run_ids)
    comparison = open_comparison(store, run_ids)
    compute(comparison, lambda part, stage: None, lambda: False, ("structure", "quality"))
    return Answer(comparison, "max_angle", structure.modes_at(comparison, "max_angle", 15.0))


@pytest.fixture(scope="module")
def divergences(tmp_path_factory) -> Answer:
    return compared(tmp_path_factory.mktemp("kl"), "kl", "kl")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Answer:
    return compared(tmp_path_factory.mktemp("mixed"), "kl", "gaussian")


def figures(answer: Answer) -> str:
    """Every figure that shows measures of fit, as text."""
    comparison, modes, subject = answer.comparison, answer.modes, Subject(answer)
    focus = np.ones(len(comparison.members), dtype=bool)
    points = np.zeros((len(comparison.members), 2))
    table = mode_table(comparison, "max_angle", modes, None)
    found = quality.STAGE.of(comparison)
    axes = comparison.measure_axis, comparison.fit.loss.axis
    drawn = [
        *(one.figure for one in pictures(subject) if one.figure is not None),
        by_error(table, comparison.measure, comparison.explains),
        mode_map(
            points,
            comparison.members,
            modes.labels,
            modes.representative,
            comparison.optima,
            [""] * modes.count,
            np.zeros(modes.count, dtype=bool),
            answer.mode_names,
            "°",
            focus,
            comparison.measure,
        ),
        hidden_plot(found.table("max_angle"), subject.styles, focus, 0.5, axes),
    ]
    return "".join(str(figure.to_plotly_json()) for figure in drawn)


def criteria(comparison: Comparison) -> str:
    found = [one.of(comparison) for one in CRITERIA.values()]
    return "".join(f"{one.label}. {one.about}" for one in found)


@pytest.mark.slow
def test_divergences_are_never_called_relative_errors(divergences):
    comparison = divergences.comparison
    page = report.report(divergences).decode()
    told = {
        "findings": " ".join(finding.sentence for finding in divergences.findings),
        "criteria": criteria(comparison),
        "report": page[: page.index('<script type="text/plain"')] + unpacked(page, "content"),
        "figures": figures(divergences),
        "quality": str(pictures_of(Subject(divergences).distance, comparison)),
        "traces": str(quantities(comparison.loss)),
    }
    for place, words in told.items():
        assert "deviance" in words or "D(X ‖ AW)" in words, place
        assert not [word for word in OF_SQUARES if word in words], place


@pytest.mark.slow
def test_different_measures_are_not_compared(mixed):
    comparison = mixed.comparison
    assert comparison.measure == "measure of fit"
    assert not [fact for fact in fit(comparison) if fact.key.startswith("errors")]
    board = scoreboard(Board(comparison, "max_angle", mixed.modes, 15.0))
    of_fit = board[board["criterion"].isin(["best_error", "median_error"])]
    assert len(of_fit) == 4 and not of_fit["best"].any()
    assert of_fit["doubt"].eq("not the same measure for all").all()
    assert not board["doubt"].str.contains("fits poorly").any()
    assert OF_SQUARES[0] not in criteria(comparison)


def test_squared_errors_are_called_what_they_were(answer):
    comparison = answer.comparison
    assert CRITERIA["best_error"].of(comparison).label == "best relative error"
    assert CRITERIA["median_error"].of(comparison).about == "‖X − AW‖/‖X‖ of the middle one."
    error = quantities(comparison.loss)["error"]
    assert error.label == "Relative error"
    assert error.summary == "‖X − AW‖/‖X‖: the part of X that AW leaves unexplained."
    assert "‖X − AW‖/‖X‖" in say(fit(comparison)) and "relative error" in say(fit(comparison))
