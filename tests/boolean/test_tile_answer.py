"""What is said of tiles: where it is true, and only there."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core.boolean.analysis import tile_answer
from bnmf_core.findings.facts import say

A = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.1]])
W = np.array([[0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.2]])
# A one in no tile, a zero in one, a cell in a tile and one in none that were not seen.
X = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, np.nan, 0], [0, 1, 0, np.nan]])


def run(**changed):
    tiles = pd.DataFrame({"tile": [0, 1], "cells": [4, 1], "own": [4, 1], "noise": [-9.0, -9.0]})
    tiles = tiles.assign(uncertainty=0.0, ambiguity=0.0, one=1.0, two=0.95)
    return SimpleNamespace(A=A, W=W, tiles=tiles.assign(**changed))


def told(found, sigma=None):
    settings = {} if sigma is None else {"sigma": sigma}
    judges = tile_answer.Judges(("one", "two"), "draws")
    return list(map(say, tile_answer.facts(found, judges, X, settings)))


@pytest.mark.parametrize(
    ("changed", "believed"),
    [
        ({}, "2 of 2"),
        ({"two": [0.95, 0.5]}, "1 of 2"),
        ({"noise": [-9.0, -5.0]}, "1 of 2"),
        ({"cells": [4, 0]}, "1 of 2"),
        ({"cells": [4, 9], "own": [4, 3]}, "1 of 2"),
        ({"one": 0.1}, "0 of 2"),
    ],
)
def test_a_tile_is_believed_that_every_run_has_and_noise_does_not_make(changed, believed):
    said = told(run(**changed))[0]
    assert said.startswith(f"{believed} tiles can be believed")
    assert ("tile 1." in said) == (believed == "1 of 2")


def test_a_tile_that_lies_mostly_in_others_is_said_to():
    assert "mostly in others" not in " ".join(told(run()))
    found = told(run(cells=[4, 9], own=[4, 3]))
    assert found[1].startswith(
        "Tile 2 lies mostly in others: 3 of its 9 cells are in no surer tile"
    )


def test_cells_are_counted_by_what_tiles_make_of_them():
    assert tile_answer.counts(run(), X) == {
        "explained": 3,
        "missed": 1,
        "filled_in": 1,
        "predicted": 1,
        "unseen": 2,
    }
    whole = " ".join(told(run()))
    assert "cover 75 % of the ones. 1 ones lie in no tile and 1 zeros" in whole.replace("\n", " ")
    assert "Of 2 missing cells, 1 lie in a tile" in whole


def test_what_makes_no_draws_is_called_so_and_why_comes_second():
    judges = tile_answer.Judges(("one", "two"), "outputs")
    first, second, *_ = map(say, tile_answer.facts(run(), judges, X, {}, ["These are no draws."]))
    assert "90 % of the outputs of each of 2 runs have them" in first
    assert second == "These are no draws."
    assert not any("draws" in one for one in map(say, tile_answer.facts(run(), judges, X, {})))


@pytest.mark.parametrize(("sigma", "forgets"), [(1.0, True), (None, False), (0.1, False)])
def test_a_noise_level_that_hides_the_tiles_is_blamed(sigma, forgets):
    whole = " ".join(told(run(cells=[0, 0]), sigma))
    assert ("forgets the tiles" in whole) == forgets
    assert ("make no tile" in whole) != forgets


@pytest.mark.parametrize(
    ("uncertainty", "ambiguity", "words"),
    [
        (0.01, 0.01, "clear"),
        (0.2, 0.02, "undecided between 0 and 1"),
        (0.02, 0.2, "a clear half"),
        (np.nan, np.nan, "empty"),
    ],
)
def test_doubt_has_two_kinds(uncertainty, ambiguity, words):
    assert tile_answer.in_words(uncertainty, ambiguity) == words
    whole = " ".join(told(run(uncertainty=[0.0, uncertainty], ambiguity=[0.0, ambiguity])))
    assert ("Undecided between 0 and 1: tile 2." in whole) == words.startswith("undecided")
