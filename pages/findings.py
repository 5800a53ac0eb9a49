"""Findings: what was found, in at most nine sentences."""

import streamlit as st

from bnmf_core.analysis import islands
from pages.frame import declared, guard, hints, link, panel, view
from pages.frame.words import plain
from pages.parts import settled, sharing
from pages.parts.answer import Answer

guard.enter("findings")
look = panel.look(islands.STAGE)
hints.show("findings")
found = Answer.of(look)
for finding in found.findings:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container():
            st.markdown(f"**{plain(finding.said)}**")
            if finding.doubt:
                st.caption(plain(finding.doubt))
        with st.container(width=140):
            link.to(finding.page, declared.page(finding.page).title)
settled.show(look)
found.wait()
view.origin_line(look.origin)
sharing.show(found)
