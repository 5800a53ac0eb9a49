"""A study that is made in the background: its button, its progress, its result."""

from collections.abc import Callable

import streamlit as st

from bnmf_core.runs.background import Background, Work
from pages.frame import view, watch
from pages.frame.services import studies
from pages.frame.words import left, plain
from studies.result import StudyResult
from studies.runner import Study


def result(study: Study, button: str, name: str) -> StudyResult:
    """The study's result once it has been made; before that, stops the page.

    ``button`` is what the button that starts it says; ``name`` begins the keys of the widgets.
    """
    runner = studies()
    made(runner, runner.work(study), button, name)
    return runner.result(study)


def made(
    background: Background,
    work: Work,
    button: str,
    name: str,
    so_far: Callable[[], None] | None = None,
) -> None:
    """Go on once this has been made; before that, ask for it or show its progress, and stop.

    ``so_far`` draws what there is of it while it is made.
    """
    status = background.status(work)
    if status.status == "complete":
        return
    if status.status == "running":
        follow(background, work, name, so_far)
        st.stop()
    if status.status == "failed":
        view.problem(status.message)
    if status.status == "cancelled":
        st.info("The study was cancelled; what was measured is kept, and it goes on from there.")
    if st.button(plain(button), type="primary", key=f"{name}_start"):
        with view.told():
            background.start(work)
        st.rerun()
    st.stop()


def follow(
    background: Background, work: Work, name: str, show: Callable[[], None] | None = None
) -> None:
    """How far it is, the time left, a button that cancels it, and what there is of it so far."""

    def draw() -> None:
        now = background.status(work)
        soon = "" if now.remaining is None else f", {left(now.remaining)}"
        st.progress(now.fraction, text=plain(f"{now.stage}{soon}"))
        if st.button("Cancel", key=f"{name}_cancel", icon=":material/cancel:"):
            background.cancel()
        if show is not None:
            show()

    watch.until_done(lambda: background.status(work).status == "running", draw)
