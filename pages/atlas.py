"""Atlas: published data sets, analysed with default settings."""

import streamlit as st

from pages.atlas_parts import one, whole
from pages.frame import guard, link
from pages.frame.words import plain
from pages.parts import starting
from studies.atlas.findings import shipped
from studies.atlas.sources import SOURCES
from studies.result import full

guard.enter("atlas")
starting.open_started()
study, measured = full("atlas"), shipped()
names = {key: SOURCES[key].label for key in [*measured, *(SOURCES.keys() - measured.keys())]}
requested = st.query_params.get("problem")
link.one_of("problem", names)
if requested and requested not in names:
    st.warning(plain(f"The atlas has no data set “{requested}”; choose one below."))
choice, way = st.columns(2, vertical_alignment="bottom")
chosen = choice.selectbox("Data", names, key=link.key("problem"), format_func=names.get)
link.share("problem")
with way:
    one.ask(SOURCES[chosen], measured.get(chosen, []))
if study is not None:
    whole.show(study, measured, chosen)
    one.show(SOURCES[chosen], measured.get(chosen, []))
