"""The numbers of a rank study, and a link to a run at a rank."""

import streamlit as st

from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.findings import ranks as advising
from bnmf_core.findings.facts import say
from pages.frame import link, view
from pages.frame.words import plain

COLUMNS = {
    "log_evidence": "log evidence (nats)",
    "error": "± (nats)",
    "weighed": "modes weighed",
    "sigma": "σ",
    "rate": "λ",
    "hidden_error": "error on held-out entries",
    "hidden_error_spread": "±",
    "stability": "mean angle (°)",
}


def rank(study: RankStudy, dataset_id: str) -> None:
    """Select a rank and open the page Run; without a default if the grade is open."""
    ranks, advice = study.table["rank"].tolist(), advising.recommend(study)
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    open_ = advice.grade == advising.OPEN
    chosen = left.selectbox(
        "Rank to run",
        ranks,
        None if open_ else ranks.index(advice.rank),
        placeholder=f"Choose, for example {advice.rank}",
        key=f"rank_taken_{dataset_id}",
    )
    if right.button(
        "Use this rank",
        key="rank_go",
        icon=":material/play_circle:",
        disabled=chosen is None,
        help="The data leave the rank open: choose one first."
        if chosen is None
        else "Opens the page Analyse with it.",
    ):
        link.go("run", data=dataset_id, rank=str(chosen))


def table(study: RankStudy, measure: str) -> None:
    """Every number, and the rule and assumptions of each criterion.

    measure : kind of error.
    """
    with st.expander("All numbers, and the rules"):
        named = study.known.rename(columns=COLUMNS | {"fit": f"{measure} of the best"})
        view.table(named, "The criteria of every rank")
        for criterion in study.criteria.values():
            rule = criterion.rule if criterion.chosen is not None else criterion.said
            st.markdown(f"**{plain(criterion.label)}.** {plain(rule)}")
        restarts, assumed = say(advising.of_restarts(study)), say(advising.assumed(study))
        for sentence in filter(None, (restarts, assumed, study.prior)):
            st.markdown(plain(sentence))
