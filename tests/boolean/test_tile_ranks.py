"""What is told of tiles rank by rank: counted by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from bnmf_core.boolean.analysis.tile_answer import rank_sentence, rank_table

# Two tiles on the diagonal, a one in no tile and a cell that was not seen.
X = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, np.nan]])


def run(A, W, present, on=1.0):
    A, W = np.array(A, dtype=float), np.array(W, dtype=float)
    cells = (A > 0.5).sum(axis=0) * (W > 0.5).sum(axis=1)
    return SimpleNamespace(
        A=A,
        W=W,
        tiles=pd.DataFrame({"cells": cells, "present": present}),
        on=np.full(X.shape, on),
    )


ONE = run([[1], [1], [0]], [[1, 1, 0, 0]], [1.0])
# The second covers a zero, the third is empty.
THREE = run(
    [[1, 0, 0], [1, 0, 0], [0, 1, 0.4]], [[1, 1, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1]], [0.95, 0.5, 0]
)


def test_cells_and_tiles_are_counted_by_rank():
    table = rank_table({3: THREE, 1: ONE}, X)
    assert table["rank"].tolist() == [1, 3]
    assert table["tiles"].tolist() == [1, 2]
    assert table["missed"].tolist() == [2, 1]
    assert table["filled_in"].tolist() == [0, 1]
    assert table["often"].tolist() == [1, 1]
    assert table["doubtful"].tolist() == [0, 0]


def test_a_cell_is_in_doubt_that_some_have_and_others_do_not():
    doubtful = {
        on: rank_table({1: run(ONE.A, ONE.W, [1.0], on)}, X)["doubtful"][0]
        for on in (0.05, 0.11, 0.5, 0.89, 0.95)
    }
    assert doubtful == {0.05: 0, 0.11: X.size, 0.5: X.size, 0.89: X.size, 0.95: 0}


def test_what_changes_with_the_rank_is_said_where_there_are_several():
    table = rank_table({3: THREE, 1: ONE}, X)
    said = rank_sentence(table, "draws")
    assert "With 1 and 3 components the tiles contradict 2 and 2 cells" in said
    assert "1 and 2 tiles are in use" in said
    assert "1 and 1 are in at least 90 % of the draws." in said
    assert said.endswith("1 of 3 components stay empty.")
    assert rank_sentence(table[:1], "draws") == ""
    assert "empty" not in rank_sentence(table.assign(tiles=[1, 3]), "draws")
