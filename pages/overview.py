"""Overview: how many explanations do the data have, and which can be believed?"""

import streamlit as st

from bnmf_core.analysis import islands
from pages.frame import declared, guard, hints, link, panel
from pages.frame.words import plain
from pages.overview_parts import tiles, whole
from pages.parts import settled, sharing
from pages.parts.answer import Answer

guard.enter("overview")
look = panel.look(islands.STAGE)
found = Answer.of(look)
left, right = st.columns([6, 5], gap="medium")
with left:
    whole.show(look, found)
with right:
    tiles.show(look, found)
found.wait()
hints.show("overview")
st.header("What was found", anchor=False)
for finding in found.findings:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container():
            st.markdown(f"**{plain(finding.said)}**")
            if finding.doubt:
                st.caption(plain(finding.doubt))
        with st.container(width=140):
            link.to(finding.page, declared.page(finding.page).title)
settled.show(look)
sharing.show(found)
