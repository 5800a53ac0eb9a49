"""An entry of a catalogue fixed in place of a component; the others are solved again."""

import numpy as np
import streamlit as st

from bnmf_core.analysis.by_hand import STARTS, KnownExploration
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.catalogue import cosines
from bnmf_core.compare.remaining import remaining
from bnmf_core.core.names import listed, numbered
from bnmf_core.data.catalogue import Matched
from pages.frame.lens import Lens
from pages.frame.words import labelled, plain
from pages.parts import by_hand

# Allowed relative rise of the error.
RISE = 0.01


def show(look: Lens, row: int, matched: Matched, called: list[str]) -> None:
    """Select an entry; it replaces the nearest component."""
    if look.analysis.of_tiles or look.analysis.rank < 2:
        return
    st.markdown("**Hold an entry of the catalogue**")
    chosen = st.selectbox(
        "Entry that is known to be there",
        range(len(matched.entries)),
        index=None,
        format_func=labelled(dict(enumerate(matched.entries))),
        key="known_entry",
        help="It replaces the component closest to it and is held fixed; everything else is "
        "solved again, from many starts.",
    )
    if chosen is None:
        return
    values = matched.values[:, chosen]
    A, above = look.analysis.aligned([row])[0], look.aligned(np.array([row]))[0]
    r = int(cosines(A, values[:, None])[:, 0].argmax())
    # Components are numbered as in the pictures above.
    names = dict(zip(matching(A[None], above)[0].tolist(), numbered(called), strict=True))
    work = KnownExploration(look.analysis, row, (r,), known=tuple(values.tolist()))

    def draw() -> None:
        found = work.found()
        if found is None:
            return
        summary = remaining(found, work.factors[0], work.mask, RISE)
        own = float(look.analysis.members["error"].iloc[row])
        turns = [
            f"component {names[i]} by {a:.0f}°"
            for i, a in zip(summary.free.tolist(), summary.angle.tolist(), strict=True)
        ]
        st.markdown(
            plain(
                f"With “{matched.entries[chosen]}” in place of component {names[r]}, the best "
                f"{look.analysis.measure_heading} is {look.analysis.format_measure(summary.best)} "
                f"instead of {look.analysis.format_measure(own)}. Among the {summary.within.size} "
                f"found within {RISE:.0%} more error the others turn by: {listed(turns)}."
            )
        )
        st.caption(
            plain(
                f"{summary.converged} of {summary.made} factorizations have converged. No start "
                "may have led to others that turn them farther."
            )
        )

    by_hand.explore(work, f"Solve again with it, from {STARTS + 1} starts", "known", draw)
