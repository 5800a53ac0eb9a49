"""Export a figure as a web page that saves SVG and PNG, and as a Python program."""

import base64
import html
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import title_of
from bnmf_core.version import VERSION

PROGRAM = """{comments}
# Made by bnmf {version}. Needs plotly and numpy; write_image needs kaleido too.

import plotly.graph_objects as go
from numpy import inf, nan

TRACES = {traces}

LAYOUT = {layout}

figure = go.Figure(TRACES, LAYOUT)

if __name__ == "__main__":
    figure.show()
    # figure.write_image("{name}.svg")  # or .png, .pdf
"""
# Numbers on one line of a program.
ON_A_LINE = 8
SAVE = (
    "<button onclick=\"Plotly.downloadImage(document.querySelector('.js-plotly-plot'), "
    "{{format: '{kind}', scale: 2, filename: '{name}'}})\">Save as {shown}</button> "
)


def figure_html(
    figure: go.Figure, name: str, reading: str, origin: str, config: dict[str, Any] | None = None
) -> bytes:
    """A stand-alone web page with the interactive figure, which saves it as SVG and as PNG.

    name : of the saved files, without ending. reading : how to read it. origin : of its numbers.
    """
    drawn = figure.to_html(full_html=False, include_plotlyjs=True, config=config)
    buttons = "".join(
        SAVE.format(kind=kind, name=name, shown=kind.upper()) for kind in ("svg", "png")
    )
    words = f"<p>{html.escape(reading)}</p>{drawn}{buttons}<p><small>{html.escape(origin)}</small>"
    return f"<!doctype html><meta charset=utf-8><body>{words}".encode()


def figure_code(figure: go.Figure, name: str, reading: str, origin: str) -> str:
    """A Python program that draws the figure, with all its numbers, to be changed at will.

    Examples
    --------
    >>> import plotly.graph_objects as go
    >>> from bnmf_core.share.figure_files import figure_code
    >>> code = figure_code(go.Figure(go.Bar(y=[1, 2])), "bars", "Two bars.", "two numbers")
    >>> exec(code, drawn := {"__name__": "imported"})
    >>> drawn["figure"].data[0].y
    (1, 2)
    """
    parts = _listed(figure.to_dict())
    lines = [title_of(figure), reading, f"From {origin}."]
    return PROGRAM.format(
        comments="\n".join(f"# {' '.join(html.unescape(line).split())}" for line in lines if line),
        version=VERSION,
        traces=_written(parts["data"]),
        layout=_written(parts["layout"]),
        name=name,
    )


def _written(value: Any, inset: str = "") -> str:
    """Format as Python code; pprint takes seconds for the numbers of a heat map."""
    deeper = inset + "    "
    if isinstance(value, dict) and value:
        lines = [f"{key!r}: {_written(one, deeper)}" for key, one in value.items()]
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        lines = [_written(one, deeper) for one in value]
    elif isinstance(value, list) and len(value) > ON_A_LINE:
        starts = range(0, len(value), ON_A_LINE)
        lines = [", ".join(map(repr, value[i : i + ON_A_LINE])) for i in starts]
    else:
        return repr(value)
    around = "{}" if isinstance(value, dict) else "[]"
    return f",\n{deeper}".join([f"{around[0]}\n{deeper}{lines[0]}", *lines[1:]]) + (
        f",\n{inset}{around[1]}"
    )


def _listed(value: Any) -> Any:
    """Convert arrays, also base64-encoded ones, to lists."""
    if isinstance(value, dict):
        if "bdata" in value:
            numbers = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            shape = str(value.get("shape", numbers.size)).split(",")
            return numbers.reshape([int(length) for length in shape]).tolist()
        return {key: _listed(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_listed(one) for one in value] if isinstance(value, list | tuple) else value
