"""Sessions: runs in columns, with the numbers of the pages where they open in detail."""

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, laurberg
from bnmf_core.analysis import chains, structure
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.scoreboard import scores
from bnmf_core.analysis.sessions import sessions
from tests.pages.apps import page, table_with, words
from tests.pages.conftest import made_once


@pytest.fixture(scope="module")
def compared_once(tmp_path_factory):
    """A store with restarts, and chains that each stay at one of two solutions 36.87° apart."""
    known = {"chains": 2, "warm_up": 8, "thinning": 1, "start": "known"}
    specs = [
        RunSpec("random_restarts", rank=3, particles=8),
        RunSpec("gibbs", rank=3, particles=40, seed=0, settings=known),
        RunSpec("gibbs", rank=3, particles=40, seed=1, settings=known),
        RunSpec("tempered_smc", rank=3, particles=8),
    ]
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    root, stages = tmp_path_factory.mktemp("compared"), ("structure", "chains")
    return made_once(root, data, specs, stages, together=[slice(None), slice(2)])


@pytest.fixture
def compared(server, compared_once):
    """The ids of these runs."""
    return list(compared_once[1])


def test_every_number_is_that_of_the_page_where_it_opens(server, compared):
    app = page("sessions", runs=",".join(compared))
    assert not app.exception and not app.error
    analysis = server.wait_analysis(compared, "structure", "chains")
    modes = structure.modes_at(analysis, "max_angle", app.session_state["view_threshold"])
    known = scores(Board(analysis, "max_angle", modes, modes.threshold))
    table = table_with(app, "covering number", "CPU seconds")
    verdicts = chains.STAGE.of(analysis).by_run
    for key, column in (
        ("covering", "covering number"),
        ("modes", "modes reached"),
        ("largest", "largest distance"),
        ("best_error", "best relative error"),
        ("busy", "CPU seconds"),
        ("effective", "ESS per CPU second"),
    ):
        wanted = known[known["criterion"] == key].set_index("run").loc[analysis.run_ids, "value"]
        np.testing.assert_array_equal(table[column], wanted)
    r_hat = [verdicts[run].r_hat if run in verdicts else np.nan for run in analysis.run_ids]
    np.testing.assert_array_equal(table["worst R̂"], r_hat)
    shares = table[[column for column in table if column.startswith("share of mode")]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_chains_that_stay_in_their_modes_are_told_from_one_that_crosses(server, compared):
    analysis = server.wait_analysis(compared, "structure", "chains")
    modes = structure.modes_at(analysis, "max_angle", 15.0)
    found = sessions(Board(analysis, "max_angle", modes, 15.0))
    assert any(one.pooled for one in found)
    for one in found:
        if one.pooled:
            assert one.crossing == 0 and max(one.each_chain) == 1 and one.covering == 2
    app = page("sessions", runs=",".join(compared))
    said = words(app)
    assert "0 of 2 chains change mode" in said and "independent starts" in said
    assert "weighted draws" in said and "shares are not posterior masses" in said
    assert "modes that any run found" in said
    assert said.count("R̂ near 1 does not show") == 1


def test_each_group_of_numbers_leads_to_its_page(server, compared):
    app = page("sessions", runs=",".join(compared))
    links = {link.proto.label: link.proto.page for link in app.get("page_link")}
    assert {"Fit", "Coverage", "Chains", "Cost", "Scoreboard"} <= set(links)


def test_the_best_fit_is_drawn_with_the_numbers_of_the_first_mode(server, compared):
    analysis = server.wait_analysis(compared, "structure", "chains")
    modes = structure.modes_at(analysis, "max_angle", 15.0)
    for one, particles in zip(
        sessions(Board(analysis, "max_angle", modes, 15.0)), analysis.particles, strict=True
    ):
        best = int(np.argmin(particles.error))
        columns = {tuple(column) for column in np.asarray(particles.A[best]).T}
        assert {tuple(column) for column in one.A.T} == columns
        assert one.error == float(np.min(particles.error))


def test_nothing_is_computed_beside_what_other_pages_share(server, finished, monkeypatch):
    asked = []
    analyse = server.analyse
    monkeypatch.setattr(
        server, "analyse", lambda ids, *stages: asked.append(stages) or analyse(ids, *stages)
    )
    app = page("sessions", runs=",".join(finished))
    assert not app.exception
    assert {stage for stages in asked for stage in stages} <= {"structure", "chains"}


def test_a_note_on_runs_is_there_again_whatever_their_order(server, compared):
    app = page("sessions", runs=",".join(compared))
    app.text_area[0].set_value("  The chains stay apart.\n").run()
    assert not app.exception and "Kept." in words(app)
    assert server.store.notes.on_runs(compared[::-1]) == "The chains stay apart."
    again = page("sessions", runs=",".join(compared[::-1]))
    assert again.text_area[0].value == "The chains stay apart."
    assert page("sessions", runs=",".join(compared[:2])).text_area[0].value == ""
    (file,) = (server.store.root / "notes").glob("*/runs/*.json")
    file.write_text(file.read_text().replace("stay", "move"))
    app = page("sessions", runs=",".join(compared))
    assert not app.exception and "not what was written" in app.error[0].value
    again.text_area[0].set_value("They do not cross.").run()
    assert server.store.notes.on_runs(compared) == "They do not cross."
    again.text_area[0].set_value("").run()
    assert not file.exists()


def test_components_stand_beside_those_of_other_data(server):
    A = np.random.default_rng(1).gamma(0.3, 1.0, (40, 3))
    other = A[:, [2, 0, 1]].copy()
    other[:, 2] = np.random.default_rng(2).gamma(0.3, 1.0, 40)
    runs = []
    for k, basis in enumerate((A, other)):
        W = np.random.default_rng(10 + k).gamma(0.5, 1.0, (3, 60))
        features = [f"g{d}" for d in range(40)]
        data = Dataset.from_array(basis @ W, features=features, name=f"cohort {k}")
        runs.append(server.start(data, [RunSpec("random_restarts", rank=3, particles=6)]))
    for run_ids in runs:
        server.wait_analysis(run_ids, "structure")
    app = page("runs")
    for launch in server.store.launches():
        app.checkbox(key=f"tick_{launch.id}").check()
    app.run()
    app.button(key="match_analyses").click().run()
    assert not app.exception and not app.error
    said = words(app)
    assert "2 of 3 components of cohort 0 are found in cohort 1." in said
    assert "Nothing within 15° in any mode of cohort 1:" in said
    assert "40 of 40 features match by name" in said
    assert table_with(app, "nearest in any mode (°)")["angle (°)"].le(15).sum() == 2
