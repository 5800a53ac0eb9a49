"""A lesson: why relaxed yes and no end between the two, and why a mean is no maximum."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.figures.three_variables import NAMES, cut_picture, maximum_and_mean
from bnmf_core.probability.three_variables import ThreeVariables
from pages.boolean_lesson_parts import asked, said
from pages.frame import guard, link, view
from pages.frame.words import plain

# Middles of stretches of 0 to 1: where Beta(½, ½) has no bound, at the ends, is left out.
ALONG = (np.arange(80) + 0.5) / 80


@st.cache_data(max_entries=64, show_spinner=False)
def answered(question: ThreeVariables) -> tuple[np.ndarray | None, np.ndarray]:
    """Where the density is largest, if anywhere, and the means."""
    return question.maxima if question.bounded else None, question.means


guard.enter("boolean_lesson")
one, two = st.columns(2, gap="medium")
one.markdown(
    "**What is looked for.** Three numbers x, y and z between 0 (no) and 1 (yes). Observed are "
    "not they but their products: a tells whether x and y are both yes, b whether x and z, c "
    "whether y and z. A cell of a table is such a product too: it is yes where its row and its "
    "column belong to one tile."
)
two.markdown(
    "**Why it is difficult.** Observations may contradict each other: if x and z are both yes, and "
    "y and z too, then x and y are. An error in the data can say otherwise. And a prior that "
    "prefers small numbers may outweigh the data. With three numbers all of it can be seen."
)
question, z = asked.ask()
maxima, mean = answered(question)
st.markdown(f"**{plain(said.fit(question))}** {plain(said.largest(question))}")
st.caption(plain(said.means(question) + (f" {said.PRINTED}" if question.printed else "")))
origin = (
    f"a = {question.a:g}, b = {question.b:g}, c = {question.c:g}, {asked.PRIORS[question.prior]} "
    f"prior, formula {'as printed' if question.printed else 'corrected'}"
)
left, right = st.columns(2, gap="medium")
with left:
    x, y = np.meshgrid(ALONG, ALONG, indexing="ij")
    density = question.log_density(np.stack([x, y, np.full_like(x, z)]))
    view.chart(
        cut_picture(ALONG, density, z, mean, question.bounded),
        "The brighter, the denser; 1 is the largest density at this z. Move z to cut elsewhere.",
        name="boolean_lesson_cut",
        origin=origin,
    )
with right:
    table = pd.DataFrame({"variable": NAMES, "mean": mean})
    if maxima is not None:
        table.insert(1, "largest density", maxima[0])
    view.chart(
        maximum_and_mean(None if maxima is None else maxima[0], mean),
        "Where an optimizer ends, against where draws lie on average. Above the dashed line counts "
        "as yes.",
        name="boolean_lesson_bars",
        origin=origin,
        table=table,
    )
st.subheader("To try", anchor=False)
st.markdown(
    "- a = 0, b = c = 1 is a contradiction. Where does the maximum go, and what happens to it when "
    "a is 0.5?\n"
    "- a = 1, b = c = 0 is none: yes, yes, no explains it. Take the normal prior. What does the "
    "maximum say now, and what would a table with more cells change?\n"
    "- All three at 1, normal prior: not everything is pulled to no.\n"
    "- All three at 0, flat prior: any of x, y and z may be yes, if it is the only one. What is "
    "the mean worth?\n"
    "- Formula as printed, a = 1, b = c = 0: what does it take for the best answer?"
)
link.to("boolean")
