"""Spectra: every component over its axis, divided by its sum."""

import numpy as np

from bnmf_core.core.axis import axis_of
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.bases import picture
from bnmf_core.figures.spectra import spectra, weight_courses

AXIS = axis_of([f"{x} nm" for x in range(480, 400, -10)])


def test_lines_are_components_that_sum_to_one_and_strangers_are_left_out():
    A = np.random.default_rng(0).random((2, 8, 3))
    alone = np.array([[False] * 3, [False, True, False]])
    figure = spectra(AXIS, A, ["mode 1", "mode <2>"], ["", "soil", ""], 1, alone)
    assert len(figure.data) == 5
    np.testing.assert_allclose([trace.y.sum() for trace in figure.data], 1)
    np.testing.assert_allclose(figure.data[0].y, A[0, :, 0] / A[0, :, 0].sum())
    assert list(figure.data[0].x) == AXIS.values.tolist()
    assert figure.layout.xaxis.title.text == "nm" and figure.layout.xaxis.autorange == "reversed"
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert shown == ["component 1", "component 2 (soil)", "component 3"]
    assert "&lt;2&gt;" in figure.data[1].hovertemplate


def test_weights_are_lines_over_the_axis_of_observations_and_the_chosen_is_in_colour():
    amounts = np.random.default_rng(1).random((3, 8))
    figure = weight_courses(AXIS, amounts, ["", "dye <a>", ""], 1)
    for trace, row in zip(figure.data, amounts, strict=True):
        np.testing.assert_array_equal(trace.y, row)
        assert list(trace.x) == AXIS.values.tolist()
    assert [trace.opacity for trace in figure.data] == [0.5, 1.0, 0.5]
    assert figure.data[1].name == "component 2 (dye &lt;a&gt;)"
    assert figure.layout.xaxis.title.text == "nm" and figure.layout.xaxis.autorange == "reversed"
    bare = axis_of([f"run {7 + 3 * n}" for n in range(8)])
    assert weight_courses(bare, amounts).layout.xaxis.title.text == "observation"


def test_components_of_spectra_are_curves_in_reports_too():
    names = [f"{x} nm" for x in range(300, 620, 4)]
    A = np.random.default_rng(2).random((2, 80, 3))
    figure, reading = picture(Dataset.from_array(A[0], features=names), A, ["mode 1", "mode 2"])
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert figure.layout.xaxis.title.text == "nm"
    np.testing.assert_allclose(figure.data[0].y, A[0, :, 0] / A[0, :, 0].sum())
    assert "Dashed: all but mode 1, where they have a partner." in reading
