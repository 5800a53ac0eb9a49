"""Runs in columns: the same axes for all, shares that are all of a run, points that are its own."""

import copy

import numpy as np
import pandas as pd
import pytest

from bnmf_core import Dataset
from bnmf_core.analysis.chains import Verdict
from bnmf_core.analysis.sessions import Session
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sessions import MOST, Shared, bands, session_columns
from bnmf_core.figures.style import component_name
from bnmf_core.figures.substitutions import SUBSTITUTIONS

RUNS, K, R = ("one", "two", "three"), 3, 4
HOSTILE = "<b>$x$</b>"


def session(run, number, **changes):
    unsettled = Verdict(run, "Gibbs", 2, 20, False, 1.6, 9.0, 9.0, (0, 1), "Worst: A.")
    rng = np.random.default_rng(number)
    facts = {
        "made": "40 draws",
        "covering": 2 + number,
        "each_chain": (1, 1),
        "crossing": 0,
        "shares": np.array([0.5, 0.3, 0.2]),
        "reached": 3,
        "every": K,
        "largest": 40.0,
        "error": 0.1,
        "A": rng.random((12, R)),
        "kind": "chains",
        "verdict": unsettled,
        "busy": 1.0,
        "effective": 2.0,
        "doubt": "chains have not settled",
    }
    return Session(run=run, **facts | changes)


def shared(**changes):
    rng = np.random.default_rng(0)
    facts = {
        "dataset": Dataset.from_array(rng.random((12, 9))),
        "curves": pd.DataFrame(
            {
                "run": np.repeat(RUNS, 10),
                "epsilon": np.tile(np.linspace(0, 90, 10), 3),
                "covering": np.tile(np.arange(10, 0, -1), 3),
            }
        ),
        "points": rng.normal(size=(60, 2)),
        "runs": np.repeat(RUNS, 20),
        "labels": np.tile([0, 1, 2, 0], 15),
        "focus": np.ones(60, bool),
        "threshold": 15.0,
        "unit": "°",
    }
    return Shared(**facts | changes)


def scatters(figure):
    return [trace for trace in figure.data if trace.type == "scatter"]


@pytest.fixture
def drawn():
    columns = [session(run, number) for number, run in enumerate(RUNS)]
    return session_columns(columns, ["First", HOSTILE, "Third"], shared())


def test_all_columns_have_the_same_axes(drawn):
    layout = drawn.layout.to_plotly_json()
    kinds = {"curves": 2, "map": 2, "modes": 1, "parts": 1}
    linked = [axis for axis in layout.values() if isinstance(axis, dict) and "matches" in axis]
    assert len(linked) == 2 * kinds["curves"] + 2 * kinds["map"]
    for name in {axis["matches"] for axis in linked}:
        first = layout[f"{name[0]}axis{name[1:]}"]
        same = [axis["range"] for axis in linked if axis["matches"] == name]
        assert same == [first["range"]] * 2


def test_the_bar_of_a_run_is_all_of_it_in_the_colours_of_the_map_of_modes(drawn):
    bars = [trace for trace in drawn.data if trace.type == "bar"]
    assert len(bars) == 3
    for bar in bars:
        assert sum(bar.x) == pytest.approx(1.0)
        start = np.asarray(bar.base, dtype=float)
        np.testing.assert_allclose((start + bar.x)[:-1], start[1:])
        assert list(bar.marker.color) == [mode_color(k) for k in range(K)]


def test_what_can_be_chosen_on_a_map_are_factorizations_of_its_run(drawn):
    maps = [trace for trace in scatters(drawn) if trace.customdata is not None]
    chosen = [[int(row) for row in np.asarray(trace.customdata)[:, 0]] for trace in maps]
    assert chosen == [list(range(20 * n, 20 * n + 20)) for n in range(3)]


def test_chains_that_stay_are_told_from_one_that_crosses(drawn):
    notes = " ".join(note.text for note in drawn.layout.annotations)
    assert notes.count("0 of 2 chains") == 3 and notes.count("○ not settled") == 3
    numbers = [trace.text[0] for trace in scatters(drawn) if trace.mode == "markers+text"]
    assert numbers == [f"<b>{2 + n}</b> (1 each)" for n in range(3)]
    crossing = session("one", 0, crossing=2, each_chain=(2, 2))
    figure = session_columns([crossing], ["One"], shared())
    assert [t.text[0] for t in scatters(figure) if t.mode == "markers+text"] == ["<b>2</b>"]


def test_names_are_text_and_nothing_that_was_given_changes():
    columns, given = [session("one", 0)], shared()
    before = copy.deepcopy((columns[0].A, given.points, given.curves))
    figure = session_columns(columns, [HOSTILE], given)
    notes = " ".join(note.text for note in figure.layout.annotations)
    assert "$x$" not in notes and "<b>&lt;b&gt;" in notes
    np.testing.assert_array_equal(columns[0].A, before[0])
    np.testing.assert_array_equal(given.points, before[1])
    pd.testing.assert_frame_equal(given.curves, before[2])


def test_components_are_images_words_or_profiles():
    rng = np.random.default_rng(1)
    words = [f"word{d}" for d in range(130)]
    topics = Dataset.from_array(rng.random((130, 9)), features=words)
    large = session("one", 0, A=rng.random((130, R)))
    notes = session_columns([large], ["One"], shared(dataset=topics)).layout.annotations
    assert sum("word" in note.text for note in notes) == 1
    pixels = Dataset.from_array(rng.random((12, 9)), image_shape=(3, 4))
    figure = session_columns([session("one", 0)], ["One"], shared(dataset=pixels))
    assert len(figure.layout.images) == R
    profiles = session_columns([session("one", 0)], ["One"], shared())
    assert sum(trace.fill == "toself" for trace in scatters(profiles)) == R


def test_all_in_one_place_under_a_threshold_of_nothing_is_drawn():
    curves = pd.DataFrame({"run": ["one"] * 2, "epsilon": [0.0, 0.0], "covering": [1, 1]})
    same = {"points": np.zeros((60, 2)), "curves": curves, "threshold": 0.0}
    session_columns([session("one", 0, covering=1)], ["One"], shared(**same)).to_json()


@pytest.mark.parametrize("count", [*range(1, 14), 30])
def test_runs_are_laid_out_in_even_bands(count):
    found = bands(count)
    sizes = [band.stop - band.start for band in found]
    assert sum(sizes) == count and max(sizes) <= MOST
    assert [band.start for band in found[1:]] == [band.stop for band in found[:-1]]


def test_profiles_of_substitutions_have_their_colours_and_keep_their_numbers():
    names = [f"{a}[{s}]T" for a in "AC" for s in SUBSTITUTIONS]
    data = Dataset.from_array(np.random.default_rng(0).random((12, 9)), features=names)
    drawn = session_columns([session("one", 0)], ["One"], shared(dataset=data))
    colors = [trace.line.color for trace in scatters(drawn) if trace.fill == "toself"]
    assert colors == list(SUBSTITUTIONS.values())
    told = [note.text for note in drawn.layout.annotations]
    assert all(component_name(r) in told for r in range(R))
    assert sum("C&gt;A" in text for text in told) == 1
