"""Variation of each component over the factorizations in focus."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import chains, posterior, resampling
from bnmf_core.compare.alignment import component_stability
from bnmf_core.core.names import numbered
from bnmf_core.findings import spreads
from bnmf_core.findings.facts import say
from bnmf_core.share import pictures
from pages.frame import view, watch
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts.answer import Answer

TITLE = "Which components can be trusted?"


def show(look: Lens, found: Answer, row: int, name: str) -> None:
    """Angles between components of resampled data, and of the optima or draws in focus.

    ``found`` : what is known of the modes. ``row`` : of the members, the first of the pictures
    above, whose numbers components have. ``name`` : what it is called there.
    """
    turned = found.spreads
    drawn = turned is not None and bool(turned.farthest)
    if turned is not None and drawn:
        st.markdown(f"**{TITLE}**")
        view.picture(pictures.spreads(turned, look.mode_names), look.origin)
        st.markdown(plain(say(spreads.facts(turned), look.mode_names)))
    label = "Angles of every component" if drawn else TITLE
    fold = st.expander(label, key="stability_fold", on_change="rerun")
    if view.is_open(fold):
        with fold:
            if turned is not None:
                _wait_for_others(look)
            _unfolded(look, row, name, drawn)


def _wait_for_others(look: Lens) -> None:
    """Wait for the kinds of uncertainty that are not computed yet."""
    if look.passing:
        st.caption("Resampled data are solved when the other runs have ended.")
    elif watch.beside(look.analysis, resampling.STAGE, "How far resampled data turn components"):
        watch.beside(look.analysis, posterior.STAGE, "How far draws turn them")


def _unfolded(look: Lens, row: int, name: str, has_sentence: bool) -> None:
    """The table of angles, with a sentence unless the page ``has_sentence``."""
    # As modes are made of optima, and draws lie about theirs by what the posterior allows.
    optima, draws = look.focus & look.analysis.optima, look.focus & ~look.analysis.optima
    # Optima of one mode are all the same; what the data leave open there, draws tell.
    alone = np.unique(look.modes.labels[optima]).size <= 1 and draws.any()
    unsettled = chains.unsettled_runs(look.analysis)
    draws &= ~look.analysis.members["run"].isin(unsettled).to_numpy()
    drawn = look.analysis.members["algorithm"].isin(look.analysis.exact_samplers)
    kind = "draw" if drawn[draws].all() else "factorization"
    counted, what = (draws, kind) if alone else (optima, "converged factorization")
    rows = np.flatnonzero(counted if counted.any() else look.focus)
    if rows.size > 1:  # a component says nothing by its angle to itself
        rows = rows[rows != row]
    table = _stability(look.analysis.cache_key, row, tuple(rows.tolist()), look)
    called = numbered(look.notes.components(look.aligned(np.array([row]))[0]))
    if not has_sentence:
        st.markdown(plain(_least_and_most(table["max_angle"], called)))
    st.markdown(
        f":small[Angle between each component of {plain(name)}, numbered as in its picture, and "
        f"its partner in every other {plain(what)} in focus. Small everywhere: the data insist on "
        "this component.]"
    )
    table = table.assign(component=called).round(2)
    names = {"mean_angle": "mean angle (°)", "max_angle": "largest angle (°)"}
    view.table(table.rename(columns=names), TITLE, height=min(38 + 35 * len(table), 260))


@st.cache_data(max_entries=32, show_spinner=False)
def _stability(cache_key: str, row: int, rows: tuple[int, ...], _look: Lens) -> pd.DataFrame:
    """Angles of components of these members to those of one member."""
    reference = _look.aligned(np.array([row]))[0]
    A = _look.analysis.bases(rows)
    weights = _look.analysis.members["weight"].to_numpy()[list(rows)]
    return component_stability(A, reference, weights=weights)


def _least_and_most(angles: pd.Series, called: Sequence[str]) -> str:
    """A sentence on the components nearest to and farthest from their partners."""
    best, worst = angles.idxmin(), angles.idxmax()
    least, most = f"{angles[best]:.2g}°", f"{angles[worst]:.2g}°"
    if least == most:
        return f"All components are up to {most} from their partners."
    return (
        f"Component {called[best]} is at most {least} from its partners, component {called[worst]} "
        f"up to {most}."
    )
