"""Whether the chains of each run have settled, and a button that continues those that have not."""

import streamlit as st

from bnmf_core.analysis import chains
from bnmf_core.analysis.chains import Verdict
from bnmf_core.runs.launch import longer
from pages.frame import link, panel, view
from pages.frame.lens import Lens
from pages.frame.services import runner
from pages.frame.words import plain

TIMES = 10
SETTLED = ("Settled", "green", ":material/check_circle:")
NOT_SETTLED = ("Not settled", "orange", ":material/change_history:")


def show(look: Lens) -> None:
    """A badge and a sentence for every run of chains."""
    found = chains.STAGE.perhaps(look.analysis)
    for verdict in () if found is None else found.by_run.values():
        with st.container(horizontal=True, vertical_alignment="center"):
            word(verdict)
            st.markdown(plain(verdict.sentence))
            if not verdict.settled and not link.is_guest():
                _continue(look, verdict)


def word(verdict: Verdict) -> None:
    """The verdict as a badge."""
    label, color, icon = SETTLED if verdict.settled else NOT_SETTLED
    st.badge(plain(label), color=color, icon=icon)


def _continue(look: Lens, verdict: Verdict) -> None:
    """Offer to rerun the chains ten times as long."""

    def start() -> None:
        record = next(run for run in look.analysis.runs if run.id == verdict.run)
        others = [run_id for run_id in look.analysis.run_ids if run_id != verdict.run]
        with view.report_errors(ends=False):
            link.put("runs", others + runner().start(record.dataset, [longer(record.spec, TIMES)]))
            panel.forget()

    st.button(
        f"Continue {TIMES} times as long",
        key=f"longer_{verdict.run}",
        icon=":material/resume:",
        on_click=start,
    )
