"""Glossary: what do the words on screen mean?"""

import streamlit as st

from bnmf_core.nouns.papers import cited
from pages.frame import declared, guard, link, view
from pages.frame.words import plain
from pages.glossary_parts.terms import terms

guard.enter("glossary")
asked = st.text_input("Find", placeholder="a word, such as posterior", max_chars=60)
found = [term for term in terms() if term.holds(asked)]
if not found:
    view.nothing(f"No term has {asked!r} in its name or its meaning; try a shorter word.")
for term in found:
    with st.container(border=True):
        words, where = st.columns([5, 1], vertical_alignment="center")
        source = f"  \n:small[{plain(term.source)}]" if term.source else ""
        words.markdown(f"**{plain(term.name)}**  \n{plain(term.about)}{source}")
        with where:
            link.to(term.page, declared.page(term.page).title)
if works := cited("; ".join(term.source for term in found)):
    st.caption(
        "The works that are named, in full:\n\n" + "\n".join(f"- {plain(work)}" for work in works)
    )
