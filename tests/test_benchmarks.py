"""The benchmarks' arithmetic on made-up numbers; nothing here is timed."""

import importlib
import inspect
import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import harness, state, svg
from benchmarks.__main__ import BENCHMARKS, RESULTS, document, sections
from benchmarks.distances import perturbed, plain_covering, plain_pair
from benchmarks.gibbs import numpy_sweep
from benchmarks.journeys import JOURNEYS, _file, _numbers, journey
from benchmarks.pages import _row
from benchmarks.tables import as_markdown, as_text
from benchmarks.visits import Answer, together
from bnmf_core import RunSpec, covering_numbers, distances
from bnmf_core.runs.planning import make_plan
from bnmf_core.samplers import gibbs
from pages.frame.declared import PAGES

MODULES = list(BENCHMARKS)


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_has_measure_and_targets(name):
    module = importlib.import_module(f"benchmarks.{name}")
    assert list(inspect.signature(module.measure).parameters) == ["quick"]
    assert module.TARGETS


def test_sides_are_measured_in_turn():
    calls = []

    def side(name, value):
        return lambda repeat: calls.append((name, repeat)) or value + repeat

    assert harness.in_turn(3, side("a", 1.0), side("b", 10.0)) == [[1, 2, 3], [10, 11, 12]]
    assert calls == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_ratios_are_taken_pair_by_pair():
    found = harness.ratio([20.0, 90.0, 10.0], [10.0, 10.0, 10.0])
    assert found == {"median": 2.0, "min": 1.0, "max": 9.0, "all": [2.0, 9.0, 1.0]}
    # A slow spell that hits both sides of a pair changes nothing.
    assert harness.ratio([2.0, 200.0, 2.0], [1.0, 100.0, 1.0])["all"] == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("exponent", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_the_slope_of_a_power_is_its_exponent(exponent):
    x = [1.0, 10.0, 40.0, 1e6]
    assert harness.slope(x, [7.0 * v**exponent for v in x]) == pytest.approx(exponent, abs=1e-12)


def test_a_slope_needs_two_points_above_zero():
    for x, y in (([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [0.0, 1.0])):
        with pytest.raises(ValueError, match="two different x"):
            harness.slope(x, y)


def test_a_target_is_met_from_either_side():
    assert harness.against(10.0, 20.0) == {"target": "≥ 20", "part": 0.5, "met": False}
    assert harness.against(0.55, 1.1, at_least=False) == {
        "target": "≤ 1.1",
        "part": pytest.approx(2.0),
        "met": True,
    }


def test_time_in_which_two_answers_are_made_at_once_counts_once():
    assert together([]) == 0.0
    assert together([(5.0, 6.0), (0.0, 2.0), (1.0, 3.0)]) == 4.0
    assert together([(0.0, 9.0), (1.0, 2.0)]) == 9.0


@pytest.mark.parametrize(
    ("server", "reached", "met"), [((0.05, 0.05), "200%", True), ((0.05, 0.5), "36%", False)]
)
def test_a_page_is_as_far_as_the_worse_of_its_targets(server, reached, met):
    answers = [Answer(seconds, seconds, 1.0, 1000) for seconds in server]
    row = _row(PAGES[4], "made up", answers[0], answers)
    assert row[:3] == [PAGES[4].title, "made up", 2]
    assert row[-2:] == [reached, met]


def test_the_longest_journey_and_the_slowest_visits_are_held_against_their_targets():
    made = [["genes", "a", 1.0, 2, 4.0, 1.0, 3.0, ""], ["faces", "b", 1.0, 3, 20.0, 1.0, 19.0, ""]]
    absent = ["texts", *[None] * 6, "it is not there"]
    stuck = ["spectra", "c", 1.0, 2, math.inf, 1.0, None, "no chart"]
    rows = _numbers([*made, stuck, absent], [1.0], [[0.1]], 0.0, 10)
    assert (rows[1][1], rows[1][4]) == (math.inf, False)
    rows = _numbers([*made, absent], [1.0, 9.0, 1.2], [[2.0] * 20, [0.5] * 20], 0.6, 10)
    met = {row[0]: (row[1], row[4]) for row in rows}
    assert met["clicks of the longest journey"] == (3, True)
    assert met["seconds of the longest journey"] == (20.0, False)
    assert met["first page of a fresh server, s"] == (1.2, True)
    assert met["95th percentile of 40 visits, s"] == (2.0, False)
    assert met["memory with 10 analyses open, GB"] == (0.6, True)
    assert len(_numbers([absent], [1.0], [[0.1]], 0.0, 10)) == 4


def test_a_field_without_its_files_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("BNMF_DATA", str(tmp_path))
    row = journey(None, "texts")
    assert row[0] == "texts" and "bbc.mtx is not in the folder" in row[-1]
    assert len(row) == len(JOURNEYS)
    (tmp_path / "bbc").mkdir()
    (tmp_path / "bbc" / "bbc.mtx").touch()
    assert _file("texts").name == "bbc.mtx"


@pytest.mark.parametrize("metric", ["max_angle", "wad", "l1_sum"])
def test_the_plain_loop_of_distances_agrees_with_the_program(metric):
    particles = perturbed(8, 4, np.random.default_rng(0))
    matrix = distances(particles, metric)
    pair = plain_pair(metric, particles)
    expected = [[pair(i, j) if i != j else 0.0 for j in range(8)] for i in range(8)]
    np.testing.assert_allclose(matrix, expected, atol=1e-6)
    epsilons = np.linspace(0, matrix.max(), 7)
    assert (
        plain_covering(matrix, epsilons) == covering_numbers(matrix, epsilons, "published").tolist()
    )


def test_the_numpy_sweep_of_gibbs_agrees_with_the_program(small):
    problem = make_plan(small, RunSpec("gibbs", rank=3, particles=1)).problem
    rng = np.random.default_rng(0)
    A, W = rng.exponential(size=(1, 3, small.D)), rng.exponential(size=(1, 3, small.N))
    ours = gibbs.sweep(problem, A, W, np.random.default_rng(1))
    theirs = numpy_sweep(problem, A, W, np.random.default_rng(1))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_results_are_written_as_text_and_markdown():
    table = {"title": "Table", "columns": ("a", "b|c"), "rows": [[1.23456, None], [True, "x|y"]]}
    plots = [{"title": "p", "path": "plots/p.svg"}]
    result = {"title": "T", "summary": ["S."], "tables": [table], "plots": plots}
    markdown = as_markdown(result)
    assert "| 1.23 | — |" in markdown
    assert "| yes | x\\|y |" in markdown
    assert "![p](plots/p.svg)" in markdown
    assert as_text(result).splitlines()[-1].split() == ["yes", "x|y"]


def test_a_plot_is_well_formed_and_names_its_series():
    ElementTree = importlib.import_module("xml.etree.ElementTree")
    text = svg.curves("a < b", "x", "y", {"one & two": [(1.0, 2.0), (1e3, 5.0)]})
    words = [element.text for element in ElementTree.fromstring(text).iter()]
    assert "a < b" in words
    assert "one & two" in words


def test_sections_of_other_benchmarks_stay_as_they_are():
    both = document({"pages": "## Pages\n\n| a |", "gibbs": "## Gibbs"})
    assert sections(both) == {"gibbs": "## Gibbs", "pages": "## Pages\n\n| a |"}
    assert document(sections(both) | {"gibbs": "## Anew"}) == both.replace("## Gibbs", "## Anew")
    assert sections(RESULTS.read_text()).keys() <= BENCHMARKS.keys()


@pytest.mark.parametrize(
    ("others", "arguments", "written"),
    [(0.0, [], True), (0.5, [], False), (0.5, ["--busy"], True), (0.0, ["--quick"], False)],
)
def test_what_was_measured_on_a_busy_machine_is_not_kept(
    tmp_path, monkeypatch, capsys, others, arguments, written
):
    states = [state.State(others, 50.0, 0.0, 0.0), state.State(0.0, 40.0, 120.0, 90.0)]
    result = {"title": "Made up", "summary": [], "tables": []}
    monkeypatch.setattr(state, "now", lambda: states.pop(0))
    monkeypatch.setitem(BENCHMARKS, "gibbs", SimpleNamespace(measure=lambda quick: result))
    monkeypatch.setattr(command, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr("sys.argv", ["benchmarks", "gibbs", *arguments])
    refused = others > state.FREE and not arguments
    assert command.main() == int(refused)
    assert (tmp_path / "RESULTS.md").exists() == written
    said = capsys.readouterr()
    assert "2.0 minutes, and 1.5 of processor time" in said.out
    assert "50 GFLOP/s before and 40 after" in said.out
    assert ("gibbs is not written" in said.err) == refused
