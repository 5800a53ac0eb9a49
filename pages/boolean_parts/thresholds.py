"""Binarization: the exact error at every threshold."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.boolean.figures.thresholds import AGAINST, pair_chart, threshold_chart
from bnmf_core.boolean.thresholds import PAIR_GRID, best_thresholds, errors_at
from pages.boolean_parts.selection import Selection
from pages.frame import view
from pages.frame.words import plain


def show(seen: Selection) -> None:
    """One threshold for all entries, and one for each factor."""
    curves = seen.run.curves
    against = next(name for name in ("truth", "hidden", "seen") if name in curves)
    at, errors = curves[against]
    best = best_thresholds(at, errors)
    st.markdown(plain(_sentence(against, best, int(errors.min()), int(errors_at(at, errors, 0.5)))))
    left, right = st.columns(2)
    with left:
        view.chart(
            threshold_chart(curves, best, against),
            "Entries of mean factors above the threshold count as yes. Shaded: every threshold "
            "with the fewest wrong cells, which need not be one interval. Against the table as it "
            "is, this is a training error.",
            name="thresholds",
            origin=seen.look.origin,
            table=pd.DataFrame({"threshold": at, "wrong cells": errors}),
        )
    with right:
        view.chart(
            pair_chart(seen.run.pairs[against], PAIR_GRID),
            f"Against {AGAINST[against]}. {_marked(seen.run.pairs[against])}",
            name="two_thresholds",
            origin=seen.look.origin,
            table=_by_pairs(seen.run.pairs[against]),
        )


def _by_pairs(errors: np.ndarray) -> pd.DataFrame:
    """Wrong cells (G, G) of every pair of thresholds, one below the other."""
    of_A, of_W = np.meshgrid(PAIR_GRID, PAIR_GRID, indexing="ij")
    return pd.DataFrame(
        {
            "threshold for A": of_A.ravel(),
            "threshold for W": of_W.ravel(),
            "wrong cells": errors.ravel(),
        }
    )


def _marked(errors: np.ndarray) -> str:
    ties = int((errors == errors.min()).sum())
    if ties == 1:
        return "The cross marks the fewest."
    return f"Crosses mark the fewest, which {ties:,} pairs of thresholds have."


def _sentence(against: str, best: list[tuple[float, float]], fewest: int, at_half: int) -> str:
    where = " and ".join(f"{low:.3f} to {min(high, 1.0):.3f}" for low, high in best[:4])
    more = f" and {len(best) - 4} more intervals" if len(best) > 4 else ""
    return (
        f"Against {AGAINST[against]}, {fewest:,} cells are wrong at the best thresholds, {where}"
        f"{more}; at ½ there are {at_half:,}."
    )
