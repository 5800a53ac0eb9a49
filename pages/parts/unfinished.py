"""Partial results of active runs."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core import registry
from bnmf_core.analysis import unfinished
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.figures.bases import named_table
from bnmf_core.figures.chains import covering_growth
from bnmf_core.figures.component_grid import component_grid
from bnmf_core.figures.style import run_styles
from bnmf_core.runs.launch import run_names
from bnmf_core.store.records import RunRecord
from pages.frame import link, view
from pages.frame.services import store


@st.cache_data(max_entries=128, show_spinner=False)
def _growth(folder: str, made: int, metric: str, epsilon: float, _run_id: str) -> pd.DataFrame:
    """Growth of the run in this folder, read again only after new results."""
    return unfinished.growth(store(), _run_id, metric, epsilon)


@st.cache_data(max_entries=32, show_spinner=False)
def _best(folders: list[str], made: list[int], _run_ids: list[str]) -> unfinished.Best | None:
    """Best factorization of the runs in these folders, read again only after new results."""
    return unfinished.best(store(), _run_ids)


def components(runs: Sequence[RunRecord]) -> None:
    """The components of the best factorization so far, if any.

    Nothing if some runs have ended and others have not: finished ones are compared below.
    """
    if len({run.active for run in runs}) > 1:
        return
    runs = [run for run in runs if run.done and run.spec.rank == runs[0].spec.rank]
    folders = [str(store().run_folder(run.id)) for run in runs]
    found = _best(folders, [run.done for run in runs], [run.id for run in runs])
    if found is None:
        return
    dataset = store().dataset(runs[0].dataset)
    model = registry.model(runs[0].spec.model)
    loss = model.loss(model.Settings())
    measure = f"{'explains' if loss.explains else 'error'} {loss.format(found.error)}"
    name = f"best so far<br>{measure}"
    figure = component_grid(dataset, found.A[None], np.zeros((1, found.A.shape[1])), [name], [0])
    figure.update_layout(title={"text": f"Best of {found.made:,} made so far"})
    view.chart(
        figure,
        "Components of the factorization with the smallest error. Others may fit as well; they "
        "are compared when the runs have ended.",
        name="best_so_far",
        origin="runs that are being made",
        table=lambda: named_table(dataset.features, found.A[None], ["best so far"]),
    )


def show(runs: Sequence[RunRecord]) -> None:
    """One picture of all runs; nothing before any has two results, or after all have ended."""
    if not any(run.active for run in runs):
        return
    metric = link.get("metric") if link.get("metric") in DISTANCES else "max_angle"
    distance = DISTANCES[metric]
    # Names of all runs, so that they do not change when another run of the kind begins.
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
