"""What a page shows to somebody who has never seen it: short names, no ids, no empty columns."""

import json
import time

import pytest

from bnmf_core import RunSpec, laurberg
from bnmf_core.analysis import mixing
from pages.frame.words import plain
from tests.pages.apps import HEXADECIMAL, page, table_with, words


def _columns(table) -> dict:
    return json.loads(table.proto.columns)


@pytest.fixture
def chip_names():
    """The names of runs as an app offers them, and the chosen ones."""

    def of(app):
        (box,) = (box for box in app.multiselect if box.label == "Runs")
        named = dict(zip(box.options, range(len(box.options)), strict=True))
        chosen = [box.format_func(run_id) for run_id in box.value]
        assert set(chosen) <= set(named)
        return list(box.options), chosen

    return of


def test_runs_of_one_dataset_are_named_by_what_they_differ_in(server, finished, chip_names):
    app = page("coverage", runs=",".join(finished))
    assert sorted(chip_names(app)[1]) == ["Gibbs", "Random restarts"]
    assert "Labelled, 3 components" in [caption.value for caption in app.sidebar.caption]


def test_a_run_of_other_data_says_of_which(server, finished, chip_names):
    spec = RunSpec("random_restarts", rank=3, particles=3)
    (other,) = server.start(laurberg("two"), [spec])
    server.wait([other])
    options, chosen = chip_names(page("coverage", runs=",".join(finished)))
    assert sorted(options[:2]) == sorted(chosen) == ["Gibbs", "Random restarts"]
    assert options[2].startswith("Random restarts · ") and "3 components" in options[2]
    mixed = chip_names(page("coverage", runs=f"{finished[0]},{other}"))[1]
    assert all(" · " in name for name in mixed)


def test_a_run_of_the_same_algorithm_is_told_apart_before_it_is_chosen(
    server, labelled, finished, chip_names
):
    (again,) = server.start(labelled, [RunSpec("gibbs", rank=3, particles=3, seed=7)])
    server.wait([again])
    options, chosen = chip_names(page("coverage", runs=",".join(finished)))
    assert sorted(chosen) == ["Gibbs", "Random restarts"]
    assert "Gibbs, seed 7" in options


def until(app, found) -> None:
    """Draw the page again until something is there that a process of its own makes."""
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end, words(app)
        time.sleep(0.1)
        app.run()


def test_the_page_of_data_shows_no_key_and_calls_features_what_they_are(server):
    data = laurberg("two")
    named = type(data).from_array(data.X, name="Votes", features_are="species")
    server.store.add_dataset(named)
    app = page("data")
    assert not HEXADECIMAL.search(words(app))
    assert f"6 species × {data.N} observations" in words(app)
    charts = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert any("rows: 6 species" in chart for chart in charts)


def test_a_file_dropped_on_home_leads_to_its_analysis(server):
    tabs = page("data", source="upload").get("tab_container")[0]
    assert tabs.proto.tab_container.default_tab_index == 1
    app = page("home")
    table = b"a,b,c\n1,2,3\n4,5,6\n7,8,10\n"
    app.file_uploader(key="upload").set_value(("mine.csv", table, "text/csv")).run()
    until(app, lambda: any(button.key == "upload_read" for button in app.button))
    assert not any(button.label.startswith("Analyse") for button in app.button)
    app.button(key="upload_read").click().run()
    until(app, lambda: app.title[0].value == "Analyse")
    (entry,) = server.store.dataset_entries()
    assert app.query_params["data"] == entry.id and "mine" in entry.name


def test_a_file_that_cannot_be_read_is_refused_on_home(server):
    app = page("home")
    app.file_uploader(key="upload").set_value(("empty.csv", b"", "text/csv")).run()
    until(app, lambda: "The file is empty" in words(app))
    assert not server.store.dataset_entries()


def test_units_stand_above_the_columns_of_modes_and_empty_columns_are_left_out(server, finished):
    app = page("overview", part="modes", runs=",".join(finished))
    table = next(t for t in app.dataframe if "factorizations" in t.value)
    heads = {key: column.get("label") for key, column in _columns(table).items()}
    assert heads["below the best"] == "log joint below best (nats)"
    assert heads["spread"] == "spread (°)"
    assert int(table.value["factorizations"].sum()) == 12
    assert not any((column == "means nothing").all() for _, column in table.value.items())


def test_a_sentence_that_holds_for_every_row_stands_once_below_the_table(server, finished):
    app = page("traces", runs=",".join(finished))
    table = table_with(app, "label")
    assert "r_hat" not in table and "reason" not in table  # one chain
    assert not table.isna().all().any()
    (report,) = mixing.STAGE.of(server.wait_analysis(finished, "mixing")).values()
    (reason,) = set(report.table["reason"])
    assert [caption.value for caption in app.caption].count(plain(reason)) == 1


def test_scores_are_not_said_to_be_of_unseen_observations(server, finished):
    app = page("downstream", runs=",".join(finished))
    shown = app.get("plotly_chart")[0].proto.spec + words(app)
    assert "held-out" not in shown.lower()
    assert "had seen all observations, but no label" in shown
