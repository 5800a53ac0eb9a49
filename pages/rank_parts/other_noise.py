"""The noise of counts, and the rank recommended under other noise."""

import streamlit as st

from bnmf_core.analysis import ranks
from bnmf_core.analysis.ranks import RankQuestion
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.findings.facts import say
from bnmf_core.findings.ranks import beside, of_counts
from bnmf_core.likelihoods import MODELS
from pages.frame.services import store
from pages.frame.words import plain
from pages.parts import proposed
from pages.rank_parts import asking


def show(study: RankStudy, question: RankQuestion) -> None:
    """A sentence on each; for counts under Gaussian noise, a button to another study."""
    root = store().root
    for facts in (of_counts(study), beside(study, question.model, root, question.dataset)):
        if facts:
            st.markdown(plain(say(facts)))
    if not study.counts:
        return
    other = ranks.other_noise(root, question.dataset, question.model)
    model = proposed.of(question.dataset).model if other is None else other.model
    if model == question.model:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("These are counts, and this study assumed Gaussian noise.")
        does = "Compare ranks" if other is None else "Show the study"
        key = asking.NEW if other is None else other.key
        arguments = (question.dataset, key, model)
        label = plain(f"{does} under “{MODELS[model].label}”")
        st.button(label, key="rank_of_counts", on_click=asking.choose, args=arguments)
