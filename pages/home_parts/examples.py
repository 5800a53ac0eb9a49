"""A card for each example, which opens a finished analysis of it or starts one."""

from pathlib import Path

import streamlit as st

from bnmf_core.core.errors import BNMFError
from bnmf_core.lazy import lazy
from bnmf_core.runs.examples import EXAMPLES, Example
from bnmf_core.store import disk
from pages.frame import link, view
from pages.frame.services import runner, store
from pages.frame.words import plain

panel = lazy("pages.frame.panel")
opening = lazy("bnmf_core.share.opening")

CARDS = Path(__file__).resolve().parent / "cards"
IN_A_ROW = 3
_STARTED, _ERROR = "home_started", "home_error"


def started() -> list[str]:
    """Ids of the runs of a card that has just been clicked; why there are none is said."""
    if message := st.session_state.pop(_ERROR, None):
        view.problem(message)
    found: list[str] = st.session_state.pop(_STARTED, [])
    return found


def show() -> None:
    """The cards, in rows."""
    st.header("Or start an example", anchor=False)
    for first in range(0, len(EXAMPLES), IN_A_ROW):
        row = list(EXAMPLES.values())[first : first + IN_A_ROW]
        for column, example in zip(st.columns(IN_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch"):
                _card(example)


def _card(example: Example) -> None:
    picture = CARDS / f"{example.key}.png"
    if picture.exists():
        view.image(picture, example.told)
    st.markdown(f"**{plain(example.question)}**")
    st.button(
        f"Analyse {plain(example.label[:1].lower() + example.label[1:])}",
        type="primary" if example is EXAMPLES["digits"] else "secondary",
        icon=":material/play_arrow:",
        key=f"start_{example.key}",
        on_click=_start,
        args=(example, False),
        help=plain(example.told),
    )
    if example.finished:
        st.button(
            "Look at a finished analysis",
            type="tertiary",
            icon=":material/visibility:",
            key=f"finished_{example.key}",
            on_click=_start,
            args=(example, True),
        )


def _start(example: Example, finished: bool) -> None:
    """Open a finished analysis of an example, or start one; Overview opens by itself."""
    try:
        if finished:
            run_ids = opening.open_archive(store(), example.finished).run_ids
        else:
            dataset = example.dataset()
            run_ids = runner().start(dataset, example.runs(dataset), launch_name=example.label)
    except (BNMFError, OSError) as error:
        st.session_state[_ERROR] = str(disk.not_done(error))
        return
    link.put("runs", run_ids)
    panel.forget()
    st.session_state[_STARTED] = run_ids
