"""Links from a component of a flow to the page Components."""

from typing import Any

import streamlit as st

from bnmf_core import Dataset, RunStore
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.store.records import RunRecord
from pages.frame import link, view
from pages.frame.services import store

# Largest angle in degrees at which a run's factorization counts as that of the study.
SAME = 15.0


def clicked(event: Any, chart: str) -> tuple[int, int] | None:
    """Column and number of a component that was clicked since the last redraw."""
    points = event["selection"]["points"] if event else []
    found = [tuple(point["customdata"]) for point in points if point.get("customdata")]
    now = (int(found[0][0]), int(found[0][1])) if found else None
    before = st.session_state.get(f"clicked_{chart}")
    st.session_state[f"clicked_{chart}"] = now
    return now if now != before else None


def runs_of(dataset_id: str) -> list[RunRecord]:
    """Finished runs of a dataset, the newest first."""
    return [
        run
        for run in store().runs()
        if run.dataset == dataset_id and run.done > 0 and not run.active
    ]


def to_rank(study: RankStudy, dataset: Dataset, rank: int, component: int) -> None:
    """Open the newest run of this rank, with focus on the study's factorization."""
    runs = [run for run in runs_of(dataset.hash) if run.spec.rank == rank]
    if not runs:
        st.info(
            f"Component {component:d} of rank {rank:d}: there is no run of this rank yet, so there "
            "is nothing to go to."
        )
        link.to("run", f"Run with rank {rank}", data=dataset.hash, rank=str(rank))
        return
    with view.report_errors():
        link.go("components", runs=runs[0].id, focus=nearest(study, store(), runs[0], rank))


def nearest(study: RankStudy, runs: RunStore, run: RunRecord, rank: int) -> str:
    """Focus on the member of a run that equals the study's factorization; "" without one."""
    comparison = open_comparison(runs, [run.id])
    A = comparison.bases(range(len(comparison.members)))
    reference = study.best[rank][0]
    apart = component_angles(A, reference, matching(A, reference)).max(axis=1)
    return f"rows:{apart.argmin()}" if apart.min() <= SAME else ""
