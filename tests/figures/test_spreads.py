"""The picture of what turns components: every interval and every mode where its numbers are."""

from itertools import combinations

import numpy as np
import pytest

from bnmf_core.figures.spreads import LOOKS, spreads_of_components
from tests.figures.vision import nearest

NAMES, MODES = ["1", "2 (<b>, \u2026)", "3"], [f"mode {k + 1}" for k in range(7)]
INTERVAL = np.array([[1.0, 2.0, 4.0], [0.0, 1e-9, 1e-8], [3.0, 10.0, 30.0]])


def drawn(kinds=tuple(LOOKS), others=1, mass=0.4, counts=True):
    others = np.arange(1, 1 + others)
    return spreads_of_components(
        {kind: (1 + i) * INTERVAL for i, kind in enumerate(kinds)},
        np.full((others.size, 3), 50.0) + others[:, None],
        np.full(others.size, mass),
        np.full(others.size, counts),
        others,
        NAMES,
        MODES,
    )


def test_bars_reach_from_5_to_95_percent_around_the_median():
    figure = drawn()
    for i, (kind, trace) in enumerate(zip(LOOKS, figure.data, strict=False)):
        low, median, high = np.where((1 + i) * INTERVAL < 1e-3, 0, (1 + i) * INTERVAL).T
        assert trace.name == LOOKS[kind][0]
        np.testing.assert_allclose(trace.x, median)
        np.testing.assert_allclose(trace.x + trace.error_x.array, high)
        np.testing.assert_allclose(trace.x - trace.error_x.arrayminus, low)
    assert (np.diff([trace.y for trace in figure.data], axis=0) > 0).all()
    assert "&lt;b&gt;" in figure.layout.yaxis.ticktext[1]
    assert figure.layout.xaxis.range[1] > 90
    alone = drawn(kinds=("draws",), others=0)
    assert len(alone.data) == 1 and alone.layout.height < figure.layout.height


def test_a_disc_is_larger_with_more_mass_and_hollow_where_a_mode_hardly_counts():
    little, much = (drawn(mass=mass).data[-1].marker.size for mass in (0.01, 0.6))
    assert little < much
    hollow = drawn(others=2, mass=np.nan, counts=False).data[-2:]
    assert [trace.marker.symbol for trace in hollow] == ["circle-open"] * 2
    assert [trace.showlegend for trace in hollow] == [True, False]
    assert "not known" in hollow[0].text[0] and "mode 2: 51°" in hollow[0].text[0]


@pytest.mark.parametrize(("others", "entries"), [(3, 3), (4, 1)])
def test_the_legend_names_a_few_modes_and_many_at_once(others, entries):
    assert sum(trace.showlegend for trace in drawn(others=others).data[len(LOOKS) :]) == entries


def test_kinds_of_doubt_differ_in_colour_for_all_eyes_and_in_their_mark():
    _, colors, symbols = zip(*LOOKS.values(), strict=True)
    assert min(nearest(one, other) for one, other in combinations(colors, 2)) > 18
    assert len(set(symbols)) == len(LOOKS)
