"""One launch: what the page Analyse promises and starts, and what the page Runs does with it."""

import re
import time

import numpy as np

from bnmf_core import Dataset, RunSpec, boolean_tiles, laurberg, preset
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs import job
from pages.run_parts import request
from tests.pages.apps import page, words

RESTARTS = RunSpec("random_restarts", rank=3, particles=6)
ENDLESS = RunSpec("gibbs", rank=3, particles=50_000, settings={"thinning": 1000})
HEXADECIMAL = re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{4,8}\b")


def started(server, data, specs, name=""):
    run_ids = server.start(data, specs, launch_name=name)
    server.wait([run_id for run_id, spec in zip(run_ids, specs, strict=True) if spec != ENDLESS])
    return run_ids


def test_one_button_starts_what_is_recommended_and_opens_the_findings(server):
    dataset_id = server.store.add_dataset(laurberg("two"))
    app = page("run")
    said = words(app)
    assert "60 random restarts run until they converge" in said
    assert "4 Gibbs chains of 100 draws" in said
    assert "is being estimated on these data" in said and "First findings in about" not in said
    end = time.monotonic() + 60
    while "First findings in about" not in words(app.run()):
        assert time.monotonic() < end
        time.sleep(0.1)
    app.number_input(key=f"rank_{dataset_id}").set_value(3).run()
    app.button(key="go").click().run()
    assert not app.exception and app.title[0].value == "Overview"
    (launch,) = server.store.launches()
    assert [run.spec.algorithm for run in launch.runs] == [
        "random_restarts",
        "q_transform",
        "gibbs",
    ]
    recommended = preset(laurberg("two"), 3).specs
    assert [run.spec.particles for run in launch.runs] == [one.particles for one in recommended]
    assert launch.rank == 3 and launch.runs[2].spec.settings["chains"] == 4
    for run, one in zip(
        launch.runs, recommended, strict=True
    ):  # chains warm up as long as it takes
        assert one.settings.items() <= run.spec.settings.items()
    assert app.session_state["view_runs"] == launch.shown
    for run in launch.runs:
        server.cancel(run.id)
    server.wait([run.id for run in launch.runs])


def test_a_plan_sets_what_is_run(server, labelled):
    server.store.add_dataset(labelled)
    app = page("run")
    app.segmented_control(key="plan").set_value("compare").run()
    assert app.pills(key="algorithms").value == [
        *("random_restarts", "q_transform", "gibbs", "hmc", "mode_jumps")
    ]
    app.segmented_control(key="plan").set_value("thorough").run()
    assert app.number_input(key="particles").value == 200


def test_the_number_of_components_is_what_the_data_were_last_analysed_with(server, labelled):
    dataset_id = server.store.add_dataset(labelled)
    rank = f"rank_{dataset_id}"
    assert page("run").number_input(key=rank).value == request.USUAL_RANK
    for wanted in (2, 4):
        server.wait(server.start(dataset_id, [RunSpec("random_restarts", wanted, particles=1)]))
        assert page("run").number_input(key=rank).value == wanted
    other = server.store.add_dataset(laurberg("two"))
    assert page("run", data=other).number_input(key=f"rank_{other}").value == 3


def test_a_model_that_the_data_speak_against_is_refused_before_the_start(server):
    server.store.add_dataset(Dataset.from_array(np.eye(6) + np.eye(6, k=1), name="with zeros"))
    app = page("run")
    app.pills(key="algorithms").set_value(["random_restarts", "hmc"]).run()
    app.selectbox(key="model").set_value("itakura_saito").run()
    assert not app.exception and app.button(key="go").disabled
    assert "takes entries above 0 only" in words(app)
    app.selectbox(key="model").set_value("kl").run()
    assert not app.exception and not app.button(key="go").disabled


def test_what_does_not_fit_is_said_and_nothing_can_be_started(server, labelled):
    server.store.add_dataset(labelled)
    app = page("run")
    app.pills(key="algorithms").set_value([]).run()
    assert app.button(key="go").disabled
    assert "Choose at least one algorithm" in words(app)


def test_first_findings_are_there_while_other_runs_go_on(server, labelled):
    run_ids = started(server, labelled, [RESTARTS, ENDLESS])
    server.wait_analysis(run_ids[:1], "structure", "islands")
    app = page("overview", runs=",".join(run_ids))
    assert not app.exception
    assert "The results below are from the finished runs" in words(app)
    assert "converged restarts" in words(app)
    assert any("of 50,000 made" in bar.proto.text for bar in app.get("progress"))
    assert app.session_state["view_runs"] == run_ids
    server.cancel(run_ids[1])
    server.wait(run_ids)


def test_a_launch_is_shown_in_words_without_ids(server, labelled):
    run_ids = started(server, labelled, [RESTARTS, RunSpec("gibbs", 3, particles=6)])
    app = page("runs")
    said = "\n".join([words(app), *(box.label for box in app.checkbox)])
    assert "Labelled, 3 components" in said
    assert "6 random restarts run until they converge" in said.replace("\\", "")
    assert "A Gibbs chain of 6 draws" in said
    assert not HEXADECIMAL.search(said)
    assert all(run_id not in said and run_id[:4] not in said for run_id in run_ids)


def test_repetitions_are_runs_of_the_next_seeds(server, labelled):
    server.store.add_dataset(labelled)
    app = page("run")
    app.pills(key="algorithms").set_value(["random_restarts"]).run()
    app.number_input(key="particles").set_value(6).run()
    app.number_input(key="seed").set_value(7).run()
    app.number_input(key="repeats").set_value(3).run()
    assert "3 × 6 random restarts run until they converge" in words(app)
    app.button(key="go").click().run()
    runs = server.store.runs()
    server.wait([run.id for run in runs])
    assert sorted(run.spec.seed for run in runs) == [7, 8, 9]
    assert len({run.launch for run in runs}) == 1


def test_a_launch_is_opened_renamed_and_deleted_as_a_whole(server, labelled):
    run_ids = started(server, labelled, [RESTARTS, RESTARTS], "*mine*")
    launch = run_ids[0]
    app = page("runs")
    assert any("\\*mine\\*" in box.label for box in app.checkbox)
    app.text_input(key=f"name_{launch}").set_value("<b>other</b>").run()
    app.button(key=f"rename_{launch}").click().run()
    assert {run.launch_name for run in server.store.runs()} == {"<b>other</b>"}
    assert any("\\<b\\>other" in box.label for box in app.checkbox)
    app.button(key=f"open_{launch}").click().run()
    assert app.session_state["view_runs"] == run_ids
    app = page("runs")
    assert app.button(key=f"delete_{launch}").disabled
    app.checkbox(key=f"sure_{launch}").set_value(True).run()
    app.button(key=f"delete_{launch}").click().run()
    assert not app.exception and server.store.runs() == []


def test_one_run_of_a_launch_is_deleted_and_the_others_stay_together(server, labelled):
    run_ids = started(server, labelled, [RESTARTS] * 3)
    app = page("runs")
    app.checkbox(key=f"sure_one_{run_ids[0]}").set_value(True).run()
    app.button(key=f"delete_one_{run_ids[0]}").click().run()
    assert not app.exception
    (launch,) = server.store.launches()
    assert [run.id for run in launch.runs] == run_ids[1:]
    app.button(key=f"open_{launch.id}").click().run()
    assert app.session_state["view_runs"] == run_ids[1:]


def test_a_running_launch_is_cancelled_and_resumed_as_a_whole(server, labelled):
    run_ids = started(server, labelled, [ENDLESS, ENDLESS])
    app = page("runs")
    assert app.button(key=f"delete_{run_ids[0]}").disabled
    app.button(key=f"cancel_all_{run_ids[0]}").click().run()
    server.wait(run_ids)
    assert {run.status for run in server.store.runs()} == {"cancelled"}
    app = page("runs")
    app.button(key=f"resume_all_{run_ids[0]}").click().run()
    assert all(run.active for run in server.store.runs())
    for run_id in run_ids:
        server.cancel(run_id)
    server.wait(run_ids)


def test_a_failed_run_stays_in_its_launch_with_its_reason(server, labelled, monkeypatch):
    made = job.make_plan

    def broken(dataset, spec, rooms=()):
        if spec.algorithm == "gibbs":
            raise MemoryError
        return made(dataset, spec, rooms)

    monkeypatch.setattr(job, "make_plan", broken)
    run_ids = started(server, labelled, [RESTARTS, RunSpec("gibbs", 3, particles=6)])
    server.wait_analysis(run_ids[:1], "structure", "islands")
    app = page("runs")
    assert "not enough memory" in words(app)
    assert any("partly done" in box.label for box in app.checkbox)
    app.button(key=f"open_{run_ids[0]}").click().run()
    assert app.session_state["view_runs"] == run_ids[:1]
    assert not app.exception and "converged restarts" in words(app)


def test_ticked_launches_are_compared_where_they_go_together(server, labelled):
    first = started(server, labelled, [RESTARTS])
    second = started(server, labelled, [RESTARTS])
    other = started(server, labelled, [RunSpec("random_restarts", rank=2, particles=3)])
    app = page("runs")
    assert "compare" not in [button.key for button in app.button]
    for run_ids in (first, other):
        app.checkbox(key=f"tick_{run_ids[0]}").set_value(True).run()
    assert app.button(key="compare").disabled
    assert "same data and number of components" in words(app)
    app.checkbox(key=f"tick_{other[0]}").set_value(False)
    app.checkbox(key=f"tick_{second[0]}").set_value(True).run()
    app.button(key="compare").click().run()
    assert not app.exception
    assert app.session_state["view_runs"] == [*first, *second]


def test_tiles_are_looked_for_in_a_table_of_yes_and_no_where_that_is_asked(server):
    server.store.add_dataset(boolean_tiles(30, 40, 3, rng=np.random.default_rng(0)))
    app = page("run")
    assert "random restarts" in words(app)
    app.segmented_control(key="kind").set_value("tiles").run()
    assert app.session_state["model"] == "boolean"
    assert app.session_state["algorithms"] == ["box_restarts", "box_gibbs"]
    # What they do is said where they are offered.
    (offered,) = (fold for fold in app.expander if fold.label == "What these algorithms do")
    (told,) = (element.value for element in offered.markdown)
    for key, line in zip(("box_restarts", "box_gibbs"), told.splitlines(), strict=True):
        assert ALGORITHMS[key].summary in line
    assert not app.exception
