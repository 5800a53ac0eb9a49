"""The pages Tree and Lesson: what they show, and what they say when there is nothing to show."""

import pytest

from bnmf_core import RunSpec, laurberg
from pages.lesson_parts import lesson as lesson_view
from tests.pages.apps import page, words

CHAIN_SETTINGS = {"start": "known", "chains": 1, "warm_up": 2, "leapfrog_steps": 3}
EPSILON = {"epsilon": 0.05}
CHAIN = RunSpec("hmc", 3, "uniform", 8, 0, CHAIN_SETTINGS, EPSILON)
TREE = RunSpec("rrt", 3, "uniform", 60, 0, {"start": "known", "attempts": 60}, EPSILON)


@pytest.fixture
def grown(server):
    run_ids = server.start(laurberg("two", a=0.55), [TREE, CHAIN])
    server.wait_analysis(run_ids, "structure", "tree")
    return run_ids


def test_a_tree_is_shown_with_its_nodes_and_the_reason_of_its_end(server, grown):
    app = page("tree", runs=",".join(grown))
    assert not app.exception and not app.error
    shown = words(app)
    made = server.store.run(grown[0]).done
    assert f"ended with {made} of 60 nodes" in shown
    assert "The tree found no new node in 60 attempts" in shown
    assert "RRT (seed 0)" in shown and "HMC (seed 0)" in shown
    tables = [table.value for table in app.dataframe]
    (nodes,) = [
        t
        for t in tables
        if list(t.columns)[:4] == ["run", "number", "parent", "kind"]
        and "x" not in t
        and len(t) == made
    ][:1]
    assert list(nodes["kind"]) == ["start"] + ["node"] * (made - 1)
    assert (nodes["parent"].iloc[1:] < nodes["number"].iloc[1:]).all()


def test_without_a_tree_the_page_says_how_to_get_one(server):
    run_ids = server.start(laurberg("two", a=0.55), [CHAIN])
    server.wait_analysis(run_ids, "structure", "tree")
    app = page("tree", runs=",".join(run_ids))
    assert not app.exception
    assert "None of these runs is a tree" in words(app)


def test_an_empty_server_asks_for_runs_and_the_lesson_for_a_choice(server):
    assert "nothing has been run yet" in words(page("tree")).lower()
    app = page("lesson")
    assert not app.exception
    assert "Nothing has been run here yet" in words(app)


def test_a_lesson_is_run_shown_and_kept(server, monkeypatch):
    monkeypatch.setitem(lesson_view.TREE, "attempts", 100)
    monkeypatch.setitem(lesson_view.CHAIN, "warm_up", 5)
    app = page("lesson")
    app.segmented_control(key="lesson_problem").set_value("near").run()
    app.slider(key="lesson_a").set_value(0.45).run()
    app.button(key="lesson_go").click().run()
    assert not app.exception and not app.error
    run_ids = app.session_state["view_lesson"]
    runs = [server.store.run(run_id) for run_id in run_ids]
    assert {run.spec.algorithm for run in runs} == {"hmc", "rrt"}
    assert all(run.spec.settings["start"] == "known" for run in runs)
    assert server.store.dataset(runs[0].dataset).name == "One solution (a = 0.45)"
    server.wait_analysis(run_ids, "structure", "tree")
    app.run()
    assert not app.exception and not app.error
    labels = [metric.label for metric in app.metric]
    assert labels == ["HMC: largest angle", "RRT: largest angle"]
    assert "To try" in [heading.value for heading in app.subheader]
    assert app.query_params["lesson"] == ",".join(run_ids)
    app.switch_page("pages/home.py").run()
    app.switch_page("pages/lesson.py").run()
    assert [metric.label for metric in app.metric] == labels


def test_the_same_choices_use_the_same_stored_matrix(server):
    one, other = (lesson_view.matrix(0.52, 0.01, 3) for _ in range(2))
    assert server.store.add_dataset(one) == server.store.add_dataset(other)
    assert len(server.store.datasets()) == 1


@pytest.mark.parametrize(("model", "others"), [("uniform", []), ("gaussian", ["gibbs"])])
def test_a_lesson_starts_everything_at_one_known_factorization(model, others):
    level = {"epsilon": 0.05} if model == "uniform" else {"sigma": 0.02}
    specs = lesson_view.specs(model, level, 4, others)
    assert [spec.algorithm for spec in specs] == ["hmc", "rrt", *others]
    for spec in specs:
        assert (spec.seed, spec.settings["start"], spec.model_settings) == (4, "known", level)


def test_a_start_that_is_not_possible_is_refused_on_the_page(server):
    app = page("lesson")
    app.number_input(key="lesson_noise").set_value(0.1).run()
    app.number_input(key="lesson_epsilon").set_value(0.001).run()
    app.button(key="lesson_go").click().run()
    assert not app.exception
    assert "No start is feasible" in words(app).replace("\\", "")
    assert not server.store.runs()
