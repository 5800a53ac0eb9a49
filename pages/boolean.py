"""Boolean: which tiles of a binary matrix are supported."""

import streamlit as st

from bnmf_core.boolean.analysis import tiles
from pages.boolean_parts import cells, entries, ranks, selection, table, thresholds
from pages.boolean_parts import tiles as of_tiles
from pages.frame import choosing, guard, link, panel, view
from pages.frame.words import plain

VIEWS = {
    "table": ("The table", table.show),
    "tiles": ("Tiles", of_tiles.show),
    "cells": ("Cells", cells.show),
    "entries": ("Rows and columns", entries.show),
    "thresholds": ("Thresholds", thresholds.show),
    "ranks": ("Ranks", ranks.show),
}

guard.enter("boolean")
looks = panel.runs_by_rank(tiles.STAGE)
problems = {rank: tiles.STAGE.of(look.analysis).problem for rank, look in looks.items()}
if all(problems.values()):
    view.nothing(next(iter(problems.values())), "data", "run")
with st.sidebar:
    seen = selection.choose(looks)
first, *others = seen.sentences
if seen.sampled:
    others.append(
        "Sizes, counts and thresholds are of the mean over the most probable chain, shares over "
        f"all {seen.members}."
    )
st.markdown(f"**{plain(first)}**")
if others:
    st.caption(plain(" ".join(others)))
titles = {key: title for key, (title, _) in VIEWS.items()}
VIEWS[choosing.part("What is shown", titles)][1](seen)
link.to("lessons", "Lesson: three numbers between no and yes", lesson="yes_no")
