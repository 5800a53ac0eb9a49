"""The flow of components from mode to mode of the selected runs."""

import numpy as np
import streamlit as st

from bnmf_core import Dataset
from bnmf_core.analysis import structure
from bnmf_core.compare.flow import Flow, by_share, component_flow, identities_like
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.runs.launch import run_label
from bnmf_core.store.records import RunRecord
from pages.frame import link, view, watch
from pages.frame.services import runner
from pages.rank_parts import drawing, links

# Most modes side by side, the largest first.
MOST = 6


def show(study: RankStudy, of_ranks: Flow, dataset: Dataset, dataset_id: str) -> None:
    """The modes of the selected runs of these data, or of the newest ones."""
    runs = _runs(dataset_id)
    if not runs:
        st.info("There are no runs of these data yet.")
        link.to("run", "Run them", data=dataset_id)
        return
    with view.report_errors():
        analysis = runner().analyse([run.id for run in runs], structure.STAGE.key)
    if not watch.beside(analysis, structure.STAGE, "Finding the modes"):
        return
    metric = link.get("metric") or "max_angle"
    threshold = (
        link.get("threshold") if {r.id for r in runs} == set(link.get("runs") or ()) else None
    )
    found = structure.modes_at(analysis, metric, threshold)
    rows = found.representative[:MOST]
    names = ", ".join(run_label(run) for run in runs)
    if len(rows) < 2:
        st.info("The factorizations of these runs are one mode: there is no other to flow to.")
        return
    A, W = analysis.factors(rows)
    flow = component_flow(list(zip(A, W, strict=True)), _identities(study, of_ranks, A[0], W[0]))
    columns = [f"mode {k + 1} ({found.share[k]:.0%})" for k in range(len(rows))]
    rank = analysis.rank
    event = view.chart(
        drawing.drawn(flow, list(A), dataset, columns),
        f"{drawing.READING} Of each mode: its most typical factorization.",
        name="flow_modes",
        origin=f"{dataset.name}, rank {rank}, {names}",
        table=flow.links.assign(
            left_mode=flow.links["column"] + 1, right_mode=flow.links["column"] + 2
        ),
        select=("points",),
    )
    if (clicked := links.clicked(event, "flow_modes")) is not None:
        ids = ",".join(analysis.run_ids)
        link.go("components", runs=ids, focus=f"mode:{clicked[0] + 1}")


def _runs(dataset_id: str) -> list[RunRecord]:
    """The selected runs if they are of these data; else the newest."""
    stored = links.runs_of(dataset_id)
    selected = [run for run in stored if run.id in (link.get("runs") or ())]
    if selected or not stored:
        return selected
    return [
        run
        for run in stored
        if run.launch == stored[0].launch and run.spec.rank == stored[0].spec.rank
    ]


def _identities(
    study: RankStudy, of_ranks: Flow, A: np.ndarray, W: np.ndarray
) -> np.ndarray | None:
    """Colours of the first mode's components, as in the study at the same rank."""
    R = A.shape[1]
    if R not in study.best:
        return None
    column = list(study.best).index(R)
    nodes = of_ranks.nodes[of_ranks.nodes["column"] == column]
    reference = study.best[R][0][:, nodes["position"]]
    order, _ = by_share(A, W)
    return identities_like(A[:, order], reference, nodes["identity"].to_numpy())
