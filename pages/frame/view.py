"""How results appear: every chart with a title, a reading help, its origin, table, download."""

import html
import io

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

CONFIG = {
    "displaylogo": False,
    "toImageButtonOptions": {"format": "png", "scale": 2},
    "modeBarButtonsToRemove": ["autoScale2d"],
}


def header(title: str, question: str) -> None:
    """Title of a page and the question it answers."""
    st.title(title, anchor=False)
    st.markdown(question)


def chart(
    figure: go.Figure,
    reading: str,
    *,
    name: str,
    origin: str,
    table: pd.DataFrame | None = None,
    select: tuple[str, ...] = (),
):
    """Draw a figure with its reading help, origin, table and downloads.

    Returns the chart's selection event when ``select`` names selection modes.
    """
    with st.container(horizontal=True, wrap=False):
        st.markdown(f":small[{reading}]", width="stretch")
        menu = st.popover(":material/download:", help="The table behind the chart, and downloads")
    with menu:
        _files(figure, reading, name, origin, table)
    figure.layout.meta = {"origin": origin}
    title = figure.layout.title.text or name
    config = CONFIG | {"toImageButtonOptions": {"format": "png", "scale": 2, "filename": name}}
    if select:
        event = st.plotly_chart(
            figure, key=f"chart_{name}", on_select="rerun", selection_mode=select, config=config,
            alt=f"{title}. {reading}",
        )  # fmt: skip
    else:
        event = None
        st.plotly_chart(figure, key=f"chart_{name}", config=config, alt=f"{title}. {reading}")
    st.caption(origin)
    return event


def _files(
    figure: go.Figure, reading: str, name: str, origin: str, table: pd.DataFrame | None
) -> None:
    if table is not None:
        st.dataframe(table, hide_index=True, height=260, width=480)
        st.download_button(
            "Table (CSV)", lambda: csv(table), f"{name}.csv", "text/csv",
            key=f"csv_{name}", on_click="ignore",
        )  # fmt: skip
    st.download_button(
        "Interactive chart (HTML)", lambda: page(figure, reading, origin), f"{name}.html",
        "text/html", key=f"html_{name}", on_click="ignore",
    )  # fmt: skip
    st.caption("The camera button above the chart saves a PNG.")


def csv(table: pd.DataFrame) -> bytes:
    """CSV in which no text can be taken for a formula by a spreadsheet."""
    safe = table.rename(columns=lambda name: _no_formula(str(name)))
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = [_no_formula(v) if isinstance(v, str) else v for v in safe[column]]
    buffer = io.StringIO()
    safe.to_csv(buffer, index=False)
    return buffer.getvalue().encode()


def _no_formula(text: str) -> str:
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def page(figure: go.Figure, reading: str, origin: str) -> bytes:
    """A stand-alone HTML page with the interactive chart."""
    chart = figure.to_html(full_html=False, include_plotlyjs=True)
    words = f"<p>{html.escape(reading)}</p>{chart}<p><small>{html.escape(origin)}</small></p>"
    return f"<!doctype html><meta charset=utf-8><body>{words}</body>".encode()


def plain(text: str) -> str:
    """Text from a user's data, shown as it is: no Markdown, no HTML, no formulas."""
    special = set("\\`*_{}[]()#+-.!|~$<>:&^")
    return "".join("\\" + c if c in special else c for c in str(text) if c.isprintable())


def duration(seconds: float | None) -> str:
    """Seconds in words."""
    if seconds is None:
        return "time left unknown yet"
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """Bytes in words."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "KB") else f"{count:.1f} {unit}"
        count /= 1000
    return ""
