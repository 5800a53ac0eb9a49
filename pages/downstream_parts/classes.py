"""Scores of the classes of a label, independent of focus and threshold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.downstream import Scores
from bnmf_core.compare.downstream import (
    best_per_task,
    standard_error,
    winners,
    winners_that_suffice,
)
from pages.frame.words import plain


@dataclass(frozen=True)
class Classes:
    """The classes of a label, in order of their dependence on the factorization.

    scores : a row per factorization and class, as :class:`Scores` has them. spread : by class its
    least, median and largest AUC. best : a row per class, the best factorization and its AUC.
    tied : by class how many are as good. suffice : how many factorizations have, together, a best
    one of every class. chance : by class the standard error of the median AUC that the choice of
    observations makes.
    """

    scores: pd.DataFrame
    spread: pd.DataFrame
    best: pd.DataFrame
    tied: pd.Series
    suffice: int
    chance: pd.Series


@st.cache_resource(max_entries=16, show_spinner=False)
def of(cache_key: str, label: str, _found: Scores) -> Classes:
    """The cached classes of a comparison; do not modify them."""
    chosen = _found.table[_found.table["label"] == label]
    scored = chosen.rename(columns={"member": "particle"})
    spread = chosen.groupby("task")["auc"].agg(["min", "median", "max"])
    spread = spread.loc[(spread["min"] - spread["max"]).sort_values(kind="stable").index]
    median = spread["median"]
    positive = chosen.groupby("task")["n_positive"].first().reindex(median.index)
    errors = standard_error(median.to_numpy(), positive, positive.sum() - positive)
    if len(errors) == 2:  # one area, seen from either class: the larger of its two approximations
        errors = np.full(2, np.max(errors))
    return Classes(
        chosen.set_index("task").loc[spread.index].reset_index(),
        spread,
        best_per_task(scored).set_index("task")[["particle", "auc"]],
        winners(scored).groupby("task").size(),
        winners_that_suffice(scored),
        pd.Series(errors, index=median.index),
    )


def rests_on(holdout: float, of_label: Classes, details: Sequence[str]) -> None:
    """A list of facts on the AUC: held-out observations, standard error, and ``details``."""
    scored = (
        f"Scores are on the {holdout:.0%} of the observations that were kept from every "
        "factorization. Their weights are solved with A fixed."
        if holdout
        else "Five-fold cross-validation, the same folds for all. The factorizations had seen all "
        "observations, but no label. Hold observations out on the page Analyse for scores on "
        "unseen ones."
    )
    chance = (
        "Bars and points leave out chance in the observations: it gives an AUC a standard error "
        f"of {of_label.chance.min():.2g} to {of_label.chance.max():.2g} here."
    )
    classifier = (
        "One multinomial logistic regression per factorization, on standardized weights with "
        "scikit-learn's default penalty (ℓ2, C = 1). The AUC compares a class with all others."
    )
    order = "Classes that depend most on the factorization come first."
    st.markdown(
        "\n".join(f"- {plain(words)}" for words in (scored, classifier, chance, order, *details))
    )
