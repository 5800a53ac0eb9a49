"""Certificates of uniqueness, and feasible regions of two or three components."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.feasible import Feasible, Region, region, shape_bands
from bnmf_core.compare.knowledge import describe_region, groups_of, knowledge
from bnmf_core.compare.uniqueness import Uniqueness, describe_uniqueness, uniqueness
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.names import numbered
from bnmf_core.figures import determined
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain, shown

TITLE = "Unique, or could each component be another?"
KNOWN = "How far each component may turn, by what is known"
TOLERANCES = {"0": "none", "1": "1 %", "3": "3 %", "10": "10 %"}


def show(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    """A fold: certificates of the first factorization, and its feasible regions at low rank."""
    if look.analysis.of_tiles or look.analysis.rank < 2:
        return
    fold = st.expander(TITLE, key="regions_fold", on_change="rerun")
    if view.is_open(fold):
        with fold:
            _unfolded(look, rows, names)


def _unfolded(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    A, W = (part.astype(float) for part in look.aligned_factors(rows))
    called, R = numbered(look.notes.components(A[0])), A.shape[2]
    proved = _proved(look.analysis.cache_key, int(rows[0]), look)
    st.markdown(f"**{plain(describe_uniqueness(proved, called))}**")
    st.caption(
        plain(
            f"Of {names[0]}, and of its fit AW alone: other factorizations that fit nearly as well "
            "are not excluded."
        )
    )
    if R > 3:
        return
    left, right = st.columns(2)
    negative = left.segmented_control(
        "Negative entries allowed",
        list(TOLERANCES),
        default="0",
        required=True,
        format_func=shown(TOLERANCES),
        key="regions_tolerance",
        help="Entries may be below 0 by this share of the mean, to allow for noise.",
    )
    locked = None
    if R == 3:
        locked = right.pills(
            "Lock a component",
            range(3),
            format_func=lambda r: plain(called[r]),
            key="regions_lock",
            help="It is held where it is, or at the point that you pick in its region; the "
            "regions of the others shrink.",
        )
    try:
        feasible = Feasible.of(A[0], W[0], float(negative) / 100)
        found = _regions(look, feasible, int(rows[0]), A, names, locked)
        _shapes(look, feasible, found, describe_region(found, called, locked))
    except BNMFError as error:
        view.problem(error)
        return
    known = _known(look.analysis.cache_key, int(rows[0]), feasible.tolerance, called, look)
    st.markdown(f"**{KNOWN}**")
    view.table(known, KNOWN)


def _regions(
    look: Lens,
    feasible: Feasible,
    row: int,
    A: np.ndarray,
    names: list[str],
    locked: int | None,
) -> Region:
    """Three components in the plane; the user places a locked one inside its region."""
    # A position belongs to one component of one factorization.
    held, at = {}, f"regions_at_{look.analysis.cache_key}_{row}_{locked}"
    if locked is not None:
        own = feasible.places(np.eye(3))[locked]
        held = {locked: np.array(st.session_state.get(at, own))}
    found = region(feasible, held)
    if feasible.R == 2:
        return found
    places = {name: feasible.places_of(other) for name, other in zip(names[1:], A[1:], strict=True)}
    others = {name: place for name, place in places.items() if place is not None}
    called = look.notes.components(A[0])

    def picked(points: list[dict[str, object]]) -> None:
        if locked is not None and points[-1].get("customdata") is not None:
            st.session_state[at] = points[-1]["customdata"]

    view.chart(
        determined.feasible_regions(feasible, found, called, others, held),
        describe_region(found, numbered(called), locked),
        name="regions",
        origin=look.origin,
        table=lambda: pd.DataFrame(found.places, columns=["x", "y"]).assign(component=found.of + 1),
        select=("points",),
        on_select=picked,
    )
    return found


def _shapes(look: Lens, feasible: Feasible, found: Region, turning: str) -> None:
    dataset = look.analysis.dataset
    lower, upper = shape_bands(feasible, found)
    called = look.notes.components(feasible.A)
    reading = (
        "Each line may lie anywhere in its band, but entries move together: not every combination "
        "fits."
    )
    ends = {"smallest": lower, "shown": feasible.A, "largest": upper}
    view.chart(
        determined.shape_bands(dataset.features, lower, feasible.A, upper, called, dataset.axis),
        reading if feasible.R == 3 else f"{turning} {reading}",
        name="shapes",
        origin=look.origin,
        table=lambda: pd.DataFrame(
            {
                f"component {name}, {end}": values[:, r]
                for r, name in enumerate(numbered(called))
                for end, values in ends.items()
            },
            index=pd.Index(dataset.features, name=dataset.feature_noun),
        ).reset_index(),
    )


@st.cache_data(max_entries=32, show_spinner="Computing the effect of further assumptions …")
def _known(
    cache_key: str, row: int, tolerance: float, called: list[str], _look: Lens
) -> pd.DataFrame:
    """Degrees by which each component may turn."""
    A, W = _look.aligned_factors(np.array([row]))
    groups = groups_of(_look.analysis.dataset.labels)
    rows = knowledge(A[0].astype(float), W[0].astype(float), called, groups, tolerance)
    turns = pd.DataFrame([turn for _, turn in rows], columns=[f"{name} (°)" for name in called])
    turns.insert(0, "known", [known for known, _ in rows])
    return turns.round(1)


@st.cache_data(max_entries=32, show_spinner=False)
def _proved(cache_key: str, row: int, _look: Lens) -> Uniqueness:
    A, W = (part[0].astype(float) for part in _look.aligned_factors(np.array([row])))
    return uniqueness(A, W)
