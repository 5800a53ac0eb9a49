"""Mean shares of components in each class of a label."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.classes import (
    FEWEST,
    ClassShares,
    class_chances,
    class_shares,
    describe_typical,
)
from bnmf_core.compare.samples import sample_shares
from bnmf_core.core.names import numbered
from bnmf_core.figures.topics import class_map
from bnmf_core.findings.spreads import counting
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts.answer import Answer

# Most drawn classes, the most frequent ones, and most compared modes.
MOST, MODES = 40, 12


def show(look: Lens, row: int, called: list[str], label: str) -> None:
    """The fold."""
    view.fold(
        f"Components by {label}", "classes_fold", partial(_by_class, look, row, called, label)
    )


def modes_of(look: Lens, row: int) -> np.ndarray:
    """A member, and the representatives of the other relevant modes."""
    counts = counting(Answer.of(look).table)[1]
    others = [int(look.modes.representative[k]) for k in np.flatnonzero(counts)]
    own = look.modes.labels[row]
    return np.array([row, *(k for k in others if look.modes.labels[k] != own)][:MODES])


def _by_class(look: Lens, row: int, called: list[str], label: str) -> None:
    rows = modes_of(look, row)
    found, each, chances = _classes(look.analysis.cache_key, tuple(map(int, rows)), label, look)
    if len(found.classes) < 2:
        st.caption(plain(f"The label {label} has one class."))
        return
    names = numbered(called, len(found.mean))
    reading = describe_typical(found, chances, names)
    several = found.counts >= FEWEST
    if len(rows) > 1 and several.any():
        differing = np.where(several, abs(each - each[0]), 0.0)
        k, i, j = np.unravel_index(np.argmax(differing), differing.shape)
        reading += (
            f" Between modes that count a mean share differs by up to {100 * differing.max():.0f} "
            f"percentage points: component {names[i]} in {found.classes[j]}, in "
            f"{look.mode_names[look.modes.labels[rows[k]]]}."
        )
    few = ClassShares(
        found.classes[:MOST], found.counts[:MOST], found.mean[:, :MOST], found.outside[:, :MOST]
    )
    left_out = len(found.classes) - len(few.classes)
    view.chart(
        class_map(few, label, called),
        reading + (f" {left_out:,} rarer classes are not drawn." if left_out else ""),
        name="classes",
        origin=look.origin,
        table=pd.DataFrame(found.mean.T, columns=names).assign(
            **{"class": found.classes, "observations": found.counts}
        ),
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _classes(
    cache_key: str, rows: tuple[int, ...], label: str, _look: Lens
) -> tuple[ClassShares, np.ndarray, np.ndarray]:
    """Shares of the first member, means (K, R, C) of all members, and p-values (R,)."""
    shares = sample_shares(*_look.aligned_factors(np.array(rows)))
    labels = _look.analysis.seen_dataset.labels[label]
    found = class_shares(shares, labels)
    first = ClassShares(found.classes, found.counts, found.mean[0], found.outside[0])
    return first, found.mean, class_chances(shares[0], labels)
