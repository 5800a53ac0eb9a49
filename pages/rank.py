"""Rank: how many components, and how they flow from rank to rank and from mode to mode."""

import streamlit as st

from bnmf_core.analysis.described import describe_rank_sample
from bnmf_core.figures.ranks import rank_criteria
from bnmf_core.findings import ranks
from pages.frame import choosing, guard, view
from pages.frame.services import store
from pages.frame.words import plain
from pages.rank_parts import asking, flows, other_noise, table

# Word, colour and icon of each grade.
GRADES = {
    ranks.CLEAR: ("Clear", "green", ":material/check_circle:"),
    ranks.LEANING: ("Leaning", "orange", ":material/change_history:"),
    ranks.OPEN: ("Open", "gray", ":material/radio_button_unchecked:"),
}

guard.enter("rank")
with st.sidebar:
    dataset = store().dataset(choosing.dataset("Dataset"))
    question = asking.question(dataset)
    if sampled := describe_rank_sample(dataset):
        st.caption(plain(sampled))
study = asking.answer(question, dataset)

advice = ranks.recommend(study)
st.badge(
    plain(GRADES[advice.grade][0]), color=GRADES[advice.grade][1], icon=GRADES[advice.grade][2]
)
st.markdown(f"**{plain(advice.sentence)}** {plain(advice.reason)}")
origin = f"{dataset.name}, {asking.described(question)}, "
origin += f"{question.restarts} restarts, seed {question.seed}"
view.chart(
    rank_criteria(study.table, study.criteria, question.loss.measure),
    "Filled: the rank that a criterion chooses; rings: ranks that it does not distinguish from "
    "it. Bars are one standard error.",
    name="rank",
    origin=origin,
    table=study.known,
)
other_noise.show(study, question)
table.rank(study, question.dataset)
flows.show(study, dataset, question.dataset, origin)
table.table(study, question.loss.measure)
