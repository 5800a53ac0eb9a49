"""One run in the list: what it is, how far it is, what can be done with it."""

import io
from datetime import datetime

import streamlit as st

from bnmf_core.nouns.errors import BNMFError
from bnmf_core.store.run_store import RunRecord
from pages.frame.services import algorithm_label, run_label, runner, store
from pages.frame.view import csv, duration, plain
from pages.frame.watch import progress_bar

BADGES = {
    "queued": ("gray", "waiting"),
    "running": ("blue", "running"),
    "complete": ("green", "complete"),
    "cancelled": ("orange", "cancelled"),
    "interrupted": ("orange", "interrupted"),
    "failed": ("red", "failed"),
}


def card(run: RunRecord) -> None:
    """Draw a run with its buttons."""
    color, word = BADGES[run.status]
    with st.container(border=True):
        left, right = st.columns([3, 2], vertical_alignment="center")
        name = store().datasets().get(run.dataset, "deleted data")
        left.markdown(f"**{plain(run_label(run))}** :{color}-badge[{word}]")
        when = datetime.fromtimestamp(run.created).strftime("%d %b %H:%M")
        left.caption(
            f"{plain(name)} · {algorithm_label(run.spec.algorithm)} · rank {run.spec.rank} · "
            f"{run.done} of {run.spec.particles} factorizations · seed {run.spec.seed} · "
            f"{duration(run.seconds)} · {when} · {run.id}"
        )
        with right:
            _buttons(run)
        if run.active:
            progress_bar(run)
        elif run.status == "failed":
            st.error(plain(run.message))
        elif run.message:
            st.caption(plain(run.message))


def _buttons(run: RunRecord) -> None:
    first, second, third = st.columns(3)
    if run.active:
        if first.button("Cancel", key=f"cancel_{run.id}", width="stretch"):
            runner().cancel(run.id)
            st.rerun()
        return
    if run.done:
        if first.button("Open", key=f"open_{run.id}", width="stretch", type="primary"):
            st.session_state["open_run"] = run.id
            st.switch_page("pages/modes.py", query_params={"runs": run.id})
        with second.popover("Export", width="stretch"):
            _export(run)
    if run.status != "complete" and third.button("Resume", key=f"resume_{run.id}", width="stretch"):
        _try(runner().resume, run.id)
    with third.popover("More", width="stretch") if run.status == "complete" else st.popover("More"):
        name = st.text_input("Name", run.name, key=f"name_{run.id}", max_chars=60)
        if st.button("Rename", key=f"rename_{run.id}"):
            _try(lambda run_id: store().update(run_id, name=name.strip()), run.id)
        sure = st.checkbox("I want to delete this run", key=f"sure_{run.id}")
        if st.button("Delete", key=f"delete_{run.id}", disabled=not sure):
            _try(store().delete_run, run.id)


def _try(act, run_id: str) -> None:
    try:
        act(run_id)
    except BNMFError as error:
        st.error(plain(str(error)))
    else:
        st.rerun()


def _export(run: RunRecord) -> None:
    formats = {
        "NumPy (NPZ)": ("npz", lambda: _bytes(run, lambda p, file: p.save(file))),
        "NetCDF": ("nc", lambda: _bytes(run, lambda p, file: p.to_netcdf(file))),
        "Scores (CSV)": ("csv", lambda: csv(store().particles(run.id).scores())),
    }
    for label, (ending, make) in formats.items():
        st.download_button(
            label, make, f"run-{run.id}.{ending}", key=f"export_{ending}_{run.id}",
            on_click="ignore",
        )  # fmt: skip


def _bytes(run: RunRecord, write) -> bytes:
    buffer = io.BytesIO()
    write(store().particles(run.id), buffer)
    return buffer.getvalue()
