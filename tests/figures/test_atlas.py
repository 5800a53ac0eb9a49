"""Data sets beside each other: a bar as long as its share, one of them brought forward."""

import numpy as np

from bnmf_core.figures.atlas import CHOSEN, restarts_elsewhere


def test_bars_are_percent_from_above_and_names_are_shown_as_they_are():
    figure = restarts_elsewhere(["Wines", "<b>"], [0.98, 0.0], [None, 0.25], [True] * 2, "<b>")
    bars, rail, dots = figure.data
    np.testing.assert_allclose(bars.x, [98.0, 0.0])
    np.testing.assert_allclose(np.add(bars.x, rail.x), 100.0)
    assert list(bars.y) == ["Wines", "&lt;b&gt;"] and bars.orientation == "h"
    assert [color == CHOSEN for color in bars.marker.color] == [False, True]
    assert (list(dots.x), list(dots.y)) == ([25.0], ["&lt;b&gt;"])
    assert figure.layout.yaxis.autorange == "reversed" and figure.layout.barmode == "stack"
    more = restarts_elsewhere(["a", "b", "c"], [0, 0, 0], [None] * 3, [True, False, True])
    assert figure.layout.height < more.layout.height
    # A star where the best fit stands for the most probable mode.
    assert (
        list(more.data[0].y) == ["a", "b *", "c"]
        and "*: most not weighed" in more.layout.title.text
    )
    assert "*" not in figure.layout.title.text
