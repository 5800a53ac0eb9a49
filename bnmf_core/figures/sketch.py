"""Figures that are drawn without Plotly's checks, which take longer than all the rest of a page.

Plotly looks at every value that a figure is given, several times over. What the program draws is
known to be right: tests compare every sketch with what Plotly makes of it.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import plotly.colors
import plotly.graph_objects as go
import plotly.io

# Plotly's own way of writing arrays down, so that a sketch is written as any other figure is.
from _plotly_utils.utils import is_skipped_key, to_typed_array_spec

Plain = dict[str, Any]
# Of these Plotly keeps no empty list.
LISTED = ("annotations", "images", "shapes")


class Sketch(go.Figure):
    """A figure that stores its parts unchecked, until something besides drawing is requested.

    It stores traces, shapes, axes and layout; :meth:`to_dict` returns them for a browser or a file.
    Any other method first turns it into an ordinary Plotly figure, with all checks. Arrays are not
    copied and must not change any more.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        if args or named:  # as when it is copied
            super().__init__(*args, **named)
            return
        self._sketched: Plain | None = {"data": [], "layout": {}}

    def __getattr__(self, name: str) -> Any:
        """Attributes that the sketch lacks come from the figure."""
        if name.startswith("__") or self.__dict__.get("_sketched") is None:
            raise AttributeError(name)
        self._check()
        return getattr(self, name)

    def _check(self) -> None:
        """Become an ordinary figure."""
        sketched = self.__dict__.get("_sketched")
        if sketched is not None:
            self._sketched = None
            super().__init__(sketched["data"], sketched["layout"])

    def _sketch(self, props: Plain) -> Plain | None:
        """The sketch if it can hold ``props``; names such as ``line_color`` need Plotly."""
        sketched: Plain | None = self.__dict__.get("_sketched")
        plain = all("_" not in key or key.startswith("error_") for key in props)
        if sketched is not None and plain and not {"row", "col"} & props.keys():
            return sketched
        self._check()
        return None

    def add_trace(self, trace: Any, *args: Any, **named: Any) -> "Sketch":
        """Add a trace; a dictionary is stored as it is."""
        sketched = self._sketch(named | trace) if isinstance(trace, dict) and not args else None
        if sketched is None:
            self._check()
            return super().add_trace(trace, *args, **named)
        sketched["data"].append(_plain(trace))
        return self

    def add(self, kind: str, **props: Any) -> "Sketch":
        """Add a trace of a Plotly type: "scatter", "bar", …"""
        places = {key: props.pop(key) for key in ("row", "col") if key in props}
        if self._sketch(props | places) is None:
            return super().add_trace(getattr(go, kind.capitalize())(**props), **places)
        return self.add_trace({"type": kind} | props)

    def add_scatter(self, **props: Any) -> "Sketch":
        """See Plotly."""
        return self.add("scatter", **props)

    def add_bar(self, **props: Any) -> "Sketch":
        """See Plotly."""
        return self.add("bar", **props)

    def add_heatmap(self, **props: Any) -> "Sketch":
        """See Plotly."""
        return self.add("heatmap", **props)

    def add_band(self, x: Any, lower: Any, upper: Any, color: str) -> "Sketch":
        """Fill the area between two lines over x; it has no hover text."""
        return self.add_scatter(
            x=[*x, *x[::-1]],
            y=[*upper, *lower[::-1]],
            fill="toself",
            fillcolor=color,
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
        )

    def add_hover_areas(self, x: Any, y: Any, text: Any, size: Any, **props: Any) -> "Sketch":
        """Add invisible squares of this size with hover ``text``."""
        return self.add_scatter(
            x=x,
            y=y,
            mode="markers",
            marker={"size": size, "symbol": "square", "opacity": 0},
            hovertext=text,
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
            **props,
        )

    def add_shape(self, *args: Any, **props: Any) -> "Sketch":
        """See Plotly."""
        sketched = None if args else self._sketch(props)
        if sketched is None:
            self._check()
            return super().add_shape(*args, **props)
        sketched["layout"].setdefault("shapes", []).append(_plain(props))
        return self

    def add_vline(self, x: Any, **props: Any) -> "Sketch":
        """See Plotly."""
        if "annotation" in props or self._sketch(props) is None:
            self._check()
            return super().add_vline(x, **props)
        across = {"x0": x, "x1": x, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
        return self.add_shape(type="line", **across, **props)

    def update_xaxes(self, *args: Any, **props: Any) -> "Sketch":
        """See Plotly."""
        if not self._of_axes("xaxis", args, props):
            super().update_xaxes(*args, **props)
        return self

    def update_yaxes(self, *args: Any, **props: Any) -> "Sketch":
        """See Plotly."""
        if not self._of_axes("yaxis", args, props):
            super().update_yaxes(*args, **props)
        return self

    def _of_axes(self, kind: str, args: tuple[Any, ...], props: Plain) -> bool:
        """Whether the sketch took ``props`` for all axes of a kind."""
        sketched = None if args or "selector" in props else self._sketch(props)
        if sketched is None:
            self._check()
            return False
        layout = sketched["layout"]
        for name in {kind, *(key for key in layout if key.startswith(kind))}:
            _lay_over(layout.setdefault(name, {}), props)
        return True

    def update_layout(
        self, changes: Plain | None = None, overwrite: bool = False, **props: Any
    ) -> "Sketch":
        """See Plotly."""
        every = (changes or {}) | props
        sketched = self._sketch(every)
        if sketched is None:
            super().update_layout(every, overwrite)
            return self
        if overwrite:
            for key in every:
                sketched["layout"].pop(key, None)
        _lay_over(sketched["layout"], every)
        return self

    def to_dict(self) -> Plain:
        """The figure as it is drawn."""
        sketched = self.__dict__.get("_sketched")
        if sketched is None:
            return dict(super().to_dict())
        layout = _written(sketched["layout"])
        name = plotly.io.templates.default
        if name is not None and "template" not in layout:
            layout["template"] = _template(name, id(plotly.io.templates[name]))
        return {"data": [_written(trace) for trace in sketched["data"]], "layout": layout}


def title_of(figure: go.Figure) -> str:
    """The text of a figure's title, "" where it has none."""
    sketched = figure.__dict__.get("_sketched")
    if sketched is None:
        return figure.layout.title.text or ""
    return str(sketched["layout"].get("title", {}).get("text", ""))


@lru_cache(maxsize=8)
def _template(name: str, _of: int) -> Plain:
    """The default template."""
    return _written(plotly.io.templates[name].to_plotly_json())


@lru_cache(maxsize=16)
def _colors(name: str) -> list[list[Any]]:
    """The colours of a scale with this name, each with its place from 0 to 1."""
    colors = [color for _, color in plotly.colors.get_colorscale(name)]
    return [[place / (len(colors) - 1), color] for place, color in enumerate(colors)]


def _lay_over(props: Plain, changes: Plain) -> None:
    """Put changes over what there is; what becomes None goes."""
    for key, value in changes.items():
        if value is None or (key in LISTED and not len(value)):
            props.pop(key, None)
        elif isinstance(props.get(key), dict) and isinstance(value := _plain(value, key), dict):
            _lay_over(props[key], value)
        else:
            props[key] = _plain(value, key)


def _plain(value: Any, key: str = "") -> Any:
    """A value as Plotly would keep it: names written out, columns as arrays, no None."""
    if isinstance(value, dict):
        return {name: _plain(v, name) for name, v in value.items() if v is not None}
    if key == "title" and isinstance(value, str):
        return {"text": value}
    if key == "colorscale" and isinstance(value, str):
        return _colors(value)
    if isinstance(value, pd.Series | pd.Index | pd.DataFrame):
        return value.to_numpy()
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [_plain(one) for one in value]
    return value


def _written(value: Any, key: str = "") -> Any:
    """A copy in which numbers in arrays are written as browsers read them."""
    if isinstance(value, dict):
        return {name: _written(v, name) for name, v in value.items()}
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [_written(one) for one in value]
    if isinstance(value, np.ndarray) and not is_skipped_key(key):
        return to_typed_array_spec(value)
    return value
