"""Modes: how many different explanations do the data have, how different, how probable?"""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.projection import simplex_projection
from bnmf_core.figures.factorization_map import factorization_map
from bnmf_core.figures.mode_count import mode_count, mode_counts
from bnmf_core.figures.mode_share import mode_share
from bnmf_core.figures.simplex import simplex_view
from bnmf_core.numerics.completion import completed
from pages.frame import focusing, guard, panel, view
from pages.frame.words import plain
from pages.modes_parts import tables
from pages.parts import bases

guard.enter("modes")
look = panel.look()
analysis, modes, distance = look.analysis, look.modes, look.distance
points, kept = look.structure.projection(look.metric)
tables.facts(look)

left, right = st.columns([4, 3], gap="medium")
with left:
    figure = factorization_map(
        points,
        analysis.members,
        modes.labels,
        modes.representative,
        look.styles,
        look.focus,
        distance.label,
        distance.unit,
        kept,
    )
    positions = analysis.members.assign(mode=modes.labels + 1, x=points[:, 0], y=points[:, 1])
    event = view.chart(
        figure,
        "Each point is one whole factorization; near points are alike. Draw a lasso or a box to "
        "look at some of them; circles mark each mode's most typical one.",
        name="map",
        origin=look.origin,
        table=positions,
        select=view.MARKS,
    )
    focusing.on_selection(event, "map")
with right:
    share = tables.share_by_run(look)
    tables.mode_table(look)
    view.chart(
        mode_share(share, look.styles),
        "A method whose bar fills a single mode has seen only that one.",
        name="share",
        origin=look.origin,
        table=share,
    )

st.subheader(f"In focus: {plain(look.focus_name)}", anchor=False)
rows, names = look.shown(4)
bases.show(look, rows, names, difference=False, name="modes_gallery")

left, right = st.columns(2, gap="medium")
with left:
    linkage = np.asarray(look.structure.linkage(look.metric))
    heights, counts = mode_counts(linkage)
    view.chart(
        mode_count(linkage, modes.threshold, distance.label, distance.unit),
        "A long flat step is a number of modes that does not hang on the exact threshold; the "
        "dashed line is the threshold in use.",
        name="mode_count",
        origin=look.origin,
        table=pd.DataFrame({"threshold": heights, "modes": counts}),
    )
with right:
    tables.stability(look)
if analysis.rank == 3:
    A, _ = analysis.factors(np.arange(len(analysis.members)))
    # What was not seen is no zero: the picture shows it as a product of rank 3 has it.
    data, corners = simplex_projection(completed(analysis.dataset, 3), A)
    view.chart(
        simplex_view(data, corners, analysis.members, look.styles, modes.representative),
        "Every factorization is a triangle around the data; different triangles around the same "
        "data are different explanations.",
        name="simplex",
        origin=look.origin,
        table=pd.DataFrame(corners.reshape(-1, 2), columns=["x", "y"]),
    )
