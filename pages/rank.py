"""Rank: how many components, and how they flow from rank to rank and from mode to mode."""

import streamlit as st

from bnmf_core.evidence import verdict
from bnmf_core.figures.ranks import rank_criteria
from pages.frame import choosing, guard, view
from pages.frame.services import store
from pages.frame.words import plain
from pages.rank_parts import asking, flows, taking

guard.enter("rank")
with st.sidebar:
    dataset = store().dataset(choosing.dataset("Dataset"))
    asked = asking.question(dataset)
study = asking.answer(asked, dataset)

chosen, of_restarts, agreement, assumed = verdict.sentences(study)
st.markdown(f"**{plain(agreement)}** {plain(chosen)}")
origin = f"{dataset.name}, {asking.described(asked)}, {asked.restarts} restarts, seed {asked.seed}"
view.chart(
    rank_criteria(study.table, study.criteria),
    "Filled: what the rule chooses; rings: ranks that it does not tell from the best. Bars are one "
    "standard error.",
    name="rank",
    origin=origin,
    table=study.table,
)
st.caption(plain(f"{of_restarts} {assumed} {study.prior}"))
taking.rank(study, asked.dataset)
flows.show(study, dataset, asked.dataset, origin)
taking.table(study)
