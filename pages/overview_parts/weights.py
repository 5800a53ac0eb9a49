"""What Stein and mixture weights say of every mode, beside its posterior mass."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import stacking, stein
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import clear_winner
from bnmf_core.core.names import percent
from bnmf_core.posterior.stein import ksd
from bnmf_core.rrt.analysis import variational
from pages.frame.lens import Lens


def of_modes(look: Lens, table: pd.DataFrame) -> tuple[dict[str, list[str]], list[str]]:
    """Title → what Stein and mixture weights say of every mode, where they say something.

    And, in a sentence each, why others do not, and where they contradict the posterior masses of
    ``table``, a row per mode.
    """
    said, sentences = {}, []
    for title, stage, weights in (
        ("Stein weight", stein.STAGE, _stein_weights),
        ("mixture weight", variational.STAGE, _mixture_weights),
    ):
        if not stage.ready(look.analysis):
            continue
        found = weights(look.analysis.kept_under, look.analysis)
        if isinstance(found, str):
            sentences.append(found)
        else:
            of_mode = np.bincount(look.modes.labels, found, minlength=look.modes.count)
            said[title] = list(map(percent, of_mode))
            sentences.append(contradiction(title, of_mode, table))
    found = stacking.STAGE.perhaps(look.analysis)
    stacked = (
        None if found is None else _stacked(look.analysis.kept_under, look.modes.labels, found)
    )
    if stacked is not None:
        said["stacking weight"] = list(map(percent, stacked))
        sentences.append(stacked_said(stacked, table))
    return said, [sentence for sentence in sentences if sentence]


@st.cache_data(max_entries=32, show_spinner=False)
def _stacked(kept_under: str, labels: np.ndarray, _found: stacking.Stacking) -> np.ndarray | None:
    return _found.of_modes(labels)


def stacked_said(of_mode: np.ndarray, table: pd.DataFrame) -> str:
    """What stacking weights (K,) say, and that they differ from the masses where they do."""
    favoured = int(of_mode.argmax())
    said = (
        "Stacking weights are those of the mixture of modes that predicts hidden entries best; "
        f"mode {favoured + 1} has {percent(of_mode[favoured])}."
    )
    if table["mass"].notna().sum() < 2 or clear_winner(table) is None:
        return said
    heaviest = int(np.nanargmax(table["mass"]))
    if heaviest == favoured:
        return said
    return (
        f"{said} The largest posterior mass is that of mode {heaviest + 1}: the mass says which "
        "mode is probable under the model, the stacking weight which predicts."
    )


def contradiction(title: str, of_mode: np.ndarray, table: pd.DataFrame) -> str:
    """That weights (K,) prefer another mode than the masses do, and what counts; else nothing."""
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
def _stein_weights(kept_under: str, _analysis: Comparison) -> np.ndarray | str:
    """Stein weights of the members of the comparison kept under this, or why there are none."""
    part = stein.STAGE.of(_analysis).part("interior", "suggested")
    if isinstance(part, str):
        return ""
    if part.too_far(ksd(part.K, part.weights)):
        return (
            "Stein weights are left out: these factorizations are too far from the posterior for "
            "them to mean anything."
        )
    return part.weights


@st.cache_data(max_entries=32, show_spinner=False)
def _mixture_weights(kept_under: str, _analysis: Comparison) -> np.ndarray | str:
    """Weights in the runs' mixtures, on average over the runs, or that there are none."""
    weights = variational.STAGE.of(_analysis).weights(_analysis.members)
    return "" if weights is None else weights
