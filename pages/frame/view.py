"""How results appear: every chart with a title, a reading help, its table, download and origin.

What is passed to these functions is text, never Markdown.
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

if TYPE_CHECKING:  # loads what the first page does not need
    from pathlib import Path

    import pandas as pd
    import plotly.graph_objects as go
    from pandas.io.formats.style import Styler

    from bnmf_core.share.pictures import Picture

    Rows = pd.DataFrame | Callable[[], pd.DataFrame]

types = lazy("pandas.api.types")
sketch = lazy("bnmf_core.figures.sketch")
figure_files = lazy("bnmf_core.share.figure_files")

# Nothing offers to send a chart to a company's server.
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
    """Say what went wrong."""
    st.error(plain(error))


@contextmanager
def inside_fragment() -> Iterator[None]:
    """Where a fragment is drawn: no chart is then one of its own.

    Of a fragment in a fragment Streamlit may send what is in it without what it is in, and the
    browser ends with a white page ("Bad delta path index").
    """
    before = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(before)


@contextmanager
def told(ends: bool = True) -> Iterator[None]:
    """Where something may go wrong: what did is said in a sentence, and the page ``ends``."""
    try:
        yield
    except (BNMFError, OSError, sqlite3.Error) as error:
        problem(disk.not_done(error))
        if ends:
            st.stop()


def safely(act: Callable[..., object]) -> Callable[..., None]:
    """``act`` for a click: what goes wrong is said above the page."""

    def clicked(*given: object) -> None:
        with told(ends=False):
            act(*given)

    return clicked


def nothing(words: str, *page_keys: str) -> NoReturn:
    """There is nothing to show: say why, link to the pages that help, end the page."""
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
    """Draw a figure; below it, how to read it and a menu with its table, downloads and origin.

    ``table`` : what takes long to put together is handed over as a function, called when needed.
    ``on_select`` : called with the points selected when these have changed, before the page is
    drawn. A chart that is drawn anew has no selection, which says nothing.
    ``tall`` : it is as high as what it stands in. ``talk`` : so it is, and it has no buttons.

    Returns the chart's selection event when ``select`` names selection modes.
    """
    figure.update_layout(meta={"origin": origin})
    # Without the little HTML that charts read.
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
    """Draw a picture that comes with the program."""
    st.image(str(file), alt=words)


def sketch_of(figure: "go.Figure", name: str, words: str) -> None:
    """Draw a small picture that stands for a page's chart: no buttons, no table of its own."""
    config = CONFIG | {"displayModeBar": False}
    st.plotly_chart(figure, key=f"chart_{name}", config=config, height="content", alt=words)


def table(rows: "pd.DataFrame | Styler", called: str, **options: Any) -> Any:
    """Draw a table; ``called`` is what it is called where it is not seen. A dash: no value.

    Returns its selection event when the ``options`` of :func:`st.dataframe` ask for one.
    """
    return st.dataframe(rows, alt=called, **{"hide_index": True, "placeholder": "–"} | options)


def picture(drawn: "Picture", origin: str) -> None:
    """Draw a picture that the engine made."""
    if drawn.figure is not None:
        chart(drawn.figure, drawn.reading, name=drawn.key, origin=origin, table=drawn.table)


def is_open(fold: Any) -> bool:
    """Whether a fold or a menu has been opened; what is in it is made only then."""
    return bool(fold.open)


@st.fragment
def fold(title: str, key: str, draw: Callable[[], None]) -> None:
    """A fold that opens by itself, without the rest of the page: ``draw`` makes what is in it."""
    box = st.expander(plain(title), key=key, on_change="rerun")
    if is_open(box):
        with box, inside_fragment(), told(ends=False):
            draw()


def _below(
    figure: "go.Figure", reading: str, name: str, origin: str, title: str, rows: "Rows"
) -> None:
    """How to read a chart, and the menu with what stands behind it, sent when it is opened."""
    with st.container(horizontal=True, wrap=False):
        st.markdown(f":small[{plain(reading)}]", width="stretch")
        menu = st.popover(
            "Table", icon=":material/table:", help=BEHIND, key=f"menu_{name}", on_change="rerun"
        )
    with menu:
        if is_open(menu):
            made = rows() if callable(rows) else rows
            _files(figure, reading, name, origin, title, made)
        else:  # it opens where there is room for what will be in it
            st.container(height=MENU, border=False).caption("The table comes …")


# By itself, so that its menu opens at once.
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
    """CSV in which no text can be taken for a formula by a spreadsheet."""
    safe = table.rename(columns=lambda name: no_formula(str(name)))
    for column in safe.columns:
        if not types.is_numeric_dtype(safe[column]):
            safe[column] = [no_formula(v) if isinstance(v, str) else v for v in safe[column]]
    buffer = io.StringIO()
    safe.to_csv(buffer, index=False)
    return buffer.getvalue().encode()
