"""Groups of observations by strongest component, and their stability."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.samples import (
    in_groups,
    reconstruction_cosines,
    sample_groups,
    sample_shares,
)
from bnmf_core.core.names import numbered, percent
from bnmf_core.findings.regrouped import groups_of
from bnmf_core.numerics.linalg import evenly_spaced
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain

# Most optima, or factorizations without known optima, that are compared by groups.
MOST = 200
# Observations of the consensus matrix, evenly spaced over the groups.
MOST_PAIRED = 240
# Rows of the table of changing observations.
MOST_SHOWN = 200


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of observations in one factorization and in others.

    A (D, R), W (R, N). shares : (R, N). groups : (N,), order : (N,) group by group.
    others : (m, N), the groups of m factorizations, by components matched with these.
    what : description of these, such as "60 optima".
    """

    A: np.ndarray
    W: np.ndarray
    shares: np.ndarray
    groups: np.ndarray
    order: np.ndarray
    others: np.ndarray
    what: str

    @property
    def steady(self) -> np.ndarray:
        """(N,) fraction of the others that agree on an observation's group."""
        return np.asarray((self.others == self.groups).mean(axis=0))


def of(look: Lens, row: int) -> Grouping:
    """The grouping of a member, cached with the comparison."""
    comparison = look.analysis
    what = "optima" if comparison.optima.any() else "factorizations"
    # Components are numbered as in the first mode, which depends on the threshold.
    first = int(look.modes.representative[0])
    return _of(comparison.cache_key, row, first, what, comparison.grouped, look)


@st.cache_resource(max_entries=8, show_spinner=False)
def _of(
    cache_key: str, row: int, first: int, what: str, _members: np.ndarray, _look: Lens
) -> Grouping:
    A, W = (part[0] for part in _look.aligned_factors(np.array([row])))
    shares = sample_shares(A, W)
    members = _members[evenly_spaced(_members.size, MOST)]
    of_all = np.array([groups_of(_look.analysis, int(other), A) for other in members])
    groups = sample_groups(shares)
    return Grouping(A, W, shares, groups, in_groups(shares), of_all, f"{len(members)} {what}")


def some_of(found: Grouping) -> np.ndarray:
    """Observations of the consensus matrix, in order of groups."""
    return found.order[evenly_spaced(found.order.size, MOST_PAIRED)]


def table(look: Lens, found: Grouping, called: list[str]) -> pd.DataFrame:
    """A row per observation: its group, the group's stability, and every share."""
    dataset = look.analysis.seen_dataset
    names = numbered(called, len(found.W))
    rows = pd.DataFrame(
        {
            "observation": dataset.observations,
            "group": [names[g] if g >= 0 else "none" for g in found.groups],
            f"same group in {found.what}": found.steady,
            "cosine of its reconstruction": reconstruction_cosines(dataset, found.A, found.W),
        }
    )
    for r, name in enumerate(names):
        rows[f"share of {name}"] = found.shares[r]
        rows[f"weight of {name}"] = found.W[r]
    for label, values in dataset.labels.items():
        rows[label] = values
    return rows.iloc[found.order].reset_index(drop=True)


def shares_table(rows: pd.DataFrame, called: str, share: str) -> None:
    """A table in which one column, ``share``, is drawn as bars from 0 to 100 %."""
    bars = st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100)
    shown = rows.assign(**{share: 100 * rows[share]})
    view.table(shown, called, column_config={share: bars}, height=300)


def unsteady(look: Lens, found: Grouping, called: list[str]) -> None:
    """A table of the observations that change group most."""
    steady = found.steady
    doubted = np.argsort(steady, kind="stable")[: int((steady < 1).sum())]
    st.header("Observations that change group", anchor=False)
    if not doubted.size:
        st.caption(plain(f"None does: all {found.what} agree on every observation."))
        return
    names = numbered(called, len(found.W))
    listed = doubted[:MOST_SHOWN]
    second = [_second(found, n) for n in listed]
    rows = pd.DataFrame(
        {
            "observation": [look.analysis.seen_dataset.observations[n] for n in listed],
            "group": [names[found.groups[n]] for n in listed],
            "same group": steady[listed],
            "else most often": [names[r] if r >= 0 else "none" for r in second],
        }
    )
    shown = f" The first {MOST_SHOWN} are listed." if doubted.size > MOST_SHOWN else ""
    st.caption(
        plain(
            f"{doubted.size:,} of {steady.size:,} do in at least one of {found.what}. Each is in "
            f"the same group in {percent(steady.min())} of them or more. Components are matched "
            f"with those above.{shown}"
        )
    )
    shares_table(rows, "Observations that change group", "same group")


def _second(found: Grouping, n: int) -> int:
    """The most frequent other group of each observation."""
    away = found.others[found.others[:, n] != found.groups[n], n]
    return int(np.bincount(away + 1).argmax()) - 1 if away.size else -1
