"""Sessions: what did each run find, on shared axes?"""

import streamlit as st

from bnmf_core.analysis import chains
from bnmf_core.analysis.board import Board
from bnmf_core.compare.mixing import WARNING
from bnmf_core.findings.facts import say
from bnmf_core.findings.groups import groups_found
from bnmf_core.runs.launch import group_names
from pages.frame import guard, panel, watch
from pages.frame.words import plain
from pages.parts import naming, unfinished
from pages.sessions_parts import beside, columns

guard.enter("sessions")
look = panel.look(meanwhile=unfinished.show)
board = Board(look.analysis, look.metric, look.modes, look.modes.threshold)
found = columns.found(look, board)
columns.show(look, found)
names = group_names(look.analysis.runs, board.groups)
st.markdown(f"**{plain(say(groups_found(board, names)))}**")
if any(session.verdict for session in found):
    st.caption(plain(WARNING))
naming.of_runs(look)
beside.show(look)
watch.beside(look.analysis, chains.STAGE, chains.STAGE.label)
