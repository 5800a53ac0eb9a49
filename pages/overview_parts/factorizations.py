"""Every factorization as a point, and the shares of modes in each run."""

import streamlit as st

from bnmf_core.analysis.mode_table import share_by_run
from bnmf_core.figures.factorizations import factorization_map, left_out
from bnmf_core.figures.modes import mode_share
from bnmf_core.share.pictures import ON_MAP, SHARED
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.overview_parts import map_of_modes, triangles
from pages.parts.answer import Answer


def show(look: Lens, _found: Answer) -> None:
    """The map coloured by run, the shares, and triangles at rank 3."""
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
            look.analysis.measure,
        )
        view.chart(
            figure,
            look.reading(f"{ON_MAP} Draw a lasso or a box to select.{left_out(stress)}"),
            name="factorizations",
            origin=look.origin,
            table=lambda: map_of_modes.placed(look, points),
            select=view.MARKS,
            on_select=focusing.selected(look.modes),
        )
    with right:
        share = share_by_run(look.analysis, look.modes)
        view.chart(
            mode_share(share, look.styles),
            SHARED,
            name="share",
            origin=look.origin,
            table=look.named(share),
        )
    triangles.show(look)
