"""Every page in its states, by Streamlit's own test harness."""

import io
import json
import zipfile

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, laurberg, load_sample
from bnmf_core.analysis import structure
from bnmf_core.data import foreign
from bnmf_core.data.repair import hide_entries
from bnmf_core.runs import executors, job
from pages.frame import declared
from pages.frame.panel import _in_address
from pages.run_parts import promise
from tests.pages.apps import EXPLORE, HEXADECIMAL, PAGES, page, table_with, words


@pytest.mark.parametrize("name", PAGES)
def test_an_empty_server_says_what_to_do_first(server, name):
    app = page(name)
    assert not app.exception
    assert "nothing has been run yet" in words(app).lower() or name not in EXPLORE
    if name == "data":
        assert "Choose a sample" in words(app)
    if name == "run":
        assert "There are no data yet" in words(app)


NOTHING_OF_THESE = {"tree": "None of these runs is a tree", "boolean": "not a binary matrix"}


@pytest.mark.parametrize("name", PAGES)
def test_finished_runs_are_shown_with_their_origin_and_without_their_keys(server, finished, name):
    app = page(name)
    assert not app.exception
    assert not app.error
    if name in EXPLORE:
        assert app.session_state["view_runs"] == finished
        cells = [
            str(cell)
            for table in app.dataframe
            for column in table.value.select_dtypes(exclude="number")
            for cell in table.value[column]
        ]
        assert not any(HEXADECIMAL.search(shown) for shown in [words(app), *cells])
        if name in NOTHING_OF_THESE:
            assert NOTHING_OF_THESE[name] in words(app)
            return
        shown = words(app)
        assert all(f"{label} (seed 0)" in shown for label in ("Random restarts", "Gibbs"))
        assert app.query_params["runs"] == ",".join(finished)


@pytest.mark.parametrize("name", ["components", "coverage", "quality"])
def test_a_page_says_once_where_its_numbers_come_from(server, finished, name):
    app = page(name)
    for _ in range(2):
        told = [e.value for e in app.caption if e.value.startswith("Labelled, rank 3 ·")]
        assert told and len(told) == len(set(told))
        # Every chart has it beside its downloads.
        kept = [e.value for e in app.caption if e.value.startswith("From Labelled, rank 3")]
        assert len(kept) == len(app.get("plotly_chart")) > 0
        app.run()


def test_a_link_restores_runs_distance_threshold_and_focus(server, finished):
    server.wait_analysis(finished[:1], "structure")
    app = page("components", runs=finished[0], metric="wad", threshold="1.5", focus="mode:2")
    assert not app.exception
    assert app.session_state["view_runs"] == finished[:1]
    assert app.selectbox(key="view_metric").value == "wad"
    assert app.slider(key="view_threshold").value == 1.5
    assert app.selectbox(key="view_focus").value == "mode:2"
    assert "In focus: mode 2" in words(app)


@pytest.mark.parametrize("focus", ["mode:99", "rows:1.2.999", "rows:x", "nonsense"])
def test_a_focus_that_does_not_exist_falls_back_to_everything(server, finished, focus):
    app = page("components", runs=",".join(finished), focus=focus)
    assert not app.exception
    assert not app.selectbox(key="view_focus").value and "In focus" not in words(app)


def test_the_focus_of_one_page_holds_on_the_next(server, finished):
    app = page("overview", runs=",".join(finished), threshold="0")
    app.selectbox(key="view_focus").set_value("mode:1").run()
    for name in ("components", "downstream"):
        app.switch_page(str(declared.page(name).script)).run()
        assert not app.exception
        assert app.selectbox(key="view_focus").value == "mode:1"


def test_the_largest_threshold_of_an_address_is_none_too_small():
    rng = np.random.default_rng(0)
    for distance in [2.833934, 90.0, 1e-7, *rng.exponential(10.0, 200)]:
        shown = _in_address(distance)
        assert distance <= shown <= 1.0001 * distance and float(f"{shown:g}") == shown


def test_a_lower_threshold_never_gives_fewer_modes(server, finished):
    app = page("overview", part="modes", runs=",".join(finished))
    slider = app.slider(key="view_threshold")
    counts = []
    for value in (slider.max, slider.max / 2, slider.min):
        app.slider(key="view_threshold").set_value(value).run()
        counts.append(len(table_with(app, "mode", "factorizations", "spread")))
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] > 1


def test_a_feature_that_dominates_the_fit_is_named_before_it_is_analysed(server):
    X = np.random.default_rng(0).random((4, 9)) * [[1], [900], [1], [1]]
    names = ["alcohol", "proline", "hue", "ash"]
    wine = server.store.add_dataset(Dataset.from_array(X, name="wine", features=names))
    even = server.store.add_dataset(Dataset.from_array(X / [[1], [900], [1], [1]], name="even"))
    for name in ("data", "run"):
        said = words(page(name, data=wine))
        assert "“proline” makes" in said and "of the sum of squares" in said
        assert "of the sum of squares" not in words(page(name, data=even))


def test_unknown_runs_in_a_link_are_named(server, finished):
    app = page("overview", runs="feedbeef")
    assert not app.exception
    assert "feedbeef" in words(app)


def test_runs_of_different_rank_are_refused_in_a_sentence(server, labelled, finished):
    other = server.start(labelled, [RunSpec("random_restarts", rank=2, particles=3)])
    server.wait(other)
    app = page("overview", runs=",".join([*finished, *other]))
    assert "differ in rank" in words(app)
    assert not app.exception


def test_a_failed_run_says_why_on_every_page(server, labelled, monkeypatch):
    def broken(*arguments):
        raise MemoryError

    monkeypatch.setattr(job, "make_plan", broken)
    run_ids = server.start(labelled, [RunSpec("gibbs", rank=3, particles=4)])
    server.wait(run_ids)
    assert "not enough memory" in words(page("runs"))
    shown = words(page("overview", runs=run_ids[0]))
    assert "not enough memory" in shown.replace("\\", "")


def test_a_running_run_shows_progress_and_can_be_cancelled(server, labelled):
    endless = RunSpec("gibbs", rank=3, particles=50_000, settings={"thinning": 1000})
    run_ids = server.start(labelled, [endless])
    for name in ("overview", "runs"):
        app = page(name, runs=run_ids[0])
        assert not app.exception
        assert any("of 50,000 made" in bar.proto.text for bar in app.get("progress"))
    app.button(key=f"cancel_all_{run_ids[0]}").click().run()
    server.wait(run_ids, timeout=2.0)
    assert server.store.run(run_ids[0]).status == "cancelled"


def test_home_starts_the_two_answers_example_and_ends_on_its_findings(server):
    app = page("home")
    app.button(key="start_two_solutions").click().run()
    (launch,) = server.store.launches()
    run_ids = [run.id for run in launch.runs]
    assert launch.name == "A matrix with exactly two answers"
    assert app.title[0].value == "Overview"
    assert app.session_state["view_runs"] == run_ids
    server.wait_analysis(run_ids, "structure", "islands", "evidence")
    app.switch_page(str(declared.page("overview").script)).run()
    assert not app.exception
    assert "120 converged restarts found 2 modes" in words(app)
    app.segmented_control(key="view_part").set_value("modes").run()
    table = table_with(app, "posterior mass")
    np.testing.assert_allclose(table["nearest"], [36.87, 36.87], atol=0.3)
    # Symmetry gives each of them half: 3 standard errors of the mass are 20 % at most.
    masses = [int(mass.split(" ")[0]) for mass in table["posterior mass"]]
    assert sum(masses) in (99, 100, 101) and abs(masses[0] - 50) < 20


def test_run_page_starts_what_was_chosen(server, monkeypatch):
    server.store.add_dataset(laurberg("two"))
    app = page("run")
    assert "of memory" not in words(app)  # kilobytes are not worth a sentence
    monkeypatch.setattr(promise, "TRIFLE", 0)
    app.number_input(key="particles").set_value(5)
    app.text_input(key="launch_name").set_value("mine")
    app.pills(key="algorithms").set_value(["random_restarts", "nndsvdar"]).run()
    assert "of memory" in words(app)
    app.button(key="go").click().run()
    (launch,) = server.store.launches()
    assert [run.spec.algorithm for run in launch.runs] == ["random_restarts", "nndsvdar"]
    assert all(run.spec.particles == 5 for run in launch.runs) and launch.name == "mine"
    server.wait([run.id for run in launch.runs])


def test_a_run_waits_for_its_scheduler_unless_here_will_do(server, monkeypatch):
    monkeypatch.setattr(executors, "PATIENCE", 0.5)
    monkeypatch.setenv("BNMF_SCHEDULER", "tcp://127.0.0.1:1")
    server.store.add_dataset(laurberg("two"))
    app = page("run")
    assert app.selectbox(key="scheduler").value == "tcp://127.0.0.1:1"
    app.number_input(key="particles").set_value(5)
    app.pills(key="algorithms").set_value(["random_restarts"]).run()
    app.button(key="go").click().run()
    assert "No scheduler answered" in words(app)
    assert server.store.runs() == []
    app.checkbox(key="local_otherwise").set_value(True).run()
    app.button(key="go").click().run()
    assert not app.exception
    server.wait([run.id for run in server.store.runs()])
    assert [run.status for run in server.store.runs()] == ["complete"]


def test_uploads_become_data_and_bad_ones_a_sentence(server):
    app = page("data")
    table = b"name,a,b,c\nx,1,2,3\ny,4,5,6\nz,7,8,9\n"
    read(app, "good.csv", table)
    taken(app)
    assert not app.error
    kept = server.store.dataset(app.session_state["view_data"])
    assert kept.X.tolist() == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    read(app, "bad.csv", b"a,b\n1,2\n3,-4\nx,1\n")
    assert len(app.error) == 1
    told = app.error[0].value.replace("\\", "")
    assert "Row 3, column 2" in told and "-4" in told and "Row 4, column 1" in told
    assert app.button(key="upload_read").disabled
    assert "The file is not stored yet" in words(app)
    assert app.session_state["view_data"] == kept.hash
    read(app, "torn.npy", b"\x93NUMPY")
    assert "damaged NPY header" in app.error[0].value
    assert app.session_state["view_data"] == kept.hash


def test_how_a_file_is_read_is_shown_doubted_and_changed(server):
    app = page("data")
    read(app, "people.csv", b"id,a,b\n0,1,2\n1,3,4\n2,5,6\n")
    said = words(app)
    assert "a table of text, separated by comma" in said
    assert "Column 1 ('id') counts 0, 1, 2, …: taken as names, not as a feature." in said
    (shown,) = [table.value for table in app.dataframe if "row 1" in table.value.index]
    assert shown.loc["row 1"].tolist() == ["id", "a", "b"]
    (names,) = [box for box in app.selectbox if box.label == "Names of rows"]
    assert names.value == 1
    names.set_value(0).run()
    until_read(app)
    assert "counts 0, 1, 2" not in words(app)
    (side,) = [radio for radio in app.radio if radio.label == "Observations are in"]
    side.set_value("columns").run()
    until_read(app)
    taken(app)
    kept = server.store.dataset(app.session_state["view_data"])
    assert kept.observations == ("id", "a", "b") and kept.name == "people"
    read(app, "people.csv", b"id,a,b\n0,1,2\n1,3,4\n2,5,7\n")
    taken(app)
    kept = server.store.dataset(app.session_state["view_data"])
    assert kept.name == "people (2)" and kept.features == ("a", "b")


def test_runs_whose_list_is_lost_are_offered_and_brought_back(server, finished):
    with server.store.database.connect() as connection:
        connection.execute("DELETE FROM runs")
    for asked in ({}, {"runs": ",".join(finished)}):
        said = words(page("overview", **asked))
        assert "The list of runs was lost" in said and "not found" not in said
        assert ("missing from the list, which was lost or damaged" in said) == bool(asked)
    app = page("runs")
    assert "made is on the disk, but not in the list below" in words(app)
    app.button(key="bring_back").click().run()
    assert not app.exception
    assert "in the list again" in "\n".join(one.value for one in app.success)
    assert {run.id for run in server.store.runs()} == set(finished)
    assert "on the disk, but not in the list" not in words(page("runs"))


def test_results_of_others_become_runs_that_every_page_shows(server, labelled):
    dataset_id = server.store.add_dataset(labelled)
    rng = np.random.default_rng(0)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for k in range(5):
            for name, shape in (("W", (30, 3)), ("H", (3, 12))):
                array = io.BytesIO()
                np.save(array, rng.random(shape))
                archive.writestr(f"fits/{name}_{k}.npy", array.getvalue())
            archive.writestr(f"fits/{k}.md", "notes")
    app = page("data")
    app.selectbox(key="results_data").set_value(dataset_id)
    app.file_uploader(key="results").set_value([("fits.zip", content.getvalue(), "x")]).run()
    app.button(key="results_go").click().run()
    while "Looking at the results" in words(app):
        app.run()
    assert not app.exception and not app.error
    assert "Imported 5 factorizations as a run" in app.success[0].value
    (run,) = server.store.runs()
    assert run.dataset == dataset_id and run.done == 5 and run.status == "complete"
    server.wait_analysis([run.id])
    for name in EXPLORE:
        shown = page(name, runs=run.id)
        assert not shown.exception and not shown.error, name


def test_imported_draws_stay_chains_and_are_named(server, labelled):
    server.store.add_dataset(labelled)
    app = page("data")
    assert "chains × draws × features × components" in words(app)
    (sample,) = [one for one in app.get("download_button") if "sample file" in one.proto.label]
    assert not sample.proto.disabled
    app.file_uploader(key="results").set_value(
        [("fit.npz", foreign.example(labelled), "application/zip")]
    ).run()
    app.button(key="results_go").click().run()
    while "Looking at the results" in words(app):
        app.run()
    assert not app.exception and not app.error
    assert "Imported 16 factorizations in 2 chains as a run." in [e.value for e in app.success]
    (run,) = server.store.runs()
    app = page("traces", runs=run.id)
    server.wait_analysis([run.id])
    app = page("traces", runs=run.id)
    assert not app.exception and not app.error
    assert "fit.npz" in words(app)


def read(app, name, content):
    """Bring a file, and wait until it has been looked at."""
    app.file_uploader(key="upload").set_value((name, content, "text/csv")).run()
    until_read(app)


def until_read(app):
    while "Looking at the file" in words(app):
        app.run()
    assert not app.exception


def taken(app):
    """Take the file, and wait until the data are there."""
    app.button(key="upload_read").click().run()
    while "Taking the data" in words(app):
        app.run()
    assert not app.exception


def test_missing_entries_offer_declared_repairs(server):
    X = np.arange(1.0, 21.0).reshape(4, 5)
    X[1, 2] = np.nan
    server.store.add_dataset(Dataset.from_array(X, name="Holes"))
    app = page("data")
    assert "1 entry missing" in words(app)
    app.button(key="repair_drop").click().run()
    assert server.store.dataset(app.session_state["view_data"]).N == 4


def test_filling_a_table_of_yes_and_no_with_means_is_warned_of(server):
    X = np.eye(4, 6)
    X[2] = 1.0
    for row, warned in ((1, True), (2, False)):
        holes = X.copy()
        holes[row, 4] = np.nan
        dataset_id = server.store.add_dataset(Dataset.from_array(holes, name=f"Holes in {row}"))
        app = page("data", data=dataset_id)
        assert ("no longer a binary matrix" in words(app)) == warned


def test_entries_are_hidden_in_a_new_dataset(server, labelled):
    server.store.add_dataset(labelled)
    app = page("data")
    app.radio(key="hide_percent").set_value(30)
    app.number_input(key="hide_seed").set_value(7)
    app.button(key="hide_go").click().run()
    assert not app.exception
    data = server.store.dataset(app.session_state["view_data"])
    expected = hide_entries(labelled, 0.3, np.random.default_rng(7))
    assert data.hash == expected.hash and data.name == "Labelled (30 % masked)"
    assert f"{data.missing:,} of them masked on purpose" in words(app)
    assert "No factorization of a rank" not in words(app)  # with gaps nothing bounds the error
    titles = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert any("missing (30.0%)" in title for title in titles)


def test_every_analysis_number_on_screen_comes_from_the_store(server, finished):
    found = server.wait_analysis(finished)
    app = page("coverage", runs=",".join(finished))
    table = next(frame.value for frame in app.dataframe if "largest" in frame.value)
    expected = structure.STAGE.of(found).spread("max_angle")
    np.testing.assert_allclose(table["largest"], expected["largest"])
    np.testing.assert_allclose(table["mean"], expected["mean"])


def test_numbers_become_yes_and_no_at_a_threshold(server):
    counts = np.random.default_rng(0).poisson(1.0, (6, 9)).astype(float)
    counts[:, 0] += 1
    dataset_id = server.store.add_dataset(Dataset.from_array(counts, name="counts"))
    app = page("data", data=dataset_id)
    app.number_input(key="yes_above").set_value(1.0).run()
    yes = int((counts > 1).sum())
    assert f"{yes} of 54 cells would be yes" in words(app)
    app.button(key="yes_go").click().run()
    made = server.store.dataset(app.session_state["view_data"])
    np.testing.assert_array_equal(made.dense(), counts > 1)
    assert made.name == "counts (yes above 1)"
    assert not app.exception and "would be yes" not in words(app)


def test_a_table_with_one_other_value_says_why_it_has_no_tiles(server):
    X = (np.random.default_rng(0).random((20, 30)) < 0.3).astype(float)
    X[3, 4] = 2.0
    dataset_id = server.store.add_dataset(Dataset.from_array(X, name="nearly"))
    said = words(page("run", data=dataset_id))
    assert "No binary tiles: 1 cell is neither 0 nor 1, 2 for one" in said


def test_home_opens_a_finished_analysis_at_once(server):
    app = page("home")
    app.button(key="finished_two_solutions").click().run()
    assert not app.exception and app.title[0].value == "Overview"
    assert "40 converged restarts found 2 modes" in words(app)
    assert not any(run.active for run in server.store.runs())
    # A second visit opens what is there.
    app = page("home")
    app.button(key="finished_two_solutions").click().run()
    assert len(server.store.launches()) == 1


def test_the_page_of_data_shows_observations_beside_the_matrix_and_leads_on(server):
    dataset_id = server.store.add_dataset(load_sample("digits"))
    app = page("data", data=dataset_id)
    assert "Observations 1–24 of 1,797" in words(app)
    assert "64 pixels × 1,797 observations · 49 % zeros · grey level" in words(app)
    observations, matrix = (chart.proto.spec for chart in app.get("plotly_chart")[:2])
    assert len(json.loads(observations)["layout"]["images"]) == 24
    assert "rows: 64 pixels" in matrix
    links = [link.proto.label for link in app.get("page_link")]
    assert "Analyse these data" in links and "How many components?" in links
    assert not (app.info or app.warning or app.error)
    app.button(key="others_random").click().run()
    assert "24 of 1,797 observations" in words(app)


def test_texts_are_shown_by_their_words(server):
    dataset_id = server.store.add_dataset(load_sample("newsgroups"))
    app = page("data", data=dataset_id)
    assert "most frequent words" in words(app)
    assert any(
        "comp.graphics 1**" in text.value and ":small[" in text.value for text in app.markdown
    )
