"""Studies of the other papers, as tables with the published numbers."""

import pandas as pd
import streamlit as st

from pages.frame import link, view
from pages.frame.options import pick_one
from pages.frame.words import plain
from studies.boolean.tables import tables as yes_no
from studies.result import StudyResult, full
from studies.rrt import findings as trees
from studies.rrt.problems import NOISES
from studies.topics.findings import tables as topics

COVERAGE = "coverage"
STUDIES = {
    COVERAGE: "Coverage (paper 1)",
    "rrt": "Trees and mixtures (paper 2)",
    "topics": "Topics (paper 3)",
    "boolean": "Boolean (paper 4)",
}
ABOUT = {
    "rrt": "ELBOs, components and their distances: tables 1 to 3 of “Robust Posterior Exploration "
    "in NMF”, made again and put beside the published numbers.",
    "topics": "Words of topics, and how well weights predict categories of posts: figures 5, 6 and "
    "28 of the paper on Q-Transform, made again.",
    "boolean": "Stochastic gradients on binary matrices: tables 4.1 and 4.2 of the thesis on "
    "probabilistic Boolean factorization, made again and put beside the published numbers.",
}


def chosen() -> str:
    """The key of the study in the address."""
    there = {key: label for key, label in STUDIES.items() if key == COVERAGE or full(key)}
    link.one_of("study", there)
    key = pick_one("Paper", there, key=link.key("study"))
    link.share("study")
    return str(key)


def show(key: str) -> None:
    """The tables of a study, its findings on the paper, and differences to it."""
    study = full(key)
    assert study is not None  # see ``chosen``
    st.markdown(plain(ABOUT[key]))
    if key == "rrt":
        _trees(study)
    else:
        # Every table of a study, one at a time; the paper's claims first.
        tables = yes_no if key == "boolean" else topics
        by_title = {table["title"]: table for table in tables(study)}
        title = st.selectbox("Table", list(by_title), key="study_table_of")
        table = by_title[title]
        rows = pd.DataFrame(table["rows"], columns=list(table["columns"]))
        view.table(rows, title)
    with st.expander("What differs from the publication, and why"):
        for note in study.notes:
            st.markdown(f"- {plain(note)}")
    st.caption(plain(f"Made with python -m studies {key}: seed {study.settings['seed']}"))


def _trees(study: StudyResult) -> None:
    """Paper 2: a noise and a quantity choose a table."""
    with st.expander("What the numbers say of the paper's claims", expanded=True):
        for sentence in trees.findings(study):
            st.markdown(f"- {plain(sentence)}")
    there = [noise for noise in NOISES if len(trees.values(study, noise, "elbo"))]
    left, right = st.columns(2)
    noise = left.selectbox("Noise", there, format_func=study.labels.get, key="study_noise")
    tables = {
        quantity: table
        for quantity in trees.QUANTITIES
        if len(table := trees.table(study, noise, quantity))
    }
    quantity = right.selectbox(
        "Quantity", list(tables), format_func=trees.QUANTITIES.get, key="study_measure"
    )
    standing = trees.standing(study, trees.MAIN, noise)
    note = f" ({standing})" if standing else ""
    view.table(tables[quantity], trees.QUANTITIES[quantity])
    published = f"; published: {NOISES[noise].table} of the paper" if NOISES[noise].table else ""
    st.caption(
        plain(
            f"{trees.QUANTITIES[quantity]}: {study.labels[noise]}{note}. Mean over the repetitions "
            f"and, of two or more, quartiles in brackets{published}."
        )
    )
