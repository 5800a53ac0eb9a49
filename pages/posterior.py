"""Posterior: which of these factorizations make it up, and with what probability?"""

import streamlit as st

from bnmf_core.figures.stein_weights import similarity_histogram, weight_bars
from bnmf_core.runs import stein_stage
from pages.common import guard, lens, posterior_view
from pages.common.view import chart, header, plain

guard.enter("posterior")
header(
    "Posterior",
    "Which of these factorizations make up the posterior, and with what probability?",
)
look = lens.look("stein")
left, right = st.columns(2)
form = left.selectbox(
    "Discrepancy", list(stein_stage.FORMS), format_func=stein_stage.FORMS.get, key="stein_form",
    help="Only the interior form is 0 for the posterior itself when entries must be ≥ 0.",
)  # fmt: skip
choice = right.selectbox(
    "Length scales", list(stein_stage.LENGTHS), format_func=stein_stage.LENGTHS.get,
    key="stein_lengths", help="How far apart two factorizations must be to count as different.",
)  # fmt: skip
part = stein_stage.read(look.analysis, form, choice)
if isinstance(part, str):
    st.error(plain(part))
    st.stop()
(st.caption if part.sentence.startswith("Both") else st.warning)(part.sentence)
kept = posterior_view.ask_kept(look)
weights = posterior_view.weights(part, kept)
posterior_view.numbers(look, part, kept, weights)
origin = posterior_view.origin(look, form, part, kept)
table = posterior_view.table(look, weights)
chart(
    weight_bars(table, look.styles),
    "The weights bring the particles as near to the posterior as their Stein discrepancy allows. "
    "Few and different ones with a weight each say more than many alike. Those without a weight "
    "add nothing that the others do not say already.",
    name="stein_weights", origin=origin, table=table,
)  # fmt: skip
posterior_view.focus_button(look, weights)
columns = st.columns(2)
with columns[0]:
    posterior_view.modes(look, weights, origin)
with columns[1]:
    chart(
        similarity_histogram(part.similarity, kept),
        "All near 1: the kernel takes all for the same. All near 0: none has to do with another.",
        name="similarity", origin=origin,
    )  # fmt: skip
posterior_view.threshold(look)
