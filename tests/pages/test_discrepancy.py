"""The Discrepancy page: the runs in view as particles arrive, and the packaged study."""

import base64
import json

import numpy as np
import pytest

from bnmf_core import RunSpec, laurberg
from bnmf_core.analysis import stein as stein_stage
from bnmf_core.figures.quality import discrepancy_over_time
from bnmf_core.figures.style import run_styles
from studies import result
from studies.stein import findings
from studies.stein.arrival import as_they_arrive
from tests.pages.apps import page, words
from tests.studies.test_stein_report import made_up


@pytest.fixture
def two_runs(server):
    """Restarts and a Gibbs chain; their analysis."""
    noisy = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    specs = [
        RunSpec("random_restarts", 3, particles=12),
        RunSpec("gibbs", 3, particles=30, settings={"warm_up": 20, "thinning": 2}),
    ]
    return server.wait_analysis(server.start(noisy, specs), "structure", "stein")


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """A small study in the place of the packaged one."""
    made_up().save(tmp_path / "stein.json.gz")
    monkeypatch.setattr(result, "RESULTS", tmp_path)
    result.full.cache_clear()
    yield
    result.full.cache_clear()


def figures(app) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def numbers(values) -> np.ndarray:
    """An array of a chart, which plotly writes in base 64."""
    if isinstance(values, list):
        return np.array(values)
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])


def test_runs_in_view_are_drawn_as_their_particles_arrive(server, two_runs, packaged):
    app = page("discrepancy", runs=",".join(run.id for run in two_runs.runs))
    assert not app.exception
    weighted, equal = figures(app)
    part = stein_stage.STAGE.of(two_runs).part("interior", "suggested")
    members = two_runs.members
    for number, run in enumerate(two_runs.runs):
        rows = (members["run"] == run.id).to_numpy()
        expected = as_they_arrive(part.K[rows][:, rows], members["seconds"].to_numpy()[rows])
        drawn = {"M": weighted["data"][number]["customdata"]}
        drawn |= {"weighted": weighted["data"][number]["y"], "equal": equal["data"][number]["y"]}
        for name, values in drawn.items():
            drawn_are = 1.0 if name == "M" else 0.5  # the root of wᵀKw
            np.testing.assert_allclose(numbers(values), expected[name] ** drawn_are, rtol=1e-6)
    assert "does not say whether a mode was missed" in words(app)


def test_the_packaged_study_is_drawn_and_judged(server, packaged):
    app = page("discrepancy")
    app.segmented_control(key="discrepancy_of").set_value("study").run()
    assert not app.exception
    (shown,) = figures(app)
    assert {trace["name"] for trace in shown["data"]} == {"Q-Transform", "Gibbs", "SVGD"}
    assert len(shown["data"]) == 3 * 2  # a line for each repetition
    assert app.dataframe[-1].value["data"].tolist() == ["First <data>", "Second"]
    assert "elsewhere it is Gibbs (1)" in words(app)
    app.selectbox(key="study_problem").set_value("two").run()
    assert not app.exception
    assert "Second, Exponential–Gaussian model, M = 5" in figures(app)[0]["layout"]["title"]["text"]


def test_without_a_packaged_study_the_runs_are_there(server, two_runs, tmp_path, monkeypatch):
    monkeypatch.setattr(result, "RESULTS", tmp_path)
    result.full.cache_clear()
    app = page("discrepancy", runs=",".join(run.id for run in two_runs.runs))
    result.full.cache_clear()
    assert not app.exception
    assert len(figures(app)) == 2


def test_the_figure_leaves_out_what_has_no_logarithm():
    study = made_up()
    points = findings.over_time(
        study, findings.Selection("gaussian", 5), "one", "paper_weighted"
    ).rename(columns={"column": "run"})
    points = points.assign(M=5, value=points["value"].where(points["run"] != "gibbs", 0.0))
    keys = ["q_transform", "gibbs"]
    figure = discrepancy_over_time(points, run_styles([(k, k, k) for k in keys]), "title")
    assert [trace.name for trace in figure.data] == ["q_transform", "q_transform"]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert [trace.showlegend for trace in figure.data] == [True, False]
    assert list(figure.data[0].y) == [2.0, 1.0]
