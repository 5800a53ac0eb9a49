"""A sketch is drawn as the same figure with all of Plotly's checks is."""

import copy
import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from bnmf_core.figures.sketch import Sketch, title_of
from bnmf_core.figures.style import layout


def drawn(figure: go.Figure) -> dict:
    return json.loads(figure.to_json())


def points(figure):
    table = pd.DataFrame({"x": [1.5, np.nan, 3.0], "name": ["a", "b", None]})
    return figure.add_scatter(
        x=table["x"],
        y=np.arange(3),
        text=table["name"],
        customdata=table,
        line={"dash": None, "color": "#0072B2"},
        error_y={"array": [1.0, 2.0, 3.0]},
    )


def cells(figure):
    color = {"title": "share", "thickness": 12}
    return figure.add_heatmap(z=np.eye(3), colorscale="RdBu_r", colorbar=color, zmid=0)


def axes(figure):
    figure.update_xaxes(title="x", tickvals=[1, 2], range=(0, 1))
    figure.update_xaxes(title={"standoff": 4}, tickvals=None)
    return figure.update_yaxes(ticktext=None, zeroline=False)


def lines(figure):
    figure.add_vline(x=2, line={"color": "#000000"})
    return figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=np.float64(1))


def written(figure):
    figure.update_layout(meta={"origin": "here"}, legend={"x": 1}, images=[])
    return layout(figure, "Title", legend={"y": 0.5}, barmode="group")


DRAWN = {one.__name__: (one,) for one in (points, cells, axes, lines, written)}
DRAWN["everything"] = (points, cells, lines, axes, written)


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_it_is_drawn_as_a_checked_figure_is(draw):
    sketch, figure = Sketch(), go.Figure()
    for one in draw:
        one(sketch)
        one(figure)
    assert drawn(sketch) == drawn(figure)
    assert title_of(sketch) == title_of(figure)


@pytest.mark.parametrize(
    "change",
    [
        lambda figure: figure.update_layout(title_text="Other"),
        lambda figure: figure.update_traces(opacity=0.5),
        lambda figure: figure.add_bar(x=["a"], y=[1], marker_color="#000000"),
        lambda figure: figure.add_vline(x=1, annotation_text="here"),
        lambda figure: figure.add_trace(go.Bar(y=[2])),
        lambda figure: figure.update_yaxes(title_standoff=3),
    ],
)
def test_what_it_does_not_know_is_done_by_plotly(change):
    sketch, figure = (written(points(one)) for one in (Sketch(), go.Figure()))
    change(sketch)
    change(figure)
    assert drawn(sketch) == drawn(figure)


def test_it_is_a_figure_for_whoever_reads_it():
    sketch = written(points(Sketch()))
    assert sketch.data[0].line.color == "#0072B2"
    assert sketch.layout.title.text == title_of(sketch) == "Title"
    assert drawn(copy.deepcopy(sketch)) == drawn(sketch) == drawn(go.Figure(sketch))


def test_what_was_drawn_may_be_drawn_on():
    sketch = points(Sketch())
    once = drawn(sketch)
    axes(sketch)
    assert drawn(sketch) != once
    assert drawn(sketch) == drawn(axes(points(go.Figure())))


def test_a_copy_and_what_it_was_made_of_are_two():
    style = {"color": "#000000"}
    sketch = Sketch().add_scatter(x=[1], y=[1], marker=style)
    sketch.update_layout(margin={"l": 1})
    sketch.to_dict()["layout"]["margin"]["l"] = 9
    assert sketch.to_dict()["layout"]["margin"] == {"l": 1}
    assert style == {"color": "#000000"}


def test_a_mistake_is_told_by_plotly_when_it_is_looked_at():
    sketch = Sketch().add_scatter(x=[1], y=[1], mode="marker")
    with pytest.raises(ValueError, match="mode"):
        assert sketch.data
