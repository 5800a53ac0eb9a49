"""Stein, mixture and stacking weights of modes, compared with posterior masses."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import stacking, stein
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import clear_winner
from bnmf_core.core.names import in_digits, percent
from bnmf_core.rrt.analysis import variational
from pages.frame.lens import Lens

# Weight of one mode above which the mixture counts as that mode.
CERTAIN = 0.99


def of_modes(look: Lens, table: pd.DataFrame) -> tuple[dict[str, list[str]], list[str]]:
    """Title → Stein, mixture or stacking weights of every mode, if available.

    Also sentences on missing weights, and on contradictions to the posterior masses of
    ``table``, a row per mode.
    """
    of_title, sentences = {}, []
    for title, stage, weights in (
        ("Stein weight", stein.STAGE, _stein_weights),
        ("mixture weight", variational.STAGE, _mixture_weights),
    ):
        if not stage.ready(look.analysis):
            continue
        found = weights(look.analysis.cache_key, look.analysis)
        if isinstance(found, str):
            sentences.append(found)
        else:
            of_mode = np.bincount(look.modes.labels, found, minlength=look.modes.count)
            of_title[title] = list(map(percent, of_mode))
            sentences.append(contradiction(title, of_mode, table))
    found = stacking.STAGE.perhaps(look.analysis)
    stacked = None if found is None else _stacked(look.analysis.cache_key, look.modes.labels, found)
    if found is not None and stacked is not None:
        of_title["stacking weight"] = list(map(percent, stacked))
        sentences.append(
            stacking_sentence(stacked, table, lambda mode: found.gain(look.modes.labels, mode))
        )
    return of_title, [sentence for sentence in sentences if sentence]


@st.cache_data(max_entries=32, show_spinner=False)
def _stacked(cache_key: str, labels: np.ndarray, _found: stacking.Stacking) -> np.ndarray | None:
    return _found.of_modes(labels)


def stacking_sentence(
    of_mode: np.ndarray, table: pd.DataFrame, gain: Callable[[int], tuple[float, float]]
) -> str:
    """Describe stacking weights (K,), and their gain over the most probable mode.

    gain : of a mode, gain in nats of the mixture over it alone, and its standard error.
    """
    favoured = int(of_mode.argmax())
    sentence = (
        "Stacking weights are those of the mixture of modes that predicts held-out entries best; "
        f"mode {favoured + 1} has {percent(of_mode[favoured])}."
    )
    weighed = bool(table["mass"].notna().sum() > 1) and clear_winner(table) is not None
    alone = int(np.nanargmax(table["mass"])) if weighed else favoured
    nats, error = gain(alone)
    if of_mode[alone] >= CERTAIN or not np.isfinite(error):
        return sentence
    which = f"mode {alone + 1} alone" + ", the most probable," * weighed
    if nats <= 2 * error:
        return (
            f"{sentence} It predicts no better than {which} by more than chance leaves "
            f"({nats:.2g} ± {error:.2g} nats), so these weights prefer no mode."
        )
    better = f"{in_digits(nats)} ± {in_digits(error, '.2g')} nats"
    return (
        f"{sentence} It predicts better than {which} by {better}: the mass "
        "says how probable a mode is under the model, the weight what it adds to a prediction."
    )


def contradiction(title: str, of_mode: np.ndarray, table: pd.DataFrame) -> str:
    """A sentence if weights (K,) and masses prefer different modes; else ""."""
    if table["mass"].notna().sum() < 2 or clear_winner(table) is None:
        return ""
    favoured, heaviest = int(of_mode.argmax()), int(np.nanargmax(table["mass"]))
    if favoured == heaviest:
        return ""
    return (
        f"The largest {title} is that of mode {favoured + 1}, the largest posterior mass that of "
        f"mode {heaviest + 1}. The weights are those of single factorizations, the mass counts all "
        "of a mode: it tells which mode is probable."
    )


@st.cache_data(max_entries=32, show_spinner=False)
def _stein_weights(cache_key: str, _analysis: Comparison) -> np.ndarray | str:
    """Stein weights of the members, or why there are none."""
    part = stein.STAGE.of(_analysis).part("interior", "suggested")
    if isinstance(part, str):
        return ""
    if part.too_far(part.weights):
        return (
            "Stein weights are not shown: these factorizations are too far from the posterior for "
            "them to be meaningful."
        )
    return part.weights


@st.cache_data(max_entries=32, show_spinner=False)
def _mixture_weights(cache_key: str, _analysis: Comparison) -> np.ndarray | str:
    """Average weights in the runs' mixtures, or why there are none."""
    weights = variational.STAGE.of(_analysis).weights(_analysis.members)
    return "" if weights is None else weights
