"""Display of results: every chart has a title, a reading help, a table, downloads and its origin.

These functions take plain text, never Markdown.
"""

import html
import io
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

import streamlit as st

from bnmf_core.core.errors import BNMFError
from bnmf_core.core.names import no_formula
from bnmf_core.lazy import lazy
from bnmf_core.store import disk
from pages.frame import link
from pages.frame.words import plain

if TYPE_CHECKING:  # the first page does not need these
    from pathlib import Path

    import pandas as pd
    import plotly.graph_objects as go
    from pandas.io.formats.style import Styler

    from bnmf_core.share.pictures import Picture

    Rows = pd.DataFrame | Callable[[], pd.DataFrame]

types = lazy("pandas.api.types")
sketch = lazy("bnmf_core.figures.sketch")
figure_files = lazy("bnmf_core.share.figure_files")

# No button that sends a chart to Plotly's server.
CONFIG = {
    "displaylogo": False,
    "showSendToCloud": False,
    "modeBarButtonsToRemove": ["autoScale2d"],
}
MARKS = ("points", "box", "lasso")
# Pixels of the menu below a chart.
MENU = 430
_INSIDE = ContextVar("inside_fragment", default=False)
BEHIND = "The table behind the chart, and downloads"


def problem(error: object) -> None:
    """Show an error."""
    st.error(plain(error))


@contextmanager
def inside_fragment() -> Iterator[None]:
    """Draw a fragment; charts in it are no fragments of their own.

    Streamlit may send a nested fragment without its parent, and the
    browser ends with a white page ("Bad delta path index").
    """
    before = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(before)


@contextmanager
def report_errors(ends: bool = True) -> Iterator[None]:
    """Show errors of the block in a sentence; then the page ``ends``."""
    try:
        yield
    except (BNMFError, OSError, sqlite3.Error) as error:
        problem(disk.not_done(error))
        if ends:
            st.stop()


def safely(act: Callable[..., object]) -> Callable[..., None]:
    """Callback that calls ``act`` and shows its errors above the page."""

    def clicked(*arguments: object) -> None:
        with report_errors(ends=False):
            act(*arguments)

    return clicked


def nothing(words: str, *page_keys: str) -> NoReturn:
    """Show why the page is empty, link to the pages that help, and end the page."""
    st.info(plain(words))
    for key in page_keys:
        link.to(key)
    st.stop()


def chart(
    figure: "go.Figure",
    reading: str,
    *,
    name: str,
    origin: str,
    table: "Rows",
    select: tuple[str, ...] = (),
    on_select: Callable[[list[Any]], None] | None = None,
    talk: bool = False,
    tall: bool = False,
) -> Any:
    """Draw a figure with its reading help and a menu with its table, downloads and origin.

    ``table`` : a frame, or a function that makes it when needed.
    ``on_select`` : called with the selected points when they have changed, before the page is
    drawn, but not when a new chart resets the selection.
    ``tall`` : the chart fills its container. ``talk`` : the same, without buttons.

    Returns the chart's selection event when ``select`` names selection modes.
    """
    figure.update_layout(meta={"origin": origin})
    # Strip the HTML of Plotly titles.
    title = html.unescape(re.sub(r"<[^>]*>", " ", sketch.title_of(figure) or name))
    options = {
        "key": f"chart_{name}",
        "config": CONFIG
        | {"toImageButtonOptions": {"format": "png", "scale": 2, "filename": name}}
        | ({"displayModeBar": False} if talk else {}),
        "height": "stretch" if talk or tall else "content",
        "alt": f"{title}. {reading}",
    }
    event = None
    if select:

        def change() -> None:
            if on_select and (points := st.session_state[options["key"]]["selection"]["points"]):
                on_select(points)

        event = st.plotly_chart(figure, on_select=change, selection_mode=select, **options)
    else:
        st.plotly_chart(figure, **options)
    (_below if _INSIDE.get() else _below_alone)(figure, reading, name, origin, title, table)
    return event


def image(file: "Path", words: str) -> None:
    """Draw a picture file that is shipped with the program."""
    st.image(str(file), alt=words)


def sketch_of(figure: "go.Figure", name: str, words: str) -> None:
    """Draw a small chart without buttons and table."""
    config = CONFIG | {"displayModeBar": False}
    st.plotly_chart(figure, key=f"chart_{name}", config=config, height="content", alt=words)


def table(rows: "pd.DataFrame | Styler", called: str, **options: Any) -> Any:
    """Draw a table; ``called`` is its alternative text. Missing values are dashes.

    Returns its selection event when the ``options`` of :func:`st.dataframe` ask for one.
    """
    return st.dataframe(rows, alt=called, **{"hide_index": True, "placeholder": "–"} | options)


def picture(drawn: "Picture", origin: str) -> None:
    """Draw a picture made by the engine."""
    if drawn.figure is not None:
        chart(drawn.figure, drawn.reading, name=drawn.key, origin=origin, table=drawn.table)


def is_open(fold: Any) -> bool:
    """Whether a fold or a menu is open; its content is made only then."""
    return bool(fold.open)


@st.fragment
def fold(title: str, key: str, draw: Callable[[], None]) -> None:
    """A fold that opens without a rerun of the page; ``draw`` makes its content."""
    box = st.expander(plain(title), key=key, on_change="rerun")
    if is_open(box):
        with box, inside_fragment(), report_errors(ends=False):
            draw()


def _below(
    figure: "go.Figure", reading: str, name: str, origin: str, title: str, rows: "Rows"
) -> None:
    """The reading help of a chart and its menu, whose content is sent when it is opened."""
    with st.container(horizontal=True, wrap=False):
        st.markdown(f":small[{plain(reading)}]", width="stretch")
        menu = st.popover(
            "Table", icon=":material/table:", help=BEHIND, key=f"menu_{name}", on_change="rerun"
        )
    with menu:
        if is_open(menu):
            made = rows() if callable(rows) else rows
            _files(figure, reading, name, origin, title, made)
        else:  # reserve room for the content
            st.container(height=MENU, border=False).caption("The table comes …")


# A fragment, so that its menu opens at once.
_below_alone = st.fragment(_below)


def _files(
    figure: "go.Figure", reading: str, name: str, origin: str, title: str, rows: "pd.DataFrame"
) -> None:
    table(rows, f"The numbers of: {title}", height=260, width=480)
    st.download_button(
        "Table (CSV)",
        lambda: csv(rows),
        f"{name}.csv",
        "text/csv",
        key=f"csv_{name}",
        on_click="ignore",
    )
    st.download_button(
        "Chart (HTML, saves SVG and PNG)",
        lambda: figure_files.figure_html(figure, name, reading, origin, CONFIG),
        f"{name}.html",
        "text/html",
        key=f"html_{name}",
        on_click="ignore",
    )
    st.download_button(
        "Python code",
        lambda: figure_files.figure_code(figure, name, reading, origin),
        f"{name}.py",
        "text/x-python",
        key=f"code_{name}",
        on_click="ignore",
    )
    st.caption(plain(f"From {origin}. The camera button above the chart saves a PNG."))


def csv(table: "pd.DataFrame") -> bytes:
    """CSV in which spreadsheets take no text for a formula."""
    safe = table.rename(columns=lambda name: no_formula(str(name)))
    for column in safe.columns:
        if not types.is_numeric_dtype(safe[column]):
            safe[column] = [no_formula(v) if isinstance(v, str) else v for v in safe[column]]
    buffer = io.StringIO()
    safe.to_csv(buffer, index=False)
    return buffer.getvalue().encode()
