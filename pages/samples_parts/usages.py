"""Shares of one component in each class, and agreement of modes."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.classes import class_chances, class_shares, describe_usage
from bnmf_core.compare.samples import sample_shares
from bnmf_core.core.names import numbered
from bnmf_core.figures.usages import usage_boxes
from bnmf_core.findings import verdicts
from pages.components_parts.brought import modes_of
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import labelled
from pages.parts.answer import Answer
from pages.samples_parts.grouping import Grouping

# Most drawn classes, the most frequent ones; most compared modes.
MOST_CLASSES, MOST_MODES = 24, 4


def show(look: Lens, found: Grouping, classes: list[str], chosen: int, called: list[str]) -> None:
    """A fold: boxes of a component in each class, and a sentence."""
    frequent = pd.Series(classes).value_counts().index[:MOST_CLASSES]
    shown = sorted(str(name) for name in frequent if name)
    if len(shown) < 2:
        return
    fold = st.expander("Shares by class", key="usages_fold", on_change="rerun")
    if view.is_open(fold):
        with fold:
            _unfolded(look, found, classes, shown, chosen, called)


def _unfolded(
    look: Lens,
    found: Grouping,
    classes: list[str],
    shown: list[str],
    chosen: int,
    called: list[str],
) -> None:
    names = numbered(called, len(found.W))
    r = st.selectbox(
        "Component",
        range(len(names)),
        index=chosen,
        format_func=labelled(dict(enumerate(names))),
        key=f"usages_component_{chosen}",
    )
    rows, others = look.shown(MOST_MODES, modes=verdicts.leading(Answer.of(look)))
    A, W = look.aligned_factors(rows)
    by_class = class_shares(sample_shares(A, W), np.array(classes))
    means = dict(zip(by_class.classes, np.moveaxis(by_class.mean, -1, 0), strict=True))
    chance = class_chances(found.shares, np.array(classes))[r]
    view.chart(
        usage_boxes(
            found.shares[r], classes, shown, look.analysis.seen_dataset.observations, r, names[r]
        ),
        f"{describe_usage(means, r, modes_of(look, rows, others), float(chance))} A box holds the "
        "middle half, its line is the median, the dashed one the mean.",
        name="usages",
        origin=look.origin,
        table=lambda: _table(means, modes_of(look, rows, others), names),
    )


def _table(means: dict[str, np.ndarray], modes: list[str], names: list[str]) -> pd.DataFrame:
    """A row for each class and mode, with the mean share of every component."""
    return pd.DataFrame(
        [
            {"class": name, "mode": mode, **dict(zip(names, row, strict=True))}
            for name, of in means.items()
            for mode, row in zip(modes, of.tolist(), strict=True)
        ]
    )
