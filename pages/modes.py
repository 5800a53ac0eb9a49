"""Modes: how many different explanations do the data have, how different, how probable?"""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import islands
from bnmf_core.figures.factorization_map import factorization_map
from bnmf_core.figures.mode_count import mode_count, mode_counts
from bnmf_core.figures.mode_share import mode_share
from pages.frame import focusing, guard, panel, view
from pages.frame.words import plain
from pages.modes_parts import findings, tables, triangles
from pages.parts import bases
from pages.parts.answer import Answer

guard.enter("modes")
look = panel.look(islands.STAGE)
found = Answer.of(look)
left, right = st.columns([4, 3], gap="medium")
with left:
    points, kept = look.structure.projection(look.metric)
    figure = factorization_map(
        points,
        look.analysis.members,
        look.modes.labels,
        look.modes.representative,
        look.styles,
        look.focus,
        look.distance.label,
        look.distance.unit,
        kept,
    )
    event = view.chart(
        figure,
        look.reading(
            "Each point is one whole factorization; near points are alike. Draw a lasso or a box "
            "to look at some of them; circles mark each mode's most typical one."
        ),
        name="map",
        origin=look.origin,
        table=look.analysis.members.assign(
            mode=look.modes.labels + 1, x=points[:, 0], y=points[:, 1]
        ),
        select=view.MARKS,
    )
    focusing.on_selection(event, "map")
with right:
    findings.say(found)
tables.mode_table(look, found.table, findings.weights(look))

st.subheader(f"In focus: {plain(look.focus_name)}", anchor=False)
rows, names = look.shown(4)
bases.show(look, rows, names, "modes_gallery")

left, right = st.columns(2, gap="medium")
with left:
    share = tables.share_by_run(look)
    view.chart(
        mode_share(share, look.styles),
        "A method whose bar fills a single mode was nowhere else: a chain may be stuck in it, or "
        "the posterior may lie there.",
        name="share",
        origin=look.origin,
        table=share,
    )
with right:
    tables.stability(look, rows[0], names[0])
left, right = st.columns(2, gap="medium")
with left:
    findings.show_belief(look, found)
with right:
    findings.show_discovery(look, found)
left, right = st.columns(2, gap="medium")
with left:
    linkage = np.asarray(look.structure.linkage(look.metric))
    heights, counts = mode_counts(linkage)
    view.chart(
        mode_count(linkage, look.modes.threshold, look.distance.label, look.distance.unit),
        "A long flat step is a number of modes that does not hang on the exact threshold; the "
        "dashed line is the threshold in use.",
        name="mode_count",
        origin=look.origin,
        table=pd.DataFrame({"threshold": heights, "modes": counts}),
    )
triangles.show(look)
