"""Buttons that open or start an analysis of an example, and then the page Overview."""

import streamlit as st

from bnmf_core.core.errors import BNMFError
from bnmf_core.lazy import lazy
from bnmf_core.runs.examples import Example
from bnmf_core.store import disk
from pages.frame import link, view
from pages.frame.services import runner, store

panel = lazy("pages.frame.panel")
opening = lazy("bnmf_core.share.opening")

_STARTED, _ERROR = "example_started", "example_error"


def open_started() -> None:
    """Open Overview of the runs that a click has started, or show why none has."""
    if message := st.session_state.pop(_ERROR, None):
        view.problem(message)
    if started := st.session_state.pop(_STARTED, []):
        link.go("overview", runs=",".join(started))


def start(example: Example, finished: bool) -> None:
    """Callback that opens a finished analysis of an example, or starts one."""
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


def finished(example: Example) -> None:
    """A button that opens the shipped analysis, if any."""
    if example.finished:
        st.button(
            "Look at a finished analysis",
            type="tertiary",
            icon=":material/visibility:",
            key=f"finished_{example.key}",
            on_click=start,
            args=(example, True),
        )
