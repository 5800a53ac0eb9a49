"""Pictures of topics: bars, heat maps and lines hold the numbers they are given."""

import numpy as np
import pytest

from bnmf_core.compare.classes import class_shares, period_shares
from bnmf_core.core.dates import dates_of
from bnmf_core.figures.topics import _apart, class_map, period_lines, term_bars

RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet(np.ones(3), 60).T


def test_a_bar_in_the_topic_lies_in_front_of_the_one_of_all_documents():
    figure = term_bars(["<b>", "b"], np.array([1.0, 2]), np.array([3.0, 4]), 1, "x, y", "counts")
    overall, topic = figure.data
    assert list(overall.x) == [3, 4] and list(topic.x) == [1, 2]
    assert figure.layout.barmode == "overlay" and figure.layout.xaxis.title.text == "counts"
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;", "b"]
    assert "component 2 (x, y)" in figure.layout.title.text


def test_the_map_has_a_row_a_component_and_a_column_a_class():
    found = class_shares(SHARES, np.array(["a", "b", "b"] * 20))
    figure = class_map(found, "kind", ["one", "", ""])
    np.testing.assert_array_equal(figure.data[0].z, found.mean)
    assert list(figure.layout.xaxis.ticktext) == ["b", "a"]
    assert list(figure.layout.yaxis.ticktext) == ["1 (one)", "2", "3"]


@pytest.mark.parametrize("chosen", [None, 1])
def test_a_band_is_one_standard_error_about_its_line(chosen):
    found = period_shares(SHARES, dates_of([str(2000 + n % 4) for n in range(60)]))
    figure = period_lines(found, "year", chosen=chosen)
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    lines = [trace for trace in figure.data if trace.fill != "toself"]
    assert len(lines) == 3 and len(bands) == (3 if chosen is None else 1)
    r = chosen or 0
    np.testing.assert_array_equal(lines[r].y, found.mean[r])
    np.testing.assert_allclose(bands[0].y[:4], found.mean[r] + found.error[r])
    np.testing.assert_allclose(bands[0].y[:3:-1], found.mean[r] - found.error[r])
    assert [note.text.split()[-1] for note in figure.layout.annotations] == ["1", "2", "3"]


def test_names_beside_lines_do_not_overlap():
    places = _apart(np.array([0.5, 0.5, 0.98, 0.99, 0.0]))
    assert np.diff(np.sort(places)).min() > 0.06 and places.max() <= 1.0 and places[4] == 0.0
    many = _apart(np.full(40, 0.3))
    assert np.diff(np.sort(many)).min() == pytest.approx(1 / 39) and many.max() <= 1.0 + 1e-9
