"""Typical observations, changes of group between modes, and consensus."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.samples import (
    consensus_matrix,
    cophenetic_correlation,
    group_changes,
    typical_samples,
    undetermined,
)
from bnmf_core.core.names import listed, numbered
from bnmf_core.figures.gallery import basis_images
from bnmf_core.figures.samples import consensus_picture, group_flow
from bnmf_core.findings.regrouped import groups_of
from bnmf_core.findings.spreads import with_standing
from bnmf_core.numerics.matrix import dense
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts.answer import Answer
from pages.samples_parts.grouping import Grouping, shares_table, some_of

# Observations per component, and named features of each.
IMAGES, NAMED, FEATURES = 5, 4, 4


def typical(look: Lens, found: Grouping, called: list[str]) -> None:
    """The observations with the largest shares of each component."""
    dataset = look.analysis.seen_dataset
    names = numbered(called, len(found.W))
    few = undetermined(dataset, len(found.W))
    chosen = typical_samples(found.A, found.W, IMAGES if dataset.image_shape else NAMED, few)
    _name(dataset.observations[n] for n in np.flatnonzero(few))
    rows = pd.DataFrame(
        [
            {
                "component": names[r],
                "observation": dataset.observations[n],
                "share": found.shares[r, n],
                "strongest there": ", ".join(_strongest(look, found.A[:, r], int(n))),
            }
            for r, few in enumerate(chosen)
            for n in few
        ]
    )
    if dataset.image_shape is not None:
        images = np.stack([dense(dataset.X[:, few]) for few in chosen.T])
        ranks = [f"{i + 1}." for i in range(len(images))]
        view.chart(
            basis_images(
                images, dataset.image_shape, ranks, title="Most typical observations", called=called
            ),
            "The observations with the largest share of each component, in decreasing order.",
            name="typical",
            origin=look.origin,
            table=rows,
        )
        return
    st.header("Most typical observations", anchor=False)
    shares_table(rows, "Most typical observations", "share")


def _name(undetermined: Iterable[str]) -> None:
    """Name observations with too few observed entries."""
    names = list(undetermined)
    if not names:
        return
    more = len(names) - NAMED
    shown = listed(names[:NAMED]) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"
    st.caption(
        plain(
            f"Of {shown} fewer entries were seen than there are components: their weights are not "
            "determined, and they are typical of nothing."
        )
    )


def _strongest(look: Lens, component: np.ndarray, n: int) -> list[str]:
    """The features to which the component contributes most in an observation."""
    dataset = look.analysis.seen_dataset
    score = dense(dataset.X[:, [n]]).ravel() * component
    best = np.argsort(-score, kind="stable")[:FEATURES]
    return [dataset.features[d] for d in best if score[d] > 0]


def changes(look: Lens, found: Grouping, row: int, called: list[str]) -> None:
    """The flow of observations from the groups of a member to those of another mode."""
    own = look.modes.labels[row]
    optima = look.analysis.optima[look.modes.representative]
    numbers = [k + 1 for k in range(look.modes.count) if optima[k] and k != own]
    if not numbers:
        st.header("One mode", anchor=False)
        st.caption("The restarts found one mode, so no observation changes group between modes.")
        return
    standing = with_standing(Answer.of(look).table, look.mode_names)
    numbers.sort(key=lambda number: standing[number - 1] != look.mode_names[number - 1])
    link.one_of("with", numbers)
    k = (
        st.selectbox(
            "Compared with",
            numbers,
            format_func=lambda number: standing[number - 1],
            key=link.key("with"),
        )
        - 1
    )
    link.share("with")
    second = groups_of(look.analysis, int(look.modes.representative[k]), found.A)
    flow = group_changes(found.groups, second, len(found.W))
    name = standing[own] if look.analysis.optima[row] else look.name(row)
    names = (name, standing[k])
    i, j = np.nonzero(flow)
    view.chart(
        group_flow(flow, names, called),
        "Grey stays; colour changes group. Components are matched with those of the first.",
        name="changes",
        origin=look.origin,
        table=pd.DataFrame({names[0]: i + 1, names[1]: j + 1, "observations": flow[i, j]}),
    )


def consensus(look: Lens, found: Grouping) -> None:
    """How often two observations are in one group."""
    some = some_of(found)
    together = consensus_matrix(found.others[:, some])
    correlation = cophenetic_correlation(together)
    few = "" if some.size == found.order.size else f" {some.size} observations, evenly spaced."
    names = [look.analysis.seen_dataset.observations[n] for n in some]
    view.chart(
        consensus_picture(together, found.groups[some], found.what),
        "How often two observations are in one group: blocks on the diagonal are groups that most "
        f"agree on. Cophenetic correlation: {correlation:.3f}.{few}",
        name="consensus",
        origin=look.origin,
        table=lambda: pd.DataFrame(together, columns=names).assign(observation=names),
    )
