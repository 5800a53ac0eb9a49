"""Boolean: which tiles of a table of yes and no can be believed."""

import streamlit as st

from bnmf_core.analysis import tiles
from pages.boolean_parts import cells, entries, looked, table, thresholds
from pages.boolean_parts import tiles as of_tiles
from pages.frame import guard, link, panel, view
from pages.frame.words import plain, shown

VIEWS = {
    "table": ("The table", table.show),
    "tiles": ("Tiles", of_tiles.show),
    "cells": ("Cells", cells.show),
    "entries": ("Rows and columns", entries.show),
    "thresholds": ("Thresholds", thresholds.show),
}

guard.enter("boolean")
look = panel.runs_alone(tiles.STAGE)
found = tiles.STAGE.of(look.analysis)
if found.problem:
    view.nothing(found.problem, "data", "run")
with st.sidebar:
    run_id = looked.choose(look, found)
seen = looked.at(look, found, run_id)
first, *others = seen.sentences
st.markdown(f"**{plain(first)}**")
if others:
    st.caption(plain(" ".join(others)))
link.one_of("part", VIEWS)
titles = {key: title for key, (title, _) in VIEWS.items()}
st.segmented_control(
    "What is shown",
    list(titles),
    key=link.key("part"),
    required=True,
    format_func=shown(titles),
    label_visibility="collapsed",
)
link.share("part")
VIEWS[link.get("part")][1](seen)
