"""One launch in the list: description, progress and actions."""

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from bnmf_core.core.errors import BNMFError
from bnmf_core.runs.launch import moment
from bnmf_core.store import files
from bnmf_core.store.launches import Launch
from bnmf_core.store.life import RESUMABLE
from bnmf_core.store.records import RunRecord
from pages.frame import view
from pages.frame.services import data_and_rank, launch_label, run_words, runner, store
from pages.frame.watch import progress_bar
from pages.frame.words import duration, plain, size
from pages.runs_parts import comparing, exporting

_REFUSED = "runs_refused"
BADGES = {
    "queued": ":gray-badge[waiting]",
    "running": ":blue-badge[running]",
    "complete": ":green-badge[complete]",
    "incomplete": ":orange-badge[partly done]",
    "cancelled": ":orange-badge[cancelled]",
    "interrupted": ":orange-badge[interrupted]",
    "failed": ":red-badge[failed]",
}


def show(launch: Launch, data: str) -> None:
    """Draw a launch with its runs and buttons; ``data`` is the name of its dataset."""
    with st.container(border=True):
        left, right = st.columns([5, 4], vertical_alignment="center")
        with left:
            name = plain(launch_label(launch, data))
            st.checkbox(
                f"**{name}** {BADGES[launch.status]}",
                key=comparing.key(launch),
                help="Tick several to compare them.",
                disabled=not launch.shown,
            )
            of = [data_and_rank(data, launch.rank)] if launch.name else []
            st.caption(plain(" · ".join([*of, moment(launch.created)])))
        with right, st.container(horizontal=True, horizontal_alignment="right"):
            if launch.shown and st.button("Open", key=f"open_{launch.id}", type="primary"):
                comparing.open_runs(launch.shown)
            # Callbacks, because the redraw of a polling page could lose a click.
            if launch.active:
                active = [run.id for run in launch.runs if run.active]
                key = f"cancel_all_{launch.id}"
                st.button("Cancel", key=key, on_click=_clicked, args=(runner().cancel, active))
            if launch.resumable:
                key, ids = f"resume_all_{launch.id}", launch.resumable
                st.button("Resume", key=key, on_click=_clicked, args=(runner().resume, ids))
            with st.popover("More"):
                _more(launch, data)
        for run in launch.runs:
            _run(run)


def _more(launch: Launch, data: str) -> None:
    name = st.text_input(
        "Name",
        launch.name,
        key=f"name_{launch.id}",
        max_chars=60,
        placeholder=data_and_rank(data, launch.rank),
    )
    if st.button("Rename", key=f"rename_{launch.id}"):
        _each(lambda launch_id: store().rename_launch(launch_id, name.strip()), [launch.id])
    for run in launch.runs:
        _of_run(run, alone=len(launch.runs) == 1)
    if not launch.active:
        folders = tuple(str(store().run_folder(run.id)) for run in launch.runs)
        st.caption(plain(f"On the disk: {size(_bytes(folders))}"))
    several = len(launch.runs) > 1
    label = f"I want to delete {'all of these runs' if several else 'this run'}"
    sure = st.checkbox(label, key=f"sure_{launch.id}", disabled=launch.active)
    if st.button("Delete", key=f"delete_{launch.id}", disabled=not sure or launch.active):
        _each(store().delete_run, [run.id for run in launch.runs])
    if launch.active:
        st.caption("Cancel it before you delete it.")


@st.cache_data(max_entries=256, ttl=60.0, show_spinner=False)
def _bytes(folders: tuple[str, ...]) -> int:
    """Disk space of finished runs."""
    return sum(files.size_of(Path(folder)) for folder in folders)


def _run(run: RunRecord) -> None:
    if run.active:
        progress_bar(run)
        return
    state = "" if run.status == "complete" else f"{run.status}, {run.done:,} made · "
    st.markdown(f"{plain(run_words(run))} :small[:gray[{plain(state + duration(run.seconds))}]]")
    if run.status == "failed":
        view.problem(run.message)
    elif run.message:
        st.caption(plain(run.message))


def _of_run(run: RunRecord, alone: bool) -> None:
    if alone and not run.done:
        return
    with st.expander(plain(run_words(run))):
        if run.done and not run.active:
            exporting.show(run)
        if alone:
            return
        if run.active:
            key = f"cancel_{run.id}"
            st.button(
                "Cancel this run", key=key, on_click=_clicked, args=(runner().cancel, [run.id])
            )
        if not run.active and run.done and st.button("Open it alone", key=f"open_one_{run.id}"):
            comparing.open_runs([run.id])
        if run.status in RESUMABLE:
            key = f"resume_{run.id}"
            st.button("Resume it", key=key, on_click=_clicked, args=(runner().resume, [run.id]))
        if not run.active:
            sure = st.checkbox("I want to delete this run", key=f"sure_one_{run.id}")
            if st.button("Delete it", key=f"delete_one_{run.id}", disabled=not sure):
                _each(store().delete_run, [run.id])


def _clicked(act: Callable[[str], None], ids: Sequence[str]) -> None:
    """Act on each run before the redraw; :func:`refused` shows errors."""
    st.session_state[_REFUSED] = []
    for run_id in ids:
        try:
            act(run_id)
        except BNMFError as error:
            st.session_state[_REFUSED].append(str(error))


def refused() -> None:
    """Show the errors of the last click."""
    for sentence in st.session_state.get(_REFUSED, ()):
        view.problem(sentence)


def _each(act: Callable[[str], None], ids: Sequence[str]) -> None:
    """Act on each run; an error is shown and does not stop the others."""
    refused = False
    for run_id in ids:
        try:
            act(run_id)
        except BNMFError as error:
            view.problem(error)
            refused = True
    if not refused:
        st.rerun()
