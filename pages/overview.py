"""Overview: how many explanations do the data have, and which can be believed?"""

import streamlit as st

from bnmf_core.analysis import islands
from pages.frame import choosing, guard, hints, panel
from pages.overview_parts import factorizations, findings, map_of_modes, mode_table, tiles
from pages.parts import unfinished
from pages.parts.answer import Answer

# Parts below the map and the verdicts, and their drawing functions.
EVIDENCE = {"findings": "What was found", "modes": "Modes", "factorizations": "Factorizations"}
DRAW = {"findings": findings.show, "modes": mode_table.show, "factorizations": factorizations.show}

guard.enter("overview")
look = panel.look(islands.STAGE, meanwhile=unfinished.components)
found = Answer.of(look)
left, right = st.columns([6, 5], gap="medium")
with left:
    map_of_modes.show(look, found)
with right:
    tiles.show(look, found)
found.wait()
hints.show("overview")
DRAW[choosing.part("Evidence", EVIDENCE)](look, found)
