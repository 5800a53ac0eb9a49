"""The map of modes: areas are numbers of restarts, and what is clicked are members of the mode."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core.figures.modes import LARGEST, SMALLEST, mode_map


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    labels = np.array([0] * 16 + [1] * 4 + [0] * 5)
    optima = np.array([True] * 20 + [False] * 5)
    points = rng.normal(size=(25, 2)) + 40 * labels[:, None]
    members = pd.DataFrame({"error": np.linspace(0.1, 0.2, 25)})
    masses, heavy = ["> 99.9 %", "< 0.1 %"], np.array([True, False])
    names, focus = ["mode 1", "mode 2"], np.ones(25, bool)
    of = (labels, np.array([3, 17]), optima, masses, heavy, names, "°", focus)
    return mode_map(points, members, *of, dots_are="draws", one_family=True)


def test_the_mode_with_the_mass_is_labelled_however_few_restarts_found_it():
    K, rng = 40, np.random.default_rng(0)
    heavy = np.arange(K) == 17
    figure = mode_map(
        10 * rng.normal(size=(K, 2)),
        pd.DataFrame({"error": np.full(K, 0.1)}),
        np.arange(K),
        np.arange(K),
        np.ones(K, bool),
        ["> 99.9 %" if one else "" for one in heavy],
        heavy,
        [f"mode {k + 1}" for k in range(K)],
        "°",
        np.ones(K, bool),
    )
    notes = [note.text for note in figure.layout.annotations]
    assert any("<b>18</b>" in note and "> 99.9 % of the mass" in note for note in notes)


def test_areas_are_numbers_of_restarts(drawn):
    dots, circles = drawn.data
    assert len(dots.x) == 5
    sizes = np.array(circles.marker.size)
    assert sizes[0] == pytest.approx(LARGEST * np.sqrt(0.8))
    assert (sizes[0] / sizes[1]) ** 2 == pytest.approx(4.0)
    assert sizes.min() >= SMALLEST


def test_a_circle_stands_for_all_members_of_its_mode(drawn):
    rows = drawn.data[1].customdata[0][0]
    assert sorted(rows) == [*range(16), *range(20, 25)]


def test_only_heavy_modes_have_their_mass_beside_them(drawn):
    notes = " ".join(note.text for note in drawn.layout.annotations)
    assert "> 99.9 % of the mass" in notes and "< 0.1 %" not in notes
    assert "posterior mass < 0.1 %" in drawn.data[1].hovertext[1]
    assert drawn.layout.title.text == "One family, cut into 2 modes of 20 restarts, 5 draws"


def test_factorizations_in_one_place_have_no_scale():
    one = np.ones(2, bool)
    members = pd.DataFrame({"error": [0.1, 0.1]})
    points = np.array([[0.0, 0.0], [1e-9, 0.0]])
    of = (np.zeros(2, int), np.array([0]), ~one, [""], ~one[:1], ["mode 1"], "°", one)
    figure = mode_map(points, members, *of)
    assert not figure.layout.shapes and figure.layout.xaxis.range == (-1, 1)
    assert not [note for note in figure.layout.annotations if "°" in note.text]
