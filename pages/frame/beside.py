"""A page that stands side by side with another: what is the same there, and what is in focus there.

Numbers of components and of modes are each side's own. So that one can be found on the other, those
of the left side are lettered, and keep their letters wherever something like them is shown.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import streamlit as st

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.named import Named
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import cross
from bnmf_core.compare.modes import Modes
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.store.notes import COMPONENT, MODE, Note
from pages.frame import focusing, link
from pages.frame.services import runner
from pages.frame.words import plain

EVERYTHING = "all"
# Modes that have letters, and whose components have.
MOST_MODES = 8
_FOLLOWED = "focus_followed"


@dataclass(frozen=True, eq=False)
class Side:
    """What one side looks at."""

    analysis: Comparison
    modes: Modes


def stands() -> bool:
    """Whether this page stands beside another one."""
    return bool(link.get("beside"))


def named(here: Side, names: Named) -> Named:
    """These names, and letters for what has none of them; the same as they are elsewhere."""
    side = _side(link.get("lettered"), here)
    if not stands() or side is None:
        return names
    known = [f"{note.id} {note.created}" for note in names.notes]
    letters = _letters(side.analysis.kept_under, side.modes.representative, known, side, names)
    return Named((*names.notes, *letters))


@st.cache_data(max_entries=16, show_spinner=False)
def _letters(
    kept_under: str, representative: np.ndarray, known: list[str], _side: Side, _names: Named
) -> list[Note]:
    """Letters for what has no name on a side: its analysis, its modes, the notes."""
    rows = representative[:MOST_MODES]
    letters: list[Note] = []
    for column in np.concatenate(_side.analysis.aligned(rows), axis=1).T:
        if len(letters) == len(ascii_lowercase):
            break
        if Named((*_names.notes, *letters)).of_components(column[:, None]) == [None]:
            letters.append(_note(COMPONENT, ascii_lowercase[len(letters)], column))
    bases = _side.analysis.bases(rows)
    of_modes = _names.of_modes(_side.analysis, _side.modes)
    letters += [
        _note(MODE, letter, basis)
        for letter, basis, note in zip(ascii_uppercase, bases, of_modes, strict=False)
        if note is None
    ]
    return letters


def follow(here: Side, metric: str) -> None:
    """Bring into focus what is most like that which has come into focus on the other side."""
    there = link.get("there")
    if not stands() or there is None or there == st.session_state.get(_FOLLOWED):
        return
    st.session_state[_FOLLOWED] = there
    if there == EVERYTHING:
        link.put("focus", "")
        return
    side = _side(link.get("beside"), here)
    found = "" if side is None else _like(side, there, here, metric)
    link.put("focus", found)
    if not found:
        limit = f"{here.modes.threshold:.3g}{DISTANCES[metric].unit}"
        st.caption(plain(f"Here is nothing within {limit} of what is in focus on the other side."))


def _side(runs: Sequence[str] | None, here: Side) -> Side | None:
    """What these runs show at the same distance and threshold; None while that is not known."""
    if not runs or set(runs) == set(here.analysis.run_ids):
        return here if runs else None
    try:
        analysis = runner().analyse(list(runs), structure.STAGE.key)
    except BNMFError:
        return None
    metric, threshold = link.get("metric"), here.modes.threshold
    ours, theirs = here.analysis.runs[0], analysis.runs[0]
    same = (ours.dataset, ours.spec.rank) == (theirs.dataset, theirs.spec.rank)
    if not same or metric not in analysis.metrics:
        return None
    if not structure.STAGE.ready(analysis):
        _wait(analysis)
        return None
    return Side(analysis, structure.modes_at(analysis, metric, threshold))


@st.fragment(run_every=2.0)
def _wait(analysis: Comparison) -> None:
    """Draw the page again when the other side is there to be compared with."""
    if structure.STAGE.ready(analysis):
        st.rerun()


def _like(there: Side, focus: str, here: Side, metric: str) -> str:
    """The focus here that is most like one on the other side; "" where nothing is near it."""
    mode = focusing.mode_of(focus)
    theirs = np.flatnonzero(focusing.among(there.modes, focus))
    ours = np.arange(len(here.analysis.members))
    if mode is not None:
        theirs, ours = there.modes.representative[[mode]], here.modes.representative
    factors = there.analysis.factors(theirs), here.analysis.factors(ours)
    apart = cross(*factors[0], *factors[1], DISTANCES[metric]).min(axis=0)
    near = apart <= here.modes.threshold
    if mode is not None:
        return f"mode:{apart.argmin() + 1}" if near.any() else ""
    return focusing.of_rows(ours[near])


def _note(kind: str, name: str, A: np.ndarray) -> Note:
    return Note("", kind, name, "", np.asarray(A, dtype=np.float64), time.time())
