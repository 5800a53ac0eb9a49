"""A study that is made in the background: its button, its progress, its result."""

import streamlit as st

from pages.frame import view, watch
from pages.frame.services import studies
from pages.frame.words import duration, plain
from studies.result import StudyResult
from studies.runner import Study


def result(study: Study, button: str, name: str) -> StudyResult:
    """The study's result once it has been made; before that, stops the page.

    ``button`` is what the button that starts it says; ``name`` begins the keys of the widgets.
    """
    runner = studies()
    status = runner.status(study)
    if status.status == "complete":
        return runner.result(study)
    if status.status == "running":
        _watch(study, name)
        st.stop()
    if status.status == "failed":
        view.problem(status.message)
    if status.status == "cancelled":
        st.info("The study was cancelled; what was measured is kept, and it goes on from there.")
    if st.button(plain(button), type="primary", key=f"{name}_start"):
        with view.told():
            runner.start(study)
        st.rerun()
    st.stop()


def _watch(study: Study, name: str) -> None:
    runner = studies()

    def draw() -> None:
        now = runner.status(study)
        left = "" if now.remaining is None else f", {duration(now.remaining)} left"
        st.progress(now.fraction, text=plain(f"{now.stage}{left}"))
        if st.button("Cancel", key=f"{name}_cancel", icon=":material/cancel:"):
            runner.cancel()

    watch.until_done(lambda: runner.status(study).status == "running", draw)
