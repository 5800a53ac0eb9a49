"""Gallery: what do the bases look like?"""

import streamlit as st

from pages.common import gallery_view, guard, lens
from pages.common.view import header

guard.enter("gallery")
header("Gallery", "What do the parts look like, and where do factorizations differ?")
look = lens.look()
left, right = st.columns([1, 3], vertical_alignment="bottom")
most = left.number_input("Factorizations shown", 2, 12, 6, key="gallery_count")
difference = right.toggle(
    "Difference to the first", key="gallery_difference",
    help="Show every factorization minus the first one shown.",
)  # fmt: skip
rows, names = look.shown(int(most))
st.markdown(f"**In focus: {look.focus_name}**")
if look.focus.all():
    st.caption("One row for each mode: its most typical factorization.")
else:
    st.caption("The most typical factorization in focus first, then the ones that differ most.")
gallery_view.bases(look, rows, names, difference, "gallery")
