"""Which noise the counts have, and what other noise would recommend."""

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


def show(study: RankStudy, asked: RankQuestion) -> None:
    """A sentence each; of counts under Gaussian noise a button to a study without it."""
    root = store().root
    for facts in (of_counts(study), beside(study, asked.model, root, asked.dataset)):
        if facts:
            st.markdown(plain(say(facts)))
    if not study.counts:
        return
    other = ranks.other_noise(root, asked.dataset, asked.model)
    model = proposed.of(asked.dataset).model if other is None else other.model
    if model == asked.model:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("These are counts, and this study took their noise to be Gaussian.")
        does = "Compare ranks" if other is None else "Show the study"
        key = asking.NEW if other is None else other.key
        arguments = (asked.dataset, key, model)
        label = plain(f"{does} under “{MODELS[model].label}”")
        st.button(label, key="rank_of_counts", on_click=asking.choose, args=arguments)
