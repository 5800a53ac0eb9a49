"""Posterior mass by likelihood power: lines of modes, and what several of them have together."""

import numpy as np
import pandas as pd

from bnmf_core.figures.likelihood_power import mass_by_power


def masses(first, second, joined):
    """Of two modes and a third without mass; ``joined`` : the mode that each is one with."""
    mass = np.array([first, second, 0.0])
    table = pd.DataFrame({"mass": mass, "mass_low": 0.9 * mass, "mass_high": 1.1 * mass})
    return table.assign(joined=joined, weighed=1)


def test_a_mode_has_a_line_and_one_without_mass_has_none():
    apart = [0, 1, 2]
    figure = mass_by_power({1.0: masses(0.7, 0.3, apart), 0.1: masses(0.6, 0.4, apart)}, "abc")
    assert [trace.name for trace in figure.data] == ["a", "b"]
    np.testing.assert_allclose(figure.data[0].y, [0.6, 0.7])
    assert list(figure.data[0].x) == ["0.1", "1"]


def test_modes_that_are_one_are_marked_as_theirs_and_named_once():
    one = [0, 0, 2]
    same = {power: masses(1.0, np.nan, one) for power in (1.0, 0.1, 0.01)}
    figure = mass_by_power(same)
    assert [list(trace.y) for trace in figure.data] == [[1.0]] * 3
    assert [trace.text[0] for trace in figure.data] == ["modes 1 and 2,<br>not separated", "", ""]
    other = mass_by_power(same | {1.0: masses(0.5, np.nan, one)})
    assert [bool(trace.text[0]) for trace in other.data] == [True, False, True]
