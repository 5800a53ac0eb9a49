"""Modes found by one method and not by another."""

import streamlit as st

from bnmf_core.analysis.board import Board
from bnmf_core.analysis.scoreboard import only
from pages.frame.lens import Lens
from pages.frame.words import labelled, plain
from pages.parts import bases

MOST = 4


def show(look: Lens, board: Board, names: dict[str, str]) -> None:
    """Select two methods and draw the modes that only the first one found."""
    if len(names) < 2:
        return
    st.header("Found by one, not by the other", anchor=False)
    groups = list(names)
    left, right = st.columns(2)
    one = left.selectbox("Found by", groups, format_func=labelled(names), key="found_by")
    others = [group for group in groups if group != one]
    other = right.selectbox("Not by", others, format_func=labelled(names), key="not_found_by")
    modes = only(board, board.groups[one], board.groups[other])
    if not modes.size:
        st.info(plain(f"Every mode that {names[one]} found, {names[other]} found too."))
        return
    several = "modes" if modes.size > 1 else "mode"
    numbers = ", ".join(str(mode + 1) for mode in modes[:12]) + ", …" * (modes.size > 12)
    st.markdown(
        plain(f"{names[one]} found {modes.size} {several} that {names[other]} did not: {numbers}.")
        + (f" The first {MOST} are shown." if modes.size > MOST else "")
    )
    rows = look.modes.representative[modes[:MOST]]
    bases.show(look, rows, [look.name(row) for row in rows], "differing")
