"""Gallery: what do the bases look like?"""

import streamlit as st

from pages.frame import guard, lens
from pages.frame.view import header
from pages.parts import gallery_view

guard.enter("gallery")
header("Gallery", "What do the parts look like, and where do factorizations differ?")
look = lens.look()
left, middle, right = st.columns([1, 1.5, 1.5], vertical_alignment="bottom")
most = int(left.number_input("Factorizations shown", 2, 12, 6, key="gallery_count"))
difference = middle.toggle(
    "Difference to the first", key="gallery_difference",
    help="Show every factorization minus the first one shown.",
)  # fmt: skip
by_run = len(look.styles) > 1 and right.toggle(
    "Run by run", key="gallery_by_run",
    help="So many factorizations of every run: its most typical one, then those that differ most. "
    "A run that shows the same parts again and again has seen one place only.",
)  # fmt: skip
rows, names = look.shown_of_each(most) if by_run else look.shown(most)
st.markdown(f"**In focus: {look.focus_name}**")
if look.focus.all() and not by_run:
    st.caption("One row for each mode: its most typical factorization.")
else:
    st.caption("The most typical factorization in focus first, then the ones that differ most.")
gallery_view.bases(look, rows, names, difference, "gallery")
