"""How much runs have seen so far, side by side, while they are being made."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from bnmf_core.analysis import growing
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.figures.growth import covering_growth
from bnmf_core.figures.style import run_styles
from bnmf_core.runs.launch import run_names
from bnmf_core.store.records import RunRecord
from pages.frame import link, view
from pages.frame.services import store


@st.cache_data(max_entries=128, show_spinner=False)
def _growth(folder: str, made: int, metric: str, epsilon: float, _run_id: str) -> pd.DataFrame:
    """That of the run with this folder, read again only when something has been made since."""
    return growing.growth(store(), _run_id, metric, epsilon)


def show(runs: Sequence[RunRecord]) -> None:
    """One picture of all of these runs; nothing while none has made two."""
    metric = link.get("metric") if link.get("metric") in DISTANCES else "max_angle"
    distance = DISTANCES[metric]
    # Of all of them: a run keeps its name when the next one of its kind has begun.
    names = run_names(runs)
    runs = [run for run in reversed(runs) if run.done > 1]
    if not runs:
        return
    epsilon = link.get("threshold") or distance.resolution(runs[0].spec.rank)
    styles = run_styles([(run.id, run.spec.algorithm, names[run.id]) for run in runs])
    parts = [
        _growth(str(store().run_folder(run.id)), run.done, metric, epsilon, run.id) for run in runs
    ]
    parts = [part.assign(run=run.id) for run, part in zip(runs, parts, strict=True)]
    curves = pd.concat(parts, ignore_index=True)
    if curves.empty:
        return
    view.chart(
        covering_growth(curves, styles, epsilon, distance.unit),
        f"How many balls of the radius, in {distance.label}, cover what each run has made so far: "
        "a curve that still rises is still finding something different. Restarts count before "
        "they are compared, also poor ones.",
        name="growing",
        origin="runs that are being made",
        table=curves.assign(run=curves["run"].map(names)),
    )
