"""Parts: what do the components look like, what do they say, and where do factorizations differ?"""

import streamlit as st

from bnmf_core.figures.gallery import MOST_BARS
from pages.components_parts import words
from pages.frame import guard, panel
from pages.frame.words import plain
from pages.parts import bases, by_hand, maps, naming

guard.enter("components")
look = panel.look()
dataset = look.analysis.dataset
pictured = dataset.image_shape is not None or dataset.D <= MOST_BARS
with st.sidebar:
    most = int(st.number_input("Factorizations shown", 2, 12, 4, key="components_count"))
    by_run = len(look.styles) > 1 and st.toggle(
        "Run by run",
        key="components_by_run",
        help="So many factorizations of every run: its most typical one, then those that differ "
        "most. A run that shows the same parts again and again has seen one place only.",
    )
    difference = st.toggle(
        "Differences",
        key="components_difference",
        help="Beside the parts, or below where these are many: every factorization minus the "
        "first one shown.",
    )
    asked = words.ask(dataset)
rows, names = look.shown_of_each(most) if by_run else look.shown(most)
st.markdown(
    f"**In focus: {plain(look.focus_name)}.** Of each mode, its most typical factorization."
    if look.focus.all() and not by_run
    else f"**In focus: {plain(look.focus_name)}.** The most typical factorization first, then the "
    "ones that differ most."
)
maps.show(look, rows, names, difference)
if pictured:
    bases.show(look, rows, names, "components", difference)
if dataset.image_shape is None:
    words.show(look, rows, names, asked)
    if not pictured:
        bases.show(look, rows, names, "components", difference)
    words.key_terms_of(look, rows, asked)
naming.show(look)
by_hand.show(look)
