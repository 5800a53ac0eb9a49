"""The table of modes, and its pictures."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.core.names import clean_name
from bnmf_core.findings.modes import mass_in_words
from bnmf_core.share import pictures
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.frame.words import NATS, plain, with_unit
from pages.overview_parts import thresholds, weights
from pages.parts import naming
from pages.parts.answer import Answer

# Largest width of a column of names in pixels.
WIDEST_NAME = 180


def show(look: Lens, found: Answer) -> None:
    """The table of modes, what their masses depend on, and the estimated number of modes."""
    unsettled = found.verdicts is not None and found.verdicts.settled is False
    _table(look, found.table, *weights.of_modes(look, found.table), unsettled)
    drawn: list[Callable[[], None]] = []
    weighed, unseen = found.evidence, found.unseen
    if weighed is not None and len(weighed.powers) >= 2 and not found.one_family:
        masses = pictures.likelihood_power(weighed, look.modes, look.mode_names)
        drawn.append(lambda: view.picture(masses, look.origin))
    if unseen is not None and unseen.restarts >= 2:
        drawn.append(lambda: view.picture(pictures.discovery(unseen), look.origin))
    drawn.append(lambda: thresholds.show(look))
    columns = st.columns(2, gap="medium")
    for number, draw in enumerate(drawn):
        with columns[number % 2]:
            draw()
    naming.show(look)


def _table(
    look: Lens,
    table: pd.DataFrame,
    weights: dict[str, list[str]],
    sentences: Sequence[str],
    unsettled: bool,
) -> None:
    """One row per mode; a selected one is in focus.

    ``weights`` : title → other weights of every mode. ``sentences`` : on
    these weights. ``unsettled`` : some chains have not mixed.
    """
    found = look.notes.of_modes(look.analysis, look.modes)
    explains = look.analysis.explains
    shown = pd.DataFrame(
        {
            "mode": table["mode"] + 1,
            "name": [note.name if note else "" for note in found],
            "found by": 100 * table["found_by"],
            "below the best": table["below_best"],
            "posterior mass": [mass_in_words(mode) for _, mode in table.iterrows()],
            "draws": 100 * table["draws"],
            "best error": 100 * (1 - table["best_error"]) if explains else table["best_error"],
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
        column_config=_columns(
            shown,
            look.distance.unit,
            unsettled,
            (look.analysis.measure_axis, look.analysis.measure_ends),
            f"best {look.analysis.measure_heading}" if explains else "best error",
        ),
    )
    st.caption(
        "Found by, below the best and posterior mass measure three things: the size of a mode's "
        "basin of attraction, how well its best factorization fits, and how probable it is. Tick "
        "a row to show this mode on every page."
    )
    for sentence in sentences:
        st.caption(plain(sentence))
    rows = event["selection"]["rows"]
    focusing.on_change("mode_row", f"mode:{rows[0] + 1}" if rows else "")


def _columns(
    shown: pd.DataFrame, unit: str, unsettled: bool, measured: tuple[str, str], best: str
) -> dict[str, object]:
    """Formats and help texts of the columns.

    ``measured`` : the kind of error, and its range. ``best`` : name of the best error.
    """
    # Decimals for three digits of the largest distance.
    largest = np.nanmax(shown[["spread", "nearest"]].to_numpy(float), initial=1e-9)
    distance = f"%.{max(0, 2 - math.floor(math.log10(largest)))}f"
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    longest = max(map(len, shown["name"])) if "name" in shown else 0
    return {
        "mode": number(width=50),
        "name": text(width=min(24 + 7 * longest, WIDEST_NAME)),
        "found by": number(
            format="%.1f %%",
            width=70,
            help="Share of the converged restarts that ended in this mode: the size of its basin "
            "of attraction. It is not the probability of the mode.",
        ),
        "draws": number(
            "draws, not settled" if unsettled else "draws",
            format="%.1f %%",
            width=130 if unsettled else 60,
            help="Share of the samplers' draws. A chain that never leaves a mode gives 100 %, "
            "whatever the posterior mass.",
        ),
        "below the best": number(
            "log joint below best (nats)",
            format="%.1f",
            width=180,
            help="Its height: how far the log joint of its best factorization is below that of the "
            "best of all. Which fits best is judged by the likelihood alone, without the prior. "
            f"{plain(NATS)}",
        ),
        "posterior mass": text(
            width=12 + 8 * max(14, *shown["posterior mass"].map(len)),
            help="The probability of the mode: how much of the posterior lies in it, with a 90 % "
            "interval from the error of the evidences.",
        ),
        "Stein weight": text(
            width=110,
            help="Sum of the Stein weights of its factorizations. It is not a probability: a "
            "Stein discrepancy detects neither a missing mode nor the posterior mass of a mode. "
            "See Fit and weights.",
        ),
        "mixture weight": text(
            width=110,
            help="Weight of its factorizations in the mixture of Gaussians with the highest "
            "bound. It is not a probability; see the page Mixture.",
        ),
        "factorizations": number(width=98, help="Of all runs together: restarts and draws."),
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
            best,
            format="%.4f" if best == "best error" else "%.2f %%",
            width=24 + 7 * len(best),
            help=plain(f"{measured[0]} of its best factorization: {measured[1]}."),
        ),
    }
