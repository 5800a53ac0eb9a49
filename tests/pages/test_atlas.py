"""The atlas: data sets beside each other, one with its pictures, and ways to open it."""

import pytest

from studies.atlas.findings import by_data
from studies.atlas.sources import SOURCES
from studies.result import full
from tests.pages.apps import page, words

MEASURED = by_data(full("atlas"))


def test_every_measured_data_set_is_a_bar_and_the_first_is_shown(server):
    app = page("atlas")
    assert not app.exception and not app.error
    first = next(iter(MEASURED))
    drawn = sum(len(cell["pictures"]) for _, cell in MEASURED[first])
    assert len(app.get("plotly_chart")) == 1 + drawn
    assert app.query_params["problem"] == first
    assert f"Of {len(MEASURED)} data sets" in words(app)


def test_a_data_set_that_the_atlas_has_not_is_named(server):
    app = page("atlas", problem="irises")
    assert not app.exception
    (said,) = app.warning
    assert said.value == "The atlas has no data set “irises”; choose one below."
    app.run()
    assert not app.warning and app.query_params["problem"] == next(iter(MEASURED))


def test_the_words_are_those_of_the_chosen_data(server):
    app = page("atlas", problem="wine")
    assert not app.exception
    for title, verdict in MEASURED["wine"][0][1]["verdicts"].items():
        asked = title if title.endswith("?") else f"{title}:"
        assert f"{asked} {verdict['word']}." in words(app).replace("*", "")
    assert "Published: its three cultivars" in words(app)


def test_data_that_are_not_there_are_named_and_asked_for(server, monkeypatch):
    monkeypatch.setattr("pages.atlas_parts.one.FOLDER", None)
    app = page("atlas", problem="bbc")
    assert not app.exception
    assert "bbc/bbc.mtx does not come with this program" in words(app)
    assert not [button for button in app.button if button.label.startswith("Analyse with")]


@pytest.mark.parametrize("key", ["wine", "cancer", "breast_genomes"])
def test_a_finished_analysis_opens(server, key):
    app = page("atlas", problem=key)
    rank = SOURCES[key].rank
    assert f"Analyse with {rank} components" in [button.label for button in app.button]
    [finished] = [button for button in app.button if button.label.startswith("Look at")]
    finished.click().run()
    assert not app.exception and not app.error
    run_ids = app.session_state["view_runs"]
    assert {server.store.run(run_id).spec.rank for run_id in run_ids} == {rank}


def test_one_click_computes_what_has_no_archive(server, monkeypatch):
    """As Analyse does it: of the published number of components, with the proposed noise."""
    started = []
    monkeypatch.setattr(
        type(server), "start", lambda self, data, specs, **_: started.append((data, specs)) or []
    )
    app = page("atlas", problem="leukemia")
    app.button(key="start_atlas").click().run()
    assert not app.exception
    [(data, specs)] = started
    assert data.name == "Leukemia gene expression" and {spec.rank for spec in specs} == {3}
