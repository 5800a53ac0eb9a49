"""Maps of cells: probability, indecision, degree; and the histogram of one cell."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.boolean.figures.thresholds import cell_histogram
from bnmf_core.boolean.figures.tiles import cell_map
from bnmf_core.boolean.thresholds import cell_probabilities
from pages.boolean_parts.selection import Selection
from pages.frame import view
from pages.frame.options import pick_one
from pages.frame.words import plain

# Cells in the table of the map.
MOST = 500
KINDS = {
    "on": "How probable a yes is",
    "uncertainty": "Undecided between 0 and 1",
    "ambiguity": "A clear half",
}
READING = {
    "on": "The share of {members} whose tiles, entries above ½, have the cell. Here ½ is the right "
    "threshold, unlike for the product of mean factors.",
    "uncertainty": "How much {members} disagree about the cell, at most ¼: some say yes, others "
    "no.",
    "ambiguity": "How half-hearted each of the {members} is about the cell, at most ¼: they may "
    "all agree on a clear half.",
}


def show(seen: Selection) -> None:
    """One map at a time, and the histogram of a cell."""
    kind = pick_one("What is mapped", KINDS, "on")
    values = getattr(seen.run, kind)
    # The cells with the largest values (D, N), the largest first.
    called = KINDS[kind]
    largest = np.argsort(-values, axis=None, kind="stable")[:MOST]
    rows, columns = np.unravel_index(largest, values.shape)
    view.chart(
        cell_map(values, seen.order, KINDS[kind], 1.0 if kind == "on" else 0.25),
        READING[kind].format(members=seen.members),
        name=f"cells_{kind}",
        origin=seen.look.origin,
        table=pd.DataFrame(
            {
                seen.nouns[0]: np.asarray(seen.dataset.features, dtype=object)[rows],
                seen.nouns[1]: np.asarray(seen.dataset.observations, dtype=object)[columns],
                called: np.round(values[rows, columns], 3),
            }
        ),
    )
    if seen.sampled:
        _one_cell(seen)


def _one_cell(seen: Selection) -> None:
    doubt = seen.run.uncertainty + seen.run.ambiguity
    most = np.unravel_index(int(doubt.argmax()), doubt.shape)
    features, observations = seen.dataset.features, seen.dataset.observations
    left, right = st.columns(2)
    row = left.selectbox(
        plain(seen.nouns[0]),
        range(len(features)),
        index=int(most[0]),
        format_func=dict(enumerate(features)).get,
    )
    column = right.selectbox(
        plain(seen.nouns[1]),
        range(len(observations)),
        index=int(most[1]),
        format_func=dict(enumerate(observations)).get,
    )
    rows = seen.look.analysis.rows_by_run()[seen.look.analysis.run_ids.index(seen.run_id)]
    A, W = seen.look.analysis.factors(rows)
    q = np.array(
        [
            cell_probabilities(basis[row : row + 1], of_columns[:, column : column + 1])[0, 0]
            for basis, of_columns in zip(A, W, strict=True)
        ]
    )
    value = {0.0: "no", 1.0: "yes"}.get(seen.X[row, column], "not seen")
    st.caption(plain("It opens on the cell that is most in doubt."))
    view.chart(
        cell_histogram(
            q, f"One cell: in the table {value}; strength of a yes {q.mean():.2f}", seen.members
        ),
        "How strongly the tiles of a member say yes, 1 − ∏(1 − A W) over tiles, on average in the "
        "title; the map above counts members instead whose tiles have the cell. Two heaps at the "
        "ends: undecided between 0 and 1. One heap in the middle: a clear half.",
        name="cell_histogram",
        origin=seen.look.origin,
        table=pd.DataFrame({"member": np.arange(1, q.size + 1), "strength of a yes": q}),
    )
