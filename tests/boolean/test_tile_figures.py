"""Pictures of tiles: every cell has the colour of what it is, in the order that was asked for."""

import numpy as np

from bnmf_core.boolean.figures.thresholds import (
    cell_histogram,
    entries_chart,
    pair_chart,
    places,
    threshold_chart,
)
from bnmf_core.boolean.figures.tiles import (
    MOST_SIDE,
    Cell,
    kinds,
    table_picture,
    tables_beside,
    tile_pictures,
)

X = np.array([[1, 1, 0], [0, np.nan, 0], [1, 0, np.nan]])
COVERED = np.array([[True, False, True], [False, True, False], [True, False, False]])


def test_each_kind_of_cell_is_told_apart():
    expected = [
        [Cell.EXPLAINED, Cell.MISSED, Cell.FILLED_IN],
        [Cell.OFF, Cell.PREDICTED, Cell.OFF],
        [Cell.EXPLAINED, Cell.OFF, Cell.UNSEEN],
    ]
    np.testing.assert_array_equal(kinds(X, COVERED), expected)


def test_the_table_is_drawn_in_its_order_and_the_legend_counts_cells():
    order = np.array([2, 0, 1]), np.array([1, 0, 2])
    figure = table_picture(X, COVERED, order)
    np.testing.assert_array_equal(figure.data[0].z, kinds(X, COVERED)[np.ix_(*order)])
    names = [trace.name for trace in figure.data[1:]]
    assert "yes, in a tile (2)" in names and "no, in a tile (1)" in names


def test_tables_stand_beside_each_other_in_one_order():
    order = np.array([2, 0, 1]), np.array([1, 0, 2])
    figure = tables_beside(X, [COVERED, ~COVERED], order, ["rank 2", "rank 3"])
    first, second = (trace for trace in figure.data if trace.type == "heatmap")
    np.testing.assert_array_equal(first.z, kinds(X, COVERED)[np.ix_(*order)])
    np.testing.assert_array_equal(second.z, kinds(X, ~COVERED)[np.ix_(*order)])
    assert (first.xaxis, second.xaxis) == ("x", "x2")
    assert [note.text for note in figure.layout.annotations] == ["rank 2", "rank 3"]


def test_of_a_large_table_the_most_notable_cell_stands_for_several():
    large = np.zeros((MOST_SIDE + 1, 4))
    large[1, 0] = 1.0
    figure = table_picture(large, np.zeros(large.shape, bool), (np.arange(601), np.arange(4)))
    assert figure.data[0].z.shape[0] == 301
    assert figure.data[0].z[0, 0] == Cell.MISSED
    assert "2×1" in figure.layout.title.text


def test_a_tile_is_dark_where_its_rows_and_columns_meet():
    A = np.array([[True, False], [False, True], [False, False]])
    W = np.array([[True, False], [True, True]])
    figure = tile_pictures(A, W, (np.array([1, 0, 2]), np.array([0, 1])), ["1", "2"])
    z = np.asarray(figure.data[0].z)
    np.testing.assert_array_equal(z[:, :2], [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(z[:, 4:], [[1, 1], [0, 0], [0, 0]])


def test_few_tiles_are_large_and_many_stand_in_more_lines():
    def beside(R: int) -> tuple[int, int]:
        A, W = np.ones((60, R), bool), np.ones((R, 60), bool)
        order = (np.arange(60), np.arange(60))
        figure = tile_pictures(A, W, order, [str(r) for r in range(R)])
        lines = len({note.y for note in figure.layout.annotations})
        return -(-R // lines), lines

    assert [beside(R) for R in (3, 10, 16, 40)] == [(3, 1), (5, 2), (8, 2), (10, 4)]


def test_thresholds_are_drawn_up_to_what_saying_no_gets_wrong():
    at, errors = np.array([0.0, 0.2, 0.7]), np.array([90, 3, 10])
    figure = threshold_chart({"seen": (at, errors)}, [(0.2, 0.7)], "seen")
    assert figure.layout.yaxis.range[1] == 13.0
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.2, 0.7)
    pairs = pair_chart(np.array([[90, 5], [4, 10]]), np.array([0.0, 1.0]))
    assert (pairs.data[0].zmin, pairs.data[0].zmax) == (4, 10)
    assert (pairs.data[1].x[0], pairs.data[1].y[0]) == (0.0, 1.0)
    ties = pair_chart(np.array([[4, 5], [4, 10]]), np.array([0.0, 1.0])).data[1]
    assert (list(ties.x), list(ties.y)) == ([0.0, 0.0], [0.0, 1.0])


def test_points_name_their_entry_and_a_histogram_counts_every_draw():
    mean = {"A": np.array([[0.1, 0.9]]), "W": np.array([[0.2], [0.8]])}
    figure = entries_chart(mean, mean, "t", "a")
    np.testing.assert_array_equal(figure.data[0].customdata, [[0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(figure.data[1].customdata, [[2, 0, 0], [3, 0, 1]])
    np.testing.assert_array_equal(
        places(np.arange(4), mean), [[0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    )
    assert sum(cell_histogram(np.array([0.0, 0.5, 1.0]), "w").data[0].y) == 3
