"""What bases look like: one colour for a component, and pictures that fit on a screen."""

import numpy as np
import pytest

from bnmf_core.figures.gallery import (
    BESIDE_BARS,
    LOWEST_BARS,
    TALLEST,
    basis_bars,
    basis_heatmap,
    basis_images,
)
from bnmf_core.figures.style import component_color


def bases(K: int, D: int, R: int) -> np.ndarray:
    return np.random.default_rng(0).random((K, D, R))


def test_a_component_has_its_colour_in_every_factorization():
    figure = basis_bars(bases(3, 5, 4), list("abcde"), ["one", "two", "three"])
    of_panel = [bar.marker.color for bar in figure.data]
    assert of_panel == 3 * [component_color(r) for r in range(4)]
    assert len(set(of_panel)) == 4


@pytest.mark.parametrize("difference", [False, True])
def test_the_number_of_a_component_stands_beside_its_colour(difference):
    A, names = bases(2, 6, 3), ["one", "two"]
    for figure in (
        basis_images(A, (2, 3), names, difference),
        basis_heatmap(A, list("abcdef"), names, difference=difference),
    ):
        for r, told in enumerate(figure.layout.xaxis.ticktext):
            assert component_color(r) in told and told.endswith(f" {r + 1}")


def test_names_stand_in_lines_and_are_not_cut():
    called, rows = ["left stroke of a digit"] * 10, ["mode 1 (the old reading of it) · Gibbs 3"]
    images = basis_images(bases(1, 6, 10), (2, 3), rows, called=called).layout
    bars = basis_bars(bases(1, 6, 10), list("abcdef"), rows, called=called).layout
    heatmap = basis_heatmap(bases(1, 6, 10), list("abcdef"), rows, called=called).layout
    titles = [note.text for note in bars.annotations]
    for told in (images.xaxis.ticktext[9], titles[-1], heatmap.xaxis.ticktext[9]):
        assert told.replace("<br>", " ").endswith(f"</span> 10 ({called[9]})")
        assert max(map(len, told.split("</span> ")[1].split("<br>"))) <= 15
    for told in (images.yaxis.ticktext[0], titles[0]):
        assert told.replace("<br>", " ") == "mode 1 (the old reading of it) Gibbs 3"
    # Each line has its room.
    without = basis_images(bases(1, 6, 10), (2, 3), rows).layout
    assert images.margin.t >= without.margin.t + 2 * 13 and bars.margin.r >= 15 * 7


@pytest.mark.parametrize(("K", "R"), [(1, 2), (4, 16), (12, 16), (4, 40)])
def test_no_picture_of_many_components_is_higher_than_a_screen(K, R):
    features, names = [f"word {d}" for d in range(200)], [f"mode {k + 1}" for k in range(K)]
    heatmap = basis_heatmap(bases(K, 200, R), features, names, "words")
    assert heatmap.layout.height <= TALLEST
    # Every component has a feature there, and a number below its block only.
    assert heatmap.data[0].z.shape[1] == K * R
    assert len(heatmap.layout.xaxis.ticktext) == R


def test_a_heatmap_says_which_factorization_a_cell_is_of():
    figure = basis_heatmap(bases(2, 4, 3), list("abcd"), ["mode 1 · Gibbs 3", "mode 2 · HMC 1"])
    assert figure.data[0].customdata[0].tolist()[3] == "component 2 of mode 2 · HMC 1"


@pytest.mark.parametrize(("R", "fits"), [(2, True), (4, True), (8, True), (30, False)])
def test_bars_fit_on_a_screen_until_they_could_not_be_read(R, fits):
    height = basis_bars(bases(2, 9, R), list("abcdefghi"), ["one", "two"]).layout.height
    assert (height <= TALLEST) == fits
    assert (height - BESIDE_BARS) / R >= LOWEST_BARS
