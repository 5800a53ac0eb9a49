"""Tables that stand beside the map of modes."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import answer, chains
from bnmf_core.compare.alignment import component_stability
from bnmf_core.nouns.names import clean_name, numbered
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.frame.words import NATS, plain, with_unit

# Pixels of a column of names, at most.
WIDEST_NAME = 180


def mode_table(
    look: Lens, table: pd.DataFrame, weights: dict[str, list[str]], said: Sequence[str]
) -> None:
    """One row per mode; choosing one puts it into focus.

    ``weights`` : title → what other weights say of every mode. ``said`` : sentences
    about these.
    """
    found = look.notes.of_modes(look.analysis, look.modes)
    shown = pd.DataFrame(
        {
            "mode": table["mode"] + 1,
            "name": [note.name if note else "" for note in found],
            "found by": 100 * table["found_by"],
            "below the best": table["below_best"],
            "posterior mass": [answer.mass_in_words(mode) for _, mode in table.iterrows()],
            "draws": 100 * table["draws"],
            "best error": table["best_error"],
            "factorizations": table["size"],
            "spread": table["spread"],
            "nearest": table["nearest"],
            **weights,
            "note": [clean_name(note.text) if note else "" for note in found],
        }
    )
    shown = shown.drop(columns=[key for key in ("name", "note") if not any(shown[key])])
    event = view.table(
        shown.dropna(axis=1, how="all"),
        "Modes",
        height=min(38 + 35 * len(shown), 250),
        key="mode_table",
        on_select="rerun",
        selection_mode="single-row",
        column_config=_columns(shown, look.distance.unit),
    )
    st.caption(
        "Found by, below the best and posterior mass are three different things: how wide a mode's "
        "basin is, how good its best factorization is, and how probable it is. Tick a row to put "
        "that mode into focus here and on the other pages."
    )
    for sentence in said:
        st.caption(plain(sentence))
    rows = event["selection"]["rows"]
    focusing.on_change("mode_row", f"mode:{rows[0] + 1}" if rows else "")


def _columns(shown: pd.DataFrame, unit: str) -> dict[str, object]:
    """How the columns of modes look, and what they mean."""
    # As many decimals as the largest distance needs for three digits: what is far smaller is 0.
    largest = np.nanmax(shown[["spread", "nearest"]].to_numpy(float), initial=1e-9)
    distance = f"%.{max(0, 2 - math.floor(math.log10(largest)))}f"
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    longest = max(map(len, shown["name"])) if "name" in shown else 0
    return {
        "mode": number(width=50),
        "name": text(width=min(24 + 7 * longest, WIDEST_NAME)),
        "found by": number(
            format="%.0f %%",
            width=70,
            help="Share of the converged restarts that ended in this mode: how wide its basin is. "
            "It says nothing of how probable the mode is.",
        ),
        "draws": number(
            format="%.0f %%",
            width=60,
            help="Share of the samplers' draws. A chain that never leaves a mode shows 100 % "
            "there, whatever the mode weighs.",
        ),
        "below the best": number(
            "log joint below best (nats)",
            format="%.1f",
            width=150,
            help="Its height: how far the log joint of its best factorization is below that of the "
            "best of all. Which fits best is judged by the likelihood alone, without the prior. "
            f"{plain(NATS)}",
        ),
        "posterior mass": text(
            width=12 + 8 * max(14, *shown["posterior mass"].map(len)),
            help="The probability of the mode: how much of the posterior lies in it. In brackets "
            "where it lies with 90 %, given the error of the evidences.",
        ),
        "Stein weight": text(
            width=110,
            help="Sum of the Stein weights of its factorizations, no probability: a Stein "
            "discrepancy sees neither a missing mode nor how much of the posterior lies in one. "
            "See Fit and weights, Weights.",
        ),
        "mixture weight": text(
            width=110,
            help="Weight of its factorizations in the mixture of Gaussians with the highest "
            "bound, no probability: a mixture weighs what it was shown, see the page Mixture.",
        ),
        "factorizations": number(width=98, help="Of all runs together, restarts and draws."),
        "spread": number(
            plain(with_unit("spread", unit)),
            width=75,
            format=distance,
            help="Largest distance of its factorizations to the representative.",
        ),
        "nearest": number(
            plain(with_unit("nearest", unit)),
            width=82,
            format=distance,
            help="Distance to the closest other mode.",
        ),
        "best error": number(
            format="%.4f",
            width=84,
            help="‖X − AW‖ / ‖X‖ of its best factorization: 0 fits everything, 1 nothing.",
        ),
    }


def stability(look: Lens, row: int, name: str) -> None:
    """How much each component of a factorization varies over the optima in focus, or the draws.

    ``row`` : of the members, the first of the pictures above, whose numbers components have.
    ``name`` : what it is called there.
    """
    # As modes are made of optima, and draws lie about theirs by what the posterior allows.
    optima, draws = look.focus & look.analysis.optima, look.focus & ~look.analysis.optima
    # Optima of one mode are all the same; what the data leave open there, draws tell.
    alone = np.unique(look.modes.labels[optima]).size <= 1 and draws.any()
    verdicts = chains.STAGE.perhaps(look.analysis)
    unsettled = [] if verdicts is None else [verdict.run for verdict in verdicts.unsettled]
    draws &= ~look.analysis.members["run"].isin(unsettled).to_numpy()
    drawn = look.analysis.members["algorithm"].isin(look.analysis.exact_samplers)
    kind = "draw" if drawn[draws].all() else "factorization"
    counted, what = (draws, kind) if alone else (optima, "converged factorization")
    rows = np.flatnonzero(counted if counted.any() else look.focus)
    if rows.size > 1:  # a component says nothing by its angle to itself
        rows = rows[rows != row]
    table = _stability(look.analysis.kept_under, row, tuple(rows.tolist()), look)
    title = "Which components can be trusted?"
    st.subheader(title, anchor=False)
    called = numbered(look.notes.components(look.aligned(np.array([row]))[0]))
    st.markdown(plain(_least_and_most(table["max_angle"], called)))
    st.markdown(
        f":small[Angle between each component of {plain(name)}, numbered as in its picture, and "
        f"its partner in every other {plain(what)} in focus. Small everywhere: the data insist on "
        "this component.]"
    )
    table = table.assign(component=called).round(2)
    names = {"mean_angle": "mean angle (°)", "max_angle": "largest angle (°)"}
    view.table(table.rename(columns=names), title, height=min(38 + 35 * len(table), 260))


@st.cache_data(max_entries=32, show_spinner=False)
def _stability(kept_under: str, row: int, rows: tuple[int, ...], _look: Lens) -> pd.DataFrame:
    """How far components of these members are from those of one of them."""
    reference = _look.aligned(np.array([row]))[0]
    A = _look.analysis.bases(rows)
    weights = _look.analysis.members["weight"].to_numpy()[list(rows)]
    return component_stability(A, reference, weights=weights)


def _least_and_most(angles: pd.Series, called: Sequence[str]) -> str:
    """Which component is nearest to its partners, and which farthest."""
    best, worst = angles.idxmin(), angles.idxmax()
    least, most = f"{angles[best]:.2g}°", f"{angles[worst]:.2g}°"
    if least == most:
        return f"All components are up to {most} from their partners."
    return (
        f"Component {called[best]} is at most {least} from its partners, component {called[worst]} "
        f"up to {most}."
    )
