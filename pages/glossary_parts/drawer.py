"""The glossary in a drawer, opened from the heading of every page."""

import streamlit as st

from bnmf_core.core.papers import cited
from pages.frame import declared, link
from pages.frame.words import plain
from pages.glossary_parts.terms import terms


def button() -> None:
    """The button that opens the drawer."""
    if st.button(
        "Glossary",
        icon=":material/dictionary:",
        type="tertiary",
        key="glossary",
    ):
        _drawer()


@st.dialog("Glossary", width="medium")
def _drawer() -> None:
    query = st.text_input("Find", placeholder="a word, such as posterior", max_chars=60)
    found = [term for term in terms() if term.holds(query)]
    if not found:
        st.info(plain(f"No term has {query!r} in its name or its meaning; try a shorter word."))
    for term in found:
        with st.container(border=True):
            source = f"  \n:small[{plain(term.source)}]" if term.source else ""
            st.markdown(f"**{plain(term.name)}**  \n{plain(term.about)}{source}")
            link.to(term.page, declared.page(term.page).title)
    if works := cited("; ".join(term.source for term in found)):
        st.caption("References:\n\n" + "\n".join(f"- {plain(work)}" for work in works))
