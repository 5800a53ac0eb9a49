"""The atlas: data sets as uploads, verdicts with what they rest on, and what other seeds change."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.harness import data_folder
from bnmf_core.analysis.proposal import proposal
from studies.atlas import findings, measure, plan
from studies.atlas.measure import PUBLISHED, RECOMMENDED, AtlasPlan
from studies.atlas.plan import AtlasStudy
from studies.atlas.sources import SOURCES

FOLDER = data_folder()


def test_there_are_data_sets_of_many_fields():
    assert len(SOURCES) >= 18 and len({source.field for source in SOURCES.values()}) >= 6
    assert all(bool(source.rank) <= bool(source.reference) for source in SOURCES.values())


@pytest.mark.parametrize("key", [key for key, source in SOURCES.items() if source.present(None)])
def test_data_that_come_with_packages_can_be_loaded(key):
    data = SOURCES[key].load(None)
    assert SOURCES[key].conclusion in {*data.labels, ""}


@pytest.mark.parametrize(
    ("key", "shape", "model"),
    [
        ("doublets", (78, 6), "poisson"),
        ("votes", (16, 434), "gaussian"),
        ("mushrooms", (119, 8124), "gaussian"),
        ("swimmer", (220, 256), "gaussian"),
    ],
)
def test_public_data_are_read_as_uploads(key, shape, model):
    if not SOURCES[key].present(FOLDER):
        pytest.skip("the public data are not on this machine")
    data = SOURCES[key].load(FOLDER)
    assert data.X.shape == shape and proposal(data).model == model


def cell(word="open", grade="open", modes=2):
    return {
        **{"rank": 3, "restarts": 20, "unconverged": 0, "modes": modes, "as_good": 1},
        **{
            "elsewhere": 0.25,
            "family": False,
            "seconds": 1.0,
            "masses": [0.9, None],
            "model": "gaussian",
        },
        "states": ["determined", "determined", "ambiguous"],
        "verdicts": {"Explanations": {"word": word, "grade": grade, "said": "Two modes."}},
        "conclusions": [
            {"label": "kind", "task": task, "areas": areas, "difference": apart, "verdict": verdict}
            for task, areas, apart, verdict in (
                ("a", [0.9, 0.8], 0.1, "matters"),
                ("b", [0.95, 0.95], 0.0, "does not matter"),
            )
        ],
    }


def test_tables_tell_what_cells_hold_and_what_another_seed_changes():
    study = AtlasStudy(AtlasPlan(seeds=3), ("wine",))
    found = study.result(
        {
            ("wine", RECOMMENDED, 0): cell(),
            ("wine", PUBLISHED, 0): cell("one", "clear", 1) | {"rank": 4},
            ("wine", RECOMMENDED, 1): cell(),
            ("wine", RECOMMENDED, 2): cell("one", "clear"),
        }
    )
    modes, verdicts, conclusions, stability, sources = findings.tables(found)
    told = ("kind", 2, "0.900 to 0.950", "0.100 (a)", "1 of 2", "none of 2", "1 of 2")
    assert conclusions["rows"] == [("Wines", "3", *told), ("Wines", "4 (published)", *told)]
    assert modes["rows"][0] == (
        "Wines",
        "3",
        20,
        2,
        "1",
        "90 %",
        "25 %",
        "2 of 3",
        "none of 3",
        "1 of 3",
    )
    assert [row[1] for row in modes["rows"]] == ["3", "4 (published)"]
    assert [row[2] for row in verdicts["rows"]] == ["open", "one (clear)"]
    told = ("1 of 2", "none of 2", "2 of 4")
    assert stability["rows"] == [("Explanations", *told), ("all", *told)]
    assert sources["rows"][0][:2] == ("Wines", "measurements")


def test_what_was_measured_is_taken_from_the_result(tmp_path, monkeypatch):
    """Of the same data and plan; a published rank that is recommended is one analysis."""
    asked = []
    monkeypatch.setattr(plan, "measured", lambda key, kind, *_: asked.append(kind) or cell())
    study = AtlasStudy(AtlasPlan(seeds=2), ("wine", "digits"))
    kept = study.make(tmp_path / "first")
    assert asked == [RECOMMENDED, RECOMMENDED, PUBLISHED] * 2  # 3 wines are published, 10 digits
    again = study.make(tmp_path / "second", earlier=kept)
    assert again.settings == kept.settings and len(asked) == 6
    replace(study, plan=AtlasPlan(seeds=2, restarts=9)).make(tmp_path / "third", earlier=kept)
    assert len(asked) == 12


@pytest.mark.long
@pytest.mark.study
def test_a_cell_is_the_same_when_it_is_measured_again(monkeypatch):
    """Four signatures of 21 genomes, with nothing set by hand."""
    monkeypatch.setattr(measure, "STAGES", ("structure", "chains", "conclusions"))
    few = AtlasPlan(restarts=4)
    one, other = (measure.measured("breast_genomes", PUBLISHED, 0, few, None) for _ in range(2))
    for told in (one, other):
        told.pop("seconds"), told.pop("parts")
    assert one == other
    assert one["rank"] == 4 and one["model"] == "negative_binomial"
    assert np.isclose(one["elsewhere"] * one["restarts"] % 1, 0)
    assert set(one["verdicts"]) >= {"Explanations", "Components", "Chains"}
