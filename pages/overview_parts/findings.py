"""The findings in sentences, and the export."""

import streamlit as st

from bnmf_core.findings import other_noise
from bnmf_core.findings.facts import say
from pages.frame import declared, link
from pages.frame.lens import Lens
from pages.frame.services import store
from pages.frame.words import plain
from pages.parts import settled, sharing
from pages.parts.answer import Answer


def show(look: Lens, found: Answer) -> None:
    """The findings, each with its uncertainty and a link to the page of its picture."""
    for finding in found.findings:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            with st.container():
                st.markdown(f"**{plain(finding.sentence)}**")
                if finding.doubt:
                    st.caption(plain(finding.doubt))
            if finding.page != "overview":
                with st.container(width=140):
                    link.to(finding.page, declared.page(finding.page).title)
    if beside := say(other_noise.of_modes(store(), look.analysis)):
        st.markdown(plain(beside))
    settled.show(look)
    sharing.show(found)
