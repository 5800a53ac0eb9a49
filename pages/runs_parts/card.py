"""One run in the list: what it is, how far it is, what can be done with it."""

import io
from collections.abc import Callable

import streamlit as st

from bnmf_core.nouns.particles import Particles
from bnmf_core.store.records import RunRecord
from pages.frame import link, view
from pages.frame.services import algorithm_label, run_label, runner, store
from pages.frame.watch import progress_bar
from pages.frame.words import duration, moment, plain

BADGES = {
    "queued": ":gray-badge[waiting]",
    "running": ":blue-badge[running]",
    "complete": ":green-badge[complete]",
    "cancelled": ":orange-badge[cancelled]",
    "interrupted": ":orange-badge[interrupted]",
    "failed": ":red-badge[failed]",
}


def show(run: RunRecord, data: str) -> None:
    """Draw a run with its buttons; ``data`` is what its dataset is called."""
    badge = BADGES[run.status]
    with st.container(border=True):
        left, right = st.columns([3, 2], vertical_alignment="center")
        with left:
            st.markdown(f"**{plain(run_label(run))}** {badge}")
            view.origin_line(
                data,
                algorithm_label(run.spec.algorithm),
                f"rank {run.spec.rank}",
                f"{run.done} of {run.spec.particles} factorizations",
                f"seed {run.spec.seed}",
                duration(run.seconds),
                moment(run.created),
                run.id,
            )
        with right:
            _buttons(run)
        if run.active:
            progress_bar(run)
        elif run.status == "failed":
            view.problem(run.message)
        elif run.message:
            st.caption(plain(run.message))


def _buttons(run: RunRecord) -> None:
    first, second, third, fourth = st.columns([1, 1, 1.1, 1])
    if run.active:
        if first.button("Cancel", key=f"cancel_{run.id}", width="stretch"):
            runner().cancel(run.id)
            st.rerun()
        return
    if run.done:
        if first.button("Open", key=f"open_{run.id}", width="stretch", type="primary"):
            link.go("modes", runs=run.id)
        with second.popover("Export", width="stretch"):
            _export(run)
    if run.status != "complete" and third.button("Resume", key=f"resume_{run.id}", width="stretch"):
        _try(runner().resume, run.id)
    with fourth.popover("More", width="stretch"):
        name = st.text_input("Name", run.name, key=f"name_{run.id}", max_chars=60)
        if st.button("Rename", key=f"rename_{run.id}"):
            _try(lambda run_id: store().rename(run_id, name.strip()), run.id)
        sure = st.checkbox("I want to delete this run", key=f"sure_{run.id}")
        if st.button("Delete", key=f"delete_{run.id}", disabled=not sure):
            _try(store().delete_run, run.id)


def _try(act: Callable[[str], None], run_id: str) -> None:
    with view.told(ends=False):
        act(run_id)
        st.rerun()


def _export(run: RunRecord) -> None:
    formats = {
        "NumPy (NPZ)": ("npz", lambda: _bytes(run, lambda p, file: p.save(file))),
        "NetCDF": ("nc", lambda: _bytes(run, lambda p, file: p.to_netcdf(file))),
        "Scores (CSV)": ("csv", lambda: view.csv(store().particles(run.id).scores())),
    }
    for label, (ending, make) in formats.items():
        st.download_button(
            plain(label),
            make,
            f"run-{run.id}.{ending}",
            key=f"export_{ending}_{run.id}",
            on_click="ignore",
        )


def _bytes(run: RunRecord, write: Callable[[Particles, io.BytesIO], None]) -> bytes:
    buffer = io.BytesIO()
    write(store().particles(run.id), buffer)
    return buffer.getvalue()
