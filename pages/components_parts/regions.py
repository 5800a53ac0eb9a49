"""What is proved of the components, and where those of two or three may lie."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.feasible import Feasible, Region, region
from bnmf_core.compare.knowledge import knowledge
from bnmf_core.compare.uniqueness import Uniqueness, uniqueness, uniqueness_said
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.names import numbered
from bnmf_core.figures.determined import feasible_regions
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain, shown

TITLE = "Unique, or could each component be another?"
KNOWN = "How far each component may turn, by what is known"
TOLERANCES = {"0": "none", "1": "1 %", "3": "3 %", "10": "10 %"}


def show(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    """A fold: certificates of the first factorization, and its regions where it has few parts."""
    if look.analysis.of_tiles or look.analysis.rank < 2:
        return
    fold = st.expander(TITLE, key="regions_fold", on_change="rerun")
    if view.is_open(fold):
        with fold:
            _unfolded(look, rows, names)


def _unfolded(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    A, W = (part.astype(float) for part in look.aligned_factors(rows))
    called = numbered(look.notes.components(A[0]))
    kept = look.analysis.kept_under
    st.markdown(f"**{plain(uniqueness_said(_proved(kept, int(rows[0]), look), called))}**")
    st.caption(
        plain(
            f"Of {names[0]}, and of its fit AW alone: other factorizations that fit nearly as well "
            "are not excluded."
        )
    )
    if look.analysis.rank != 3:
        return
    left, right = st.columns(2)
    with left:
        negative = st.segmented_control(
            "Negative entries allowed",
            list(TOLERANCES),
            default="0",
            required=True,
            format_func=shown(TOLERANCES),
            key="regions_tolerance",
            help="Entries may be below 0 by this part of the mean, as noise would leave them.",
        )
    with right:
        locked = st.pills(
            "Lock a component",
            range(3),
            format_func=lambda r: plain(called[r]),
            key="regions_lock",
            help="It stays where it is, or where a place of its region is picked; the regions of "
            "the others shrink.",
        )
    try:
        feasible = Feasible.of(A[0], W[0], float(negative) / 100)
        _regions(look, feasible, int(rows[0]), A, names, called, locked)
    except BNMFError as error:
        view.problem(error)


def _regions(
    look: Lens,
    feasible: Feasible,
    row: int,
    A: np.ndarray,
    names: list[str],
    called: list[str],
    locked: int | None,
) -> None:
    # A place belongs to one component of one factorization.
    held, at = {}, f"regions_at_{look.analysis.kept_under}_{row}_{locked}"
    if locked is not None:
        own = feasible.places(np.eye(3))[locked]
        held = {locked: np.array(st.session_state.get(at, own))}
    found = region(feasible, held)
    places = {name: feasible.places_of(other) for name, other in zip(names[1:], A[1:], strict=True)}
    others = {name: place for name, place in places.items() if place is not None}

    def picked(points: list[dict[str, object]]) -> None:
        if locked is not None and points[-1].get("customdata") is not None:
            st.session_state[at] = points[-1]["customdata"]

    view.chart(
        feasible_regions(feasible, found, look.notes.components(A[0]), others, held),
        _reading(found, called, locked),
        name="regions",
        origin=look.origin,
        table=lambda: _places(found),
        select=("points",),
        on_select=picked,
    )
    known = _known(look.analysis.kept_under, row, feasible.tolerance, called, feasible)
    st.markdown(f"**{KNOWN}**")
    view.table(known, KNOWN)


def _reading(found: Region, called: list[str], locked: int | None) -> str:
    free = [r for r in range(3) if r != locked]
    told = ", ".join(f"{called[r]} can turn by up to {found.angle[r]:.0f}°" for r in free)
    together = " Grey places may be more than one of them." * bool((found.of == 3).any())
    held = "" if locked is None else f" while {called[locked]} is locked"
    return (
        f"Every triangle of coloured places that holds the data fits equally well: component "
        f"{told}{held}.{together}"
    )


@st.cache_data(max_entries=32, show_spinner="Trying what else may be known …")
def _known(
    kept_under: str, row: int, tolerance: float, called: list[str], _feasible: Feasible
) -> pd.DataFrame:
    """Degrees by which each component may turn."""
    rows = knowledge(_feasible, called)
    turns = pd.DataFrame([turn for _, turn in rows], columns=[f"{name} (°)" for name in called])
    turns.insert(0, "known", [known for known, _ in rows])
    return turns.round(1)


def _places(found: Region) -> pd.DataFrame:
    x, y = np.meshgrid(found.x, found.y)
    inside = found.of >= 0
    return pd.DataFrame({"x": x[inside], "y": y[inside], "component": found.of[inside] + 1})


@st.cache_data(max_entries=32, show_spinner=False)
def _proved(kept_under: str, row: int, _look: Lens) -> Uniqueness:
    A, W = (part[0].astype(float) for part in _look.aligned_factors(np.array([row])))
    return uniqueness(A, W)
