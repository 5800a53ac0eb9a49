"""Polling: a fragment that redraws progress until no job is active."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from bnmf_core.analysis import unfinished
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Stage
from bnmf_core.core.errors import BNMFError, NotFoundError
from bnmf_core.core.names import no_more
from bnmf_core.jobs.job import JobStatus
from bnmf_core.lazy import lazy
from bnmf_core.registry import ALGORITHMS
from bnmf_core.store.records import RunRecord
from pages.frame import link, view
from pages.frame.services import run_words, runner, store
from pages.frame.words import left, plain

compiling = lazy("bnmf_core.numerics.compiling")

EVERY = 1.0
# Fraction of a run after which the time left is shown: earlier estimates mislead.
ENOUGH = 0.1
# Fraction of a run above which the time left is not shown.
ALMOST = 0.97


def progress_bar(run: RunRecord) -> None:
    """One line of progress for a run, with the time left."""
    label = run_words(run)
    if run.status == "queued":
        st.progress(0.0, text=f"{plain(label)}: waiting for its turn")
        return
    made = f"{label}: {run.done:,} of {run.spec.particles:,} made"
    if run.done and ALGORITHMS[run.spec.algorithm].exact:
        tenth = 10 * run.done // run.spec.particles
        made += _settling(str(store().run_folder(run.id)), tenth, run.id)
    if passing := _in_blocks(run):  # the pass and its block
        made += f", {run.message[:1].lower()}{run.message[1:]}"
    known = run.remaining if run.fraction >= ENOUGH else None
    soon = left(known)
    if run.fraction == 0:  # on a new machine kernels are compiled first
        before = left(None) if passing else "preparing"
        soon = "compiling, once on this machine" if compiling.is_compiling() else before
    if run.fraction > ALMOST:  # a share of typical iterations: some take longer
        soon = "until the last has converged" if passing else "finishing"
    st.progress(min(run.fraction, 1.0), text=plain(f"{made}, {soon}"))


def _in_blocks(run: RunRecord) -> bool:
    """Whether a run's data are larger than memory."""
    try:
        return bool(run.message) and store().dataset(run.dataset).whole is not None
    except BNMFError:  # deleted or damaged; other pages report it
        return False


@st.cache_data(max_entries=128, show_spinner=False)
def _settling(folder: str, tenth: int, _run_id: str) -> str:
    """R̂ and ESS of the chains in this folder, read again after each ``tenth`` of the draws."""
    found = unfinished.settling(store(), _run_id)
    if found is None:
        return ""
    r_hat, ess = no_more(*found)
    return f" (so far R̂ ≤ {r_hat:.2f}, ESS ≥ {ess:.0f})"


def until_done(active: Callable[[], bool], draw: Callable[[], None]) -> None:
    """Draw now; while ``active()`` holds, redraw every second, then rerun the whole page."""
    polling = active()

    @st.fragment(run_every=EVERY if polling else None)
    def poll() -> None:
        try:
            changed = polling != active()  # all is done, or a click began something
        except NotFoundError:  # what is watched was deleted, or is not shown any more
            changed = True
        if changed:
            st.rerun()
        with view.inside_fragment():
            draw()

    poll()


def runs_until_done(
    run_ids: list[str],
    each: bool = False,
    meanwhile: Callable[[list[RunRecord]], None] | None = None,
) -> None:
    """Progress bars of runs, and a cancel button, until all have ended, or ``each`` of them.

    ``meanwhile`` draws their partial results.
    """

    def watched() -> list[RunRecord]:
        return [run for run in store().runs() if run.id in run_ids]

    at_work = {run.id for run in watched() if run.active}

    def active() -> bool:
        now = {run.id for run in watched() if run.active}
        return bool(at_work) and (now == at_work if each else bool(now))

    def cancel() -> None:
        for run in watched():
            if run.active:
                runner().cancel(run.id)

    def draw() -> None:
        for run in reversed(watched()):
            if run.active:
                progress_bar(run)
            else:
                words = f"{run_words(run)}: {run.status}, {run.done} made"
                st.progress(1.0, text=plain(words))
        if not link.is_guest():
            st.button(
                "Cancel",
                key="cancel_watched",
                icon=":material/cancel:",
                on_click=view.safely(cancel),
            )
        if meanwhile is not None:
            meanwhile(watched())

    until_done(active, draw)


def analysis_until(found: Comparison, stage: Stage[Any], waiting_for: str) -> None:
    """Show progress of an analysis until one of its stages is done; then redraw the page."""

    def status() -> JobStatus:
        runner().analyse(found.run_ids, stage.key)  # somebody still watches it
        return runner().analysis_status(found)

    def active() -> bool:
        return not stage.ready(found) and status().active

    def draw() -> None:
        now = status()
        if now.status == "failed":
            st.error(f"The comparison could not be computed: {plain(now.message)}")
            if st.button("Try again", key="analyse_again"):
                runner().analyse_again(found)
                st.rerun()
            return
        soon = "" if now.remaining is None else f", {left(now.remaining)}"
        words = f"{waiting_for}: {now.stage[:1].lower()}{now.stage[1:]}"
        if now.stage != stage.label:
            words = f"{waiting_for} comes next. Now: {now.stage[:1].lower()}{now.stage[1:]}"
        st.progress(now.fraction, text=plain(f"{words}{soon}"))
        if now.message:
            st.caption(plain(now.message))

    until_done(active, draw)


def beside(found: Comparison, stage: Stage[Any], waiting_for: str) -> bool:
    """Whether a stage is done; otherwise show its progress, and draw the page without it."""
    if stage.ready(found):
        return True
    analysis_until(found, stage, waiting_for)
    return False
