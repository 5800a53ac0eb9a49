"""Components over time: mean shares in each period of a label of dates."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.classes import LEVEL, PeriodShares, period_shares
from bnmf_core.compare.samples import sample_shares
from bnmf_core.core.dates import dates_of
from bnmf_core.core.names import numbered, percent
from bnmf_core.figures.topics import period_lines
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import labelled
from pages.samples_parts.by_class import modes_of


def show(look: Lens, row: int, called: list[str], label: str, chosen: int | None) -> None:
    """A fold for a label of dates: the selected one, or the first."""
    labels = look.analysis.seen_dataset.labels
    dated = [key for key, values in labels.items() if dates_of(values) is not None]
    if not dated:
        return
    label = label if label in dated else dated[0]
    draw = partial(_over_time, look, row, called, label, chosen)
    view.fold("Components over time", "time_fold", draw)


def _over_time(look: Lens, row: int, called: list[str], label: str, chosen: int | None) -> None:
    rows = modes_of(look, row)
    if len(rows) > 1:
        names = {int(k): look.mode_names[look.modes.labels[k]] for k in rows}
        row = int(st.selectbox("Mode", list(names), format_func=labelled(names), key="time_mode"))
    found = _periods(look.analysis.cache_key, row, int(rows[0]), label, look)
    names = numbered(called, len(found.mean))
    # Means of periods with few observations are unreliable.
    usual = np.flatnonzero(found.counts >= np.median(found.counts) / 2)
    means = found.mean[:, usual]
    r = int(np.argmax(np.ptp(means, axis=1))) if chosen is None else chosen
    low, high = sorted((usual[means[r].argmin()], usual[means[r].argmax()]))
    first, last = (_period_words(found, r, p) for p in (low, high))
    most = "most, " if chosen is None else ""
    sentence = f"Component {names[r]} changes {most}from {first} to {last}."
    if (chance := found.chances.min() if chosen is None else found.chances[r]) > LEVEL:
        sentence = f"Chance alone leaves such changes (Kruskal–Wallis test, p = {chance:.2g})."
    view.chart(
        period_lines(found, label, called, chosen),
        f"{sentence} Bands are one standard error of the mean.",
        name="over_time",
        origin=look.origin,
        table=pd.DataFrame(found.mean.T, columns=names).assign(
            period=found.periods.astype(str), observations=found.counts
        ),
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _periods(cache_key: str, row: int, first: int, label: str, _look: Lens) -> PeriodShares:
    """Shares in periods of one member, with the components of the ``first``."""
    A, W = _look.aligned_factors(np.array([first, row]))
    dates = dates_of(_look.analysis.seen_dataset.labels[label])
    assert dates is not None
    return period_shares(sample_shares(A[1], W[1]), dates)


def _period_words(found: PeriodShares, r: int, p: int) -> str:
    """A mean share, its standard error with two observations or more, and the period."""
    error = found.error[r, p]
    about = f" ± {100 * error:.1f}" if np.isfinite(error) else ""
    day = str(found.periods[p])
    ends = {"day": day, "month": day[:7], "year": day[:4], "decade": f"the {day[:4]}s"}
    period = ends.get(found.unit, f"the century from {day[:4]}")
    return f"{percent(found.mean[r, p])}{about} in {period}"
