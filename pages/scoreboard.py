"""Scoreboard: which method did best, and at what?"""

import streamlit as st

from bnmf_core.findings.facts import say
from bnmf_core.findings.groups import groups_found
from pages.frame import guard, panel
from pages.frame.words import plain
from pages.parts import unfinished
from pages.scoreboard_parts import board_of, differing

guard.enter("scoreboard")
look = panel.look(meanwhile=unfinished.show)
board, names = board_of.ask(look)
st.markdown(f"**{plain(say(groups_found(board, names)))}**")
board_of.table(look, board, names)
differing.show(look, board, names)
board_of.wait(look)
