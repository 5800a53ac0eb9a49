"""Topics: what do the components say in words?"""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.topics import aligned_words, key_term_counts
from bnmf_core.figures.key_terms import key_terms
from pages.frame import guard, link, panel, view
from pages.frame.words import plain
from pages.topics_parts import topic

guard.enter("topics")
look = panel.look()
dataset = look.analysis.dataset
if dataset.image_shape is not None:
    view.nothing(
        "The features of these data are pixels; the Gallery shows them as images.", "gallery"
    )
left, middle, right = st.columns(3, vertical_alignment="bottom")
most = int(left.number_input("Factorizations shown", 2, 8, 3, key="topics_count"))
count = int(middle.number_input("Words per topic", 3, 30, 10, key="topics_words"))
if link.get("relevance") is None:
    link.put("relevance", 0.6)
relevance = right.slider(
    "Relevance λ",
    0.0,
    1.0,
    step=0.05,
    key=link.key("relevance"),
    help="1 ranks words by how probable they are in the topic; towards 0, by how much more "
    "probable they are there than overall (Sievert & Shirley 2014).",
)
link.share("relevance")
rows, names = look.shown(most)
words = aligned_words(look.aligned(rows), dataset.features, count, relevance)

st.markdown(
    f"**In focus: {plain(look.focus_name)}** · words that the first factorization's topic lacks "
    "are marked **●**"
)
for component, part in words.groupby("component"):
    topic.show(component, part, names, count)
view.origin_line(look.origin, f"λ = {relevance:g}")
named = words.assign(factorization=[names[k] for k in words["factorization"]])
st.download_button(
    "Words (CSV)", lambda: view.csv(named), "topics.csv", "text/csv", on_click="ignore"
)

st.subheader("Key terms", anchor=False)
st.markdown("How many topics of each factorization have a term among their top words?")
typed = st.text_input(
    "Terms, separated by commas",
    ", ".join(words[words["factorization"] == 0]["word"].iloc[:3]),
    key="topics_terms",
)
terms = [term.strip() for term in typed.split(",") if term.strip()]
if terms:
    inside = np.flatnonzero(look.focus)
    A, _ = look.analysis.factors(inside)
    with view.told():
        counts = key_term_counts(A, dataset.features, terms, count)
    table = pd.DataFrame(counts, columns=terms).assign(
        factorization=[look.name(row) for row in inside]
    )
    view.chart(
        key_terms(counts, terms),
        "A wide spread means that factorizations spend different effort on the term.",
        name="key_terms",
        origin=look.origin,
        table=table,
    )
