"""Modes: how many different explanations do the data have, how different, how probable?"""

import streamlit as st

from bnmf_core.analysis import islands
from bnmf_core.analysis.answer import share_by_run
from bnmf_core.figures.factorization_map import factorization_map, left_out
from bnmf_core.figures.mode_share import mode_share
from bnmf_core.share.pictures import ON_MAP, SHARED
from pages.frame import focusing, guard, hints, panel, view
from pages.frame.words import plain
from pages.modes_parts import findings, tables, triangles
from pages.parts import bases, by_hand, naming
from pages.parts.answer import Answer

guard.enter("modes")
look = panel.look(islands.STAGE)
hints.show("modes")
found = Answer.of(look)
left, right = st.columns([4, 3], gap="medium")
with left:
    points, stress = look.structure.projection(look.metric)
    figure = factorization_map(
        points,
        look.analysis.members,
        look.modes.labels,
        look.modes.representative,
        look.styles,
        look.focus,
        look.distance.label,
        look.distance.unit,
    )
    event = view.chart(
        figure,
        look.reading(f"{ON_MAP} Draw a lasso or a box to look at some of them.{left_out(stress)}"),
        name="map",
        origin=look.origin,
        table=lambda: look.named(look.analysis.members).assign(
            mode=look.modes.labels + 1, x=points[:, 0], y=points[:, 1]
        ),
        select=view.MARKS,
    )
    focusing.on_selection(event, "map")
with right:
    findings.say(found)
tables.mode_table(look, found.table, *findings.weights(look, found.table))

st.header(f"In focus: {plain(look.focus_name)}", anchor=False)
rows, names = look.shown(4)
bases.show(look, rows, names, "modes_gallery")

left, right = st.columns(2, gap="medium")
with left:
    share = share_by_run(look.analysis, look.modes)
    view.chart(
        mode_share(share, look.styles),
        SHARED,
        name="share",
        origin=look.origin,
        table=look.named(share),
    )
with right:
    tables.stability(look, rows[0], names[0])
columns = st.columns(2, gap="medium")
for number, show in enumerate(findings.behind(look, found)):
    with columns[number % 2]:
        show()
triangles.show(look)
naming.show(look)
by_hand.show(look)
