"""A study or an exploration: its button, its progress, its result."""

from collections.abc import Callable

import streamlit as st

from bnmf_core.jobs.job import Work
from pages.frame import view, watch
from pages.frame.services import place
from pages.frame.words import left, plain
from studies.result import StudyResult
from studies.runner import Study
from studies.work import StudyWork


def result(study: Study, button: str, name: str) -> StudyResult:
    """The study's result; until it is complete, end the page.

    ``button`` is what the button that starts it says; ``name`` begins the keys of the widgets.
    """
    work = StudyWork(study, place().store.root / "studies")
    made(work, button, name)
    return work.result()


def made(work: Work, button: str, name: str, so_far: Callable[[], None] | None = None) -> None:
    """Continue once the work is complete; until then, offer it or show progress, and stop.

    ``so_far`` draws partial results.
    """
    status = place().status(work)
    if status.status == "complete":
        return
    if status.active:
        follow(work, name, so_far)
        st.stop()
    if status.status == "failed":
        view.problem(status.message)
    if status.status == "cancelled":
        st.info(
            "The study was cancelled; its results so far are stored, and it continues from there."
        )
    start(work, button, name)
    st.stop()


def start(work: Work, button: str, name: str) -> None:
    """The button that queues the work."""
    queue, key = place().start, f"{name}_start"
    st.button(plain(button), type="primary", key=key, on_click=queue, args=(work,))


def follow(work: Work, name: str, show: Callable[[], None] | None = None) -> None:
    """Progress, time left, a cancel button, and partial results."""
    here = place()

    def draw() -> None:
        now = here.status(work)
        soon = "" if now.remaining is None else f", {left(now.remaining)}"
        st.progress(now.fraction, text=plain(f"{now.stage}{soon}"))
        if now.message:
            st.caption(plain(now.message))
        with st.container(horizontal=True):
            icon, end = ":material/cancel:", here.cancel
            key = f"{name}_cancel"
            st.button("Cancel", key=key, icon=icon, on_click=end, args=(work,))
            before = next(iter(here.at_work(work.lane)), work)
            if before.key != work.key:
                words = f"Cancel “{before.label}”, which is before it"
                st.button(plain(words), key=f"{key}_other", icon=icon, on_click=end, args=(before,))
        if show is not None:
            show()

    watch.until_done(lambda: here.status(work).active, draw)
