"""The flow of components from rank to rank, and from mode to mode."""

import streamlit as st

from bnmf_core import Dataset
from bnmf_core.compare.flow import component_flow
from bnmf_core.evidence.rank_study import RankStudy
from pages.frame import view
from pages.frame.options import pick_one
from pages.rank_parts import drawing, links, modes

KINDS = {"ranks": "from rank to rank", "modes": "from mode to mode"}


def show(study: RankStudy, dataset: Dataset, dataset_id: str, origin: str) -> None:
    """One of the two flows; a click on a component opens it."""
    st.header("Flow of components", anchor=False)
    kind = pick_one("Flow", KINDS, "ranks", "rank_flow", label_visibility="collapsed")
    ranks = list(study.best)
    flow = component_flow(list(study.best.values()))
    if kind == "modes":
        modes.show(study, flow, dataset, dataset_id)
        return
    bases = [A for A, _ in study.best.values()]
    figure = drawing.drawn(flow, bases, dataset, [f"rank {rank}" for rank in ranks])
    above = st.container()
    event = view.chart(
        figure,
        f"{drawing.READING} Of each rank: the best fit of all restarts.",
        name="flow_ranks",
        origin=origin,
        table=flow.links.assign(
            left_rank=[ranks[k] for k in flow.links["column"]],
            right_rank=[ranks[k + 1] for k in flow.links["column"]],
        ),
        select=("points",),
    )
    if (clicked := links.clicked(event, "flow_ranks")) is not None:
        column, component = clicked
        with above:
            links.to_rank(study, dataset, ranks[column], component)
