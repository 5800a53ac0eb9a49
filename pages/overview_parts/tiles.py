"""Four verdicts, each with a badge, a small picture and a sentence."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from bnmf_core.analysis.mode_table import most_probable
from bnmf_core.analysis.posterior import CHAINS
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.compare.settled import LARGEST_R_HAT
from bnmf_core.figures import verdict_pictures
from bnmf_core.findings import verdicts
from bnmf_core.findings.components import AGREED
from bnmf_core.findings.verdicts import Verdict
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts.answer import Answer

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Colour and icon of a badge.
GRADES = {
    verdicts.CLEAR: ("green", ":material/check_circle:"),
    verdicts.LIKELY: ("orange", ":material/change_history:"),
    verdicts.UNCLEAR: ("gray", ":material/radio_button_unchecked:"),
    verdicts.WAITING: ("blue", ":material/hourglass_empty:"),
}


def show(look: Lens, found: Answer) -> None:
    """Two rows of two verdicts, without those that do not apply to the data."""
    facts = found.component_facts
    table = None if found.conclusions is None else found.conclusions.table
    drawn = (
        verdict_pictures.by_error(found.table, look.analysis.measure, look.analysis.explains),
        verdict_pictures.found_again(
            facts.found_again, facts.held, facts.turned, AGREED, SAME_MODE
        ),
        _chains(look, found),
        None if table is None or table.empty else verdict_pictures.class_ranges(table),
    )
    named = verdicts.of(found, facts).items()
    tiles = [(*tile, figure) for tile, figure in zip(named, drawn, strict=False)]
    for first in range(0, len(tiles), 2):
        for column, tile in zip(st.columns(2, gap="small"), tiles[first : first + 2], strict=False):
            with column:
                _tile(*tile)


def _tile(title: str, verdict: Verdict, drawn: "go.Figure | None") -> None:
    color, icon = GRADES[verdict.grade]
    with st.container(border=True, gap="small", height="stretch"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{plain(title)}**")
            st.badge(plain(verdict.word), color=color, icon=icon)
        if drawn is not None:
            view.sketch_of(drawn, f"tile_{title[:4].lower()}", f"{title}. {verdict.sentence}")
        st.caption(f":small[{plain(verdict.sentence)}]")


def _chains(look: Lens, found: Answer) -> "go.Figure | None":
    """Distances of a run of chains, or of chains within modes, to the best mode.

    Of several runs the first that has not settled.
    """
    comparison = look.analysis
    sampled = comparison.members["algorithm"].isin(comparison.exact_samplers)
    if not sampled.any():
        within = () if found.posterior is None else found.posterior.modes
        if not within:
            return None
        modes = look.modes.labels[[each.row for each in within]]
        r_hat = np.array([each.r_hat for each in within])
        return verdict_pictures.worst_r_hat(r_hat, modes, LARGEST_R_HAT[CHAINS - 1])
    runs = comparison.members.loc[sampled, "run"].unique().tolist()
    unsettled = [] if found.verdicts is None else [one.run for one in found.verdicts.unsettled]
    shown = next((run for run in runs if run in unsettled), runs[0])
    rows = np.flatnonzero((comparison.members["run"] == shown).to_numpy())
    best = int(look.modes.representative[most_probable(found.table)])
    angles = _angles(comparison.cache_key, best, shown, look, rows)
    chain = comparison.members["chain"].to_numpy()[rows]
    return verdict_pictures.chain_angles(angles, chain)


@st.cache_data(max_entries=16, show_spinner=False)
def _angles(cache_key: str, best: int, run: str, _look: Lens, _rows: np.ndarray) -> np.ndarray:
    """(M,) degrees from the worst component of each draw to its partner in the member ``best``."""
    reference = _look.analysis.bases([best])[0]
    A = _look.analysis.bases(_rows)
    return component_angles(A, reference, matching(A, reference)).max(axis=1)
