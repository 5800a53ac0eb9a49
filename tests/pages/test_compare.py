"""The pages that compare samplers: coverage of repetitions, poor fits, traces, the study."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bnmf_core import RunSpec, laurberg, run
from bnmf_core.analysis import chains
from bnmf_core.analysis.mixing import MixingReport, _trajectories
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.runs.launch import run_names
from pages.frame import services
from pages.study_parts import views as study_view
from studies.coverage.plan import CoverageStudy, StudyPlan
from studies.result import full
from studies.rrt import findings as trees
from studies.work import StudyWork
from tests.pages.apps import page, table_with, words
from tests.pages.conftest import made_once


@pytest.fixture(scope="module")
def compared_once(tmp_path_factory):
    """A store with two Gibbs runs that differ in the seed, and restarts that stop early."""
    settings = {"chains": 2, "warm_up": 8, "thinning": 1, "start": "known"}
    poor = {"max_iterations": 10, "solver": "multiplicative"}
    specs = [
        RunSpec("gibbs", rank=3, particles=40, seed=0, settings=settings),
        RunSpec("gibbs", rank=3, particles=40, seed=1, settings=settings),
        RunSpec("random_restarts", rank=3, particles=20, settings=poor),
    ]
    noisy = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    together = [slice(None), slice(2), slice(2, 3)]
    return made_once(tmp_path_factory.mktemp("compared"), noisy, specs, together=together)


@pytest.fixture
def compared(server, compared_once):
    """The ids of these runs."""
    return list(compared_once[1])


def figure(app) -> dict:
    return app.get("plotly_chart")[0].proto.spec


def test_repetitions_are_drawn_together_with_their_range(server, compared):
    app = page("coverage", runs=",".join(compared))
    assert not app.exception
    assert "mean of 2" in figure(app)
    app.toggle(key="coverage_together").set_value(False).run()
    assert "mean of 2" not in figure(app)


def test_chains_in_different_modes_are_not_taken_for_one_sampler_that_crosses(server, compared):
    """Chains that start at one of two solutions 36.87° apart each, and stay there."""
    at = []
    for made in server.wait_analysis(compared, "structure").particles[:2]:
        matrix = pairwise(made.A, made.W, DISTANCES["max_angle"])
        first = [int(np.flatnonzero(made.chain == chain)[0]) for chain in (0, 1)]
        at.append(matrix[first[0], first[1]] > 30)
        for chain in (0, 1):
            own = np.flatnonzero(made.chain == chain)
            assert matrix[np.ix_(own, own)].max() < 5
    assert any(at)
    app = page("coverage", runs=",".join(compared))
    said = [warning.value for warning in app.warning if "has not mixed" in warning.value]
    assert len(said) == sum(at)
    assert all("its 2 chains together span 3" in one for one in said)
    assert "each chain" in figure(app)
    table = table_with(app, "widest")
    assert table["widest"].notna().sum() == 2


def test_poor_fits_are_left_out_and_the_picture_says_so(server, compared):
    app = page("coverage", runs=",".join(compared))
    app.toggle(key="filter_poor").set_value(True).run()
    assert not app.exception
    found = server.wait_analysis(compared, "structure")
    largest = found.particles[0].error.max()
    bad = sum((particles.error > 10 * largest).sum() for particles in found.particles)
    assert 0 < bad <= 20
    assert f"{bad} of 100 factorizations left out" in words(app)
    assert "poor fits left out" in figure(app)


def test_traces_show_every_chain_and_mark_the_warm_up(server, compared):
    app = page("traces", runs=",".join(compared))
    assert not app.exception
    analysis = server.wait_analysis(compared, "mixing")
    failing = chains.STAGE.of(analysis).unsettled[0].worst
    assert app.selectbox(key="view_quantity").value == failing
    assert failing.capitalize() in figure(app)
    app.selectbox(key="view_quantity").set_value("log_joint").run()
    shown = figure(app)
    assert all(f"chain {number}" in shown for number in (1, 2))
    assert "warm-up, not kept" in shown
    app.selectbox(key="view_quantity").set_value("overlap").run()
    assert not app.exception
    assert "Overlap of the basis" in figure(app)


def test_r_hat_never_stands_without_what_it_cannot_see(server, compared):
    for name in ("traces", "coverage"):
        app = page(name, runs=",".join(compared))
        tables = [frame.value for frame in app.dataframe if "r_hat" in frame.value]
        assert len(tables) == 2
        assert words(app).count("R̂ near 1 does not show") == 2


def test_more_effective_draws_than_draws_are_explained_where_they_are(
    server, compared, monkeypatch
):
    app = page("traces", runs=",".join(compared))
    assert "an antithetic chain" not in words(app)  # 40 draws are too few to say so
    monkeypatch.setattr(MixingReport, "antithetic", True)
    assert words(page("traces")).count("an antithetic chain") == 2


@pytest.mark.parametrize(("size", "more"), [(700.0, True), (500.0, False)])
def test_a_chain_is_antithetic_where_chance_does_not_explain_its_size(size, more):
    table = pd.DataFrame({"ess_bulk": [90.0, size], "ess_tail": [900.0, 90.0]})
    assert MixingReport(table, "", 4, 100, [0] * 4, "").antithetic == more


@pytest.fixture(scope="module")
def walked():
    """A run of HMC, every draw kept and one in two, and the same as it was before energies."""
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    settings = {"chains": 2, "warm_up": 40, "leapfrog_steps": 5, "thinning": 1}
    made = [
        run(data, RunSpec("hmc", 3, particles=40, settings=settings | {"thinning": thinning}))
        for thinning in (1, 2)
    ]
    old = {key: value for key, value in made[0].diagnostics.items() if key != "energy"}
    return [*made, replace(made[0], diagnostics=old)]


def test_each_chain_of_hmc_says_how_its_trajectories_fared(walked):
    every, thinned, old = (_trajectories(particles) for particles in walked)
    assert [row["chain"] for row in every] == [1, 2]
    energies = walked[0].diagnostics["energy"][walked[0].chain == 1]
    expected = np.mean(np.diff(energies) ** 2) / energies.var(ddof=1)
    assert every[1]["renewed"] == pytest.approx(expected)
    assert every[0]["step_size"] > 0 and every[0]["divergent"] >= 0
    assert all(np.isnan(row["renewed"]) for row in thinned)
    assert old == []


def test_a_report_from_before_energies_were_recorded_is_read():
    report = MixingReport(pd.DataFrame(), "", 2, 20, [0, 0], "acceptance 80%")
    assert not report.trajectories and not report.creeping


def test_traces_of_hmc_show_its_trajectories_and_warn_where_they_creep(server, monkeypatch):
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    settings = {"chains": 2, "warm_up": 20, "leapfrog_steps": 5}
    (run_id,) = server.start(data, [RunSpec("hmc", 3, particles=20, settings=settings)])
    server.wait_analysis([run_id], "structure", "mixing", "exact")
    app = page("traces", runs=run_id)
    assert not app.exception
    assert table_with(app, "renewed")["chain"].tolist() == [1, 2]
    monkeypatch.setattr(MixingReport, "creeping", True)
    assert "renewed too little" in words(page("traces"))


def test_explorers_have_no_traces_and_the_page_says_why(server, compared):
    app = page("traces", runs=compared[2])
    assert not app.exception
    assert "there is no chain" in words(app)


def test_the_short_study_is_made_here_and_kept(server, monkeypatch):
    short = CoverageStudy(study_view.SHORT.problems, StudyPlan(1, 20))
    monkeypatch.setattr(study_view, "SHORT", short)
    monkeypatch.setattr(study_view, "full_study", lambda name: None)
    app = page("study")
    app.button(key="study_start").click().run()
    services.place().wait(60)
    app.run()
    assert not app.exception
    table = next(shown.value for shown in app.dataframe if "source" in shown.value)
    assert {"ours", "published"} == set(table["source"])
    assert "Two modes, 6×6" in set(table["problem"])
    assert "1 repetitions of 20 samples" in words(app)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("rrt", "No verdict on which method has the higher ELBO"),
        ("boolean", "Table 4"),
        ("topics", "AUC on held-out posts"),
    ],
)
def test_the_other_papers_stand_beside_the_coverage_study(server, key, told):
    app = page("study")
    app.segmented_control(key="view_study").set_value(key).run()
    assert not app.exception
    shown = words(app) + " ".join(str(option) for box in app.selectbox for option in box.options)
    assert told in shown
    assert len(app.dataframe[0].value)


def test_tables_of_trees_are_those_of_the_paper(server):
    app = page("study")
    app.segmented_control(key="view_study").set_value("rrt").run()
    app.selectbox(key="study_noise").set_value("uniform").run()
    app.selectbox(key="study_measure").set_value("components").run()
    assert not app.exception
    table = app.dataframe[0].value
    assert {"ours", "published"} == set(table["source"])
    study = full("rrt")
    expected = trees.table(study, "uniform", "components")
    pd.testing.assert_frame_equal(table.reset_index(drop=True), expected, check_dtype=False)
    assert "unfinished" in words(app)


def test_a_cancelled_study_goes_on_later(server, monkeypatch):
    place, folder = services.place(), server.store.root / "studies"
    work = StudyWork(CoverageStudy(("two_small",), StudyPlan(1, 30)), folder)
    place.start(work)
    place.cancel(work)
    place.wait(60)
    assert place.status(work).status in ("cancelled", "complete")
    place.start(StudyWork(CoverageStudy(("two_small",), StudyPlan(1, 30)), folder))
    place.wait(60)
    assert place.status(work).status == "complete"
    assert work.result().settings["samples"] == 30


def test_the_gallery_shows_every_run_in_one_order_of_components(server, compared):
    chosen = compared[:2]
    app = page("components", runs=",".join(chosen))
    app.toggle(key="components_by_run").set_value(True).run()
    assert not app.exception
    names = run_names([server.store.run(run_id) for run_id in chosen])
    # Narrow columns have their titles in lines.
    titles = [note["text"] for note in json.loads(figure(app))["layout"]["annotations"]]
    shown = " ".join(titles).replace("<br>", " ")
    assert all(f"{name}, " in shown for name in names.values())
    app = page("components", runs=compared[2])
    assert not [toggle for toggle in app.toggle if toggle.key == "components_by_run"]


def test_the_scoreboard_has_a_column_for_repetitions_and_says_what_is_flattered(server, compared):
    app = page("scoreboard", runs=",".join(compared))
    assert not app.exception
    table = table_with(app, "criterion", "Gibbs × 2", "Random restarts", "biased towards")
    rows = table.set_index("criterion")
    found = server.wait_analysis(compared, "structure")
    best = found.particles[2].error.min()
    assert rows.loc["best relative error", "Random restarts"] == f"{best:.4g}"
    assert " to " in rows.loc["best relative error", "Gibbs × 2"]
    assert rows.loc["modes found", "biased towards"] == "optimizers"
    assert rows.loc["ESS per CPU second", "Random restarts"] == "–"
    assert "that any run found, Gibbs × 2 found" in words(app)
    app.selectbox(key="found_by").set_value(compared[2]).run()
    assert not app.exception and app.selectbox(key="not_found_by").value == compared[0]
    assert "found" in words(app).split("Found by one, not by the other")[-1]
