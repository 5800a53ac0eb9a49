"""The table in the order of its tiles, and the cells that contradict them."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.boolean.figures.tiles import Cell, kinds, table_picture
from pages.boolean_parts.selection import Selection
from pages.frame import view
from pages.frame.words import plain

# Listed cells.
MOST = 500


def show(seen: Selection) -> None:
    """The picture, likely errors and predictions."""
    contradicted = _cells(seen, (Cell.MISSED, Cell.FILLED_IN))
    view.chart(
        table_picture(seen.X, seen.covered, seen.order, seen.nouns),
        "Rows and columns of one tile lie together. Blue is explained; orange ones lie in no tile, "
        "and red zeros lie in one: each is an error of the table or something the tiles do not "
        "tell.",
        name="tiles_table",
        origin=seen.look.origin,
        table=contradicted,
    )
    st.header("Cells that the tiles contradict most", anchor=False)
    st.caption(
        plain(
            f"The share of {seen.members} whose tiles have the cell: near 1 for a no and near 0 "
            "for a yes are the likeliest errors of the table."
        )
    )
    view.table(contradicted, "Cells that the tiles contradict most", height=260)
    if np.isnan(seen.X).any():
        title = "Missing cells, as the tiles predict them"
        st.header(title, anchor=False)
        view.table(_cells(seen, (Cell.UNSEEN, Cell.PREDICTED)), title, height=260)


def _cells(seen: Selection, of: tuple[Cell, ...]) -> pd.DataFrame:
    """Cells of these kinds, in order of the tiles' certainty."""
    rows, columns = np.nonzero(np.isin(kinds(seen.X, seen.covered), of))
    share = seen.run.on[rows, columns]
    doubtful = np.argsort(-np.abs(share - 0.5), kind="stable")[:MOST]
    rows, columns, share = rows[doubtful], columns[doubtful], share[doubtful]
    words = {0.0: "no", 1.0: "yes"}
    return pd.DataFrame(
        {
            seen.nouns[0]: np.asarray(seen.dataset.features, dtype=object)[rows],
            seen.nouns[1]: np.asarray(seen.dataset.observations, dtype=object)[columns],
            "in the table": [words.get(value, "not seen") for value in seen.X[rows, columns]],
            f"share of {seen.members} that say yes": np.round(share, 3),
        }
    )
