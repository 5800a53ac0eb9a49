"""What addresses say is shown, or it is said that it was not found; nothing leaks."""

import json

import pytest

from bnmf_core import RunSpec, laurberg
from pages.frame import declared
from tests.pages.apps import EXPLORE, PAGES, page, words


def twins(server) -> list[str]:
    """Two datasets of one name, the older first; their ids."""
    return [server.store.add_dataset(laurberg("two", noise=noise)) for noise in (0.01, 0.02)]


@pytest.mark.parametrize("name", ["data", "run", "starts"])
def test_datasets_of_one_name_are_told_apart_and_none_swaps(server, name):
    older, newer = twins(server)
    app = page(name, data=older)
    box = app.selectbox(key="view_data")
    assert box.value == older
    assert len(set(box.options)) == 2
    assert all("6×6" in option for option in box.options)
    if name == "run":
        app.pills(key="algorithms").set_value(["nndsvdar"]).run()
    app.run()
    assert app.selectbox(key="view_data").value == older
    app.selectbox(key="view_data").set_value(newer).run()
    assert app.query_params["data"] == newer


def test_runs_of_one_name_are_told_apart_everywhere(server):
    data = laurberg("two", noise=0.01)
    spec = RunSpec("random_restarts", 3, particles=4)
    run_ids = server.start(data, [spec, RunSpec("nndsvdar", 3, particles=4)], ["same", "same"])
    server.wait_analysis(run_ids, "structure", "mixing", "exact")
    app = page("coverage", runs=",".join(run_ids))
    assert len(set(app.sidebar.multiselect[0].options)) == 2
    assert len(set(app.selectbox(key="filter_reference").options)) == 2


@pytest.mark.parametrize("name", ["data", "run", "starts"])
def test_an_unknown_dataset_is_not_found_and_none_is_shown_instead(server, name):
    known = server.store.add_dataset(laurberg("two"))
    app = page(name, data="0123456789abcdef")
    assert not app.exception
    assert "0123456789abcdef" in words(app) and "not found" in words(app)
    assert app.selectbox(key="view_data").value is None
    assert not app.metric
    assert not {"particles", "starts_rank"} & {box.key for box in app.number_input}
    app.selectbox(key="view_data").set_value(known).run()
    assert not app.exception
    assert "not found" not in words(app)
    assert app.query_params["data"] == known


@pytest.mark.parametrize("name", EXPLORE)
def test_unknown_runs_are_not_found_and_none_are_shown_instead(server, finished, name):
    app = page(name, runs="feedbeef,cafecafe")
    assert not app.exception
    assert "not found: cafecafe, feedbeef" in words(app)
    assert app.session_state["view_runs"] == []
    assert not app.get("plotly_chart")
    app.sidebar.multiselect[0].set_value(finished).run()
    assert not app.exception
    assert "not found" not in words(app)


def test_of_known_and_unknown_runs_the_known_are_shown_and_the_others_named(server, finished):
    server.wait_analysis(finished[:1], "structure")
    app = page("components", runs=f"{finished[0]},feedbeef")
    assert not app.exception
    assert "not found: feedbeef" in words(app)
    assert app.session_state["view_runs"] == finished[:1]
    assert app.get("plotly_chart")
    app.toggle(key="components_difference").set_value(True).run()
    assert "not found: feedbeef" in words(app)


def test_a_label_that_a_browser_sends_back_is_the_run_that_had_it(server, finished):
    app = page("overview", runs=finished[0])
    called = app.session_state["labels_of_runs"].items()
    label = next(label for label, run in called if run == finished[0])
    # As of a run whose label has changed since the browser was sent it.
    app.session_state["labels_of_runs"] |= {"Gibbs, stopped": finished[0]}
    for sent in (label, "Gibbs, stopped"):
        app.session_state["view_runs"] = [sent]
        app.run()
        assert not app.exception and "not found" not in words(app)
        assert app.session_state["view_runs"] == [finished[0]]


def test_a_run_that_was_deleted_meanwhile_is_not_found(server, finished):
    app = page("overview", runs=finished[0])
    server.store.delete_run(finished[0])
    app.run()
    assert not app.exception
    assert f"not found: {finished[0]}" in words(app)
    assert app.session_state["view_runs"] == []


USED = {
    "data": ("data", "run", "starts"),
    "part": ("boolean", "overview", "quality", "starts"),
    "lesson": ("lessons",),
}


@pytest.mark.parametrize("name", PAGES)
def test_values_of_other_pages_leave_the_address(server, finished, name):
    given = {"data": "x", "part": "noise", "lesson": "y", "relevance": "0.3", "utm": "z"}
    app = page(name, **given)
    assert not app.exception
    assert app.query_params["utm"] == "z"
    for parameter, pages in USED.items():
        assert (parameter in app.query_params) <= (name in pages)
    assert ("relevance" in app.query_params) <= (name == "components")


def test_an_address_is_the_whole_truth_and_an_empty_one_leaves_things_as_they_are(server, finished):
    runs = ",".join(finished)
    app = page("components", runs=runs, threshold="1", focus="mode:2")
    assert app.session_state["view_focus"] == "mode:2"
    app.query_params.clear()  # as the menus do
    app.switch_page(str(declared.page("overview").script)).run()
    assert app.session_state["view_focus"] == "mode:2"
    assert app.query_params["focus"] == "mode:2"
    app.query_params.clear()
    app.query_params["runs"] = runs  # as Back does to where nothing was in focus
    app.switch_page(str(declared.page("components").script)).run()
    assert app.session_state["view_focus"] == ""
    assert app.session_state["view_threshold"] > 0


def test_an_address_that_a_slow_browser_still_has_takes_nothing_back(server, finished):
    runs = ",".join(finished)
    app = page("components", runs=runs, threshold="1")
    before = dict(app.query_params)
    app.selectbox(key="view_focus").set_value("mode:2").run()
    assert app.query_params["focus"] == "mode:2"
    # A redraw that the browser asked for before it heard of the new address.
    app.query_params.clear()
    app.query_params.update(before)
    app.run()
    assert app.session_state["view_focus"] == "mode:2"
    assert app.query_params["focus"] == "mode:2"


def test_numbers_in_an_address_that_are_none_are_left_out(server, finished):
    app = page("components", runs=",".join(finished), threshold="high", relevance="x")
    assert not app.exception
    assert app.session_state["view_relevance"] == 0.6


@pytest.mark.parametrize("name", ["runs", "overview"])
def test_a_run_that_cannot_be_read_is_said_to_be_so(server, finished, name):
    query = "UPDATE runs SET spec = ? WHERE id = ?"
    server.store.database.write(query, ('{"shape": 3}', finished[0]))
    (sentence,) = server.store.unreadable().values()
    app = page(name, runs=finished[0])
    assert not app.exception
    assert sentence in words(app).replace("\\", "")
    assert "not found" not in words(app)


@pytest.fixture
def vanished(server, finished):
    """A finished run whose algorithm, model and settings this version does not have."""
    spec = server.store.run(finished[0]).spec.to_dict()
    spec |= {"algorithm": "vanished", "model": "gone", "settings": {"old": 1}}
    query = "UPDATE runs SET spec = ?, seconds = 9 WHERE id = ?"
    server.store.database.write(query, (json.dumps(spec), finished[0]))
    return finished


@pytest.mark.parametrize("name", PAGES)
def test_a_run_of_an_algorithm_that_is_gone_breaks_no_page(server, vanished, name):
    app = page(name)
    assert not app.exception
    if name == "runs":
        assert "vanished" in words(app)
    if name == "run":
        app.pills(key="algorithms").set_value(["random_restarts"]).run()
        assert not app.button(key="go").disabled


@pytest.mark.parametrize("value", ["7", "-1", "nan", "much"])
def test_a_relevance_that_cannot_be_is_the_usual_one(server, finished, value):
    app = page("components", runs=",".join(finished), relevance=value)
    assert not app.exception
    (shown,) = (slider.value for slider in app.slider if slider.key == "view_relevance")
    assert shown == 0.6


def test_data_of_one_name_are_told_apart_in_captions(server):
    older, newer = twins(server)
    spec = RunSpec("random_restarts", 3, particles=4)
    captions = []
    for dataset_id in (older, newer):
        run_ids = server.start(dataset_id, [spec])
        server.wait_analysis(run_ids, "structure", "mixing", "exact")
        captions += [
            c.value for c in page("coverage", runs=run_ids[0]).caption if "rank 3" in c.value
        ]
    data = {caption.split(", rank 3")[0].removeprefix("From ") for caption in captions}
    assert len(data) == 2


def test_pages_of_data_go_on_with_those_of_the_runs_that_were_looked_at(server, finished):
    mine = server.store.run(finished[0]).dataset
    newer = server.store.add_dataset(laurberg("two", noise=0.03))
    app = page("overview", runs=",".join(finished))
    app.query_params.clear()  # as the menus do
    app.switch_page(str(declared.page("rank").script)).run()
    box = app.selectbox(key="view_data")
    assert box.value == mine != newer
    box.set_value(newer).run()
    assert app.query_params["data"] == newer
