"""Stein discrepancy of each run over the arrival of its factorizations."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.stein import FORMS, SteinPart
from bnmf_core.figures.quality import discrepancy_over_time
from pages.frame.lens import Lens
from pages.frame.view import chart
from studies.stein.arrival import WEIGHTS, as_they_arrive

READING = {
    "weighted": "Lower and further left: nearer to the posterior in fewer seconds. Compare chains "
    "with chains and optima with optima.",
    "equal": "Optima are low because their gradients are small, not because they approximate the "
    "posterior.",
}


def show(look: Lens, part: SteinPart, form: str) -> None:
    """Discrepancy of every run in view as its particles arrive."""
    tables = {}
    for run_id in look.styles:
        rows = (look.analysis.members["run"] == run_id).to_numpy()
        seconds = look.analysis.members["seconds"].to_numpy()[rows]
        found = _arriving(
            part.K[rows][:, rows], seconds, look.analysis.cache_key, run_id, form, part.lengths
        )
        tables[run_id] = found.assign(run=run_id)
    points = pd.concat(tables.values(), ignore_index=True)
    origin = (
        f"{look.origin} · {FORMS[form]}, lengths {part.lengths[0]:.3g} for A and "
        f"{part.lengths[1]:.3g} for W"
    )
    for column, (weights, words) in zip(st.columns(2), WEIGHTS.items(), strict=True):
        with column:
            # The stored numbers are squares, wᵀKw.
            values = points[weights].clip(lower=0.0) ** 0.5
            shown = points[["run", "M", "seconds"]].assign(value=values)
            chart(
                discrepancy_over_time(shown, look.styles, f"As particles arrive, {words}"),
                READING[weights],
                name=f"arrival_{weights}",
                origin=origin,
                table=look.named(shown),
            )


@st.cache_data(max_entries=64, show_spinner="Weighing the factorizations …")
def _arriving(_K: np.ndarray, _seconds: np.ndarray, *names: object) -> pd.DataFrame:
    return as_they_arrive(_K, _seconds)
