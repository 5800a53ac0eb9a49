"""Manual exploration: the user locks components or moves entries, and the others are solved.

On the page Components, for the factorization in focus.
"""

from collections.abc import Callable

import numpy as np
import streamlit as st

from bnmf_core.analysis.by_hand import Exploration
from bnmf_core.compare.topics import RELEVANCE, top_indices
from bnmf_core.core.names import clean_name, numbered
from bnmf_core.figures.bases import named_table
from bnmf_core.figures.gallery import basis_images
from pages.frame import declared, link, view
from pages.frame.lens import Lens
from pages.frame.options import pick_one
from pages.frame.services import place
from pages.frame.words import plain
from pages.parts import hand_amounts, hand_held, hand_moved, make_study

# Allowed relative rises of the error.
RISES = {"0.1": "0.1 %", "1": "1 %", "3": "3 %", "10": "10 %"}
WORDS = 3
_FOLD = "by_hand_fold"


def show(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    """The fold, for the first of these factorizations; entries of tiles are at most 1."""
    if look.analysis.of_tiles or look.analysis.rank < 2 or not rows.size:
        return
    row = int(rows[0])
    st.session_state.setdefault(_FOLD, bool(link.get("lock") or link.get("moved")))
    words = "By hand: bound contributions, hold components, move entries"
    fold = st.expander(words, key=_FOLD, on_change="rerun")
    if view.is_open(fold):
        with fold:
            _unfolded(look, row, names[0])
    link.share(*declared.BY_HAND)


def _unfolded(look: Lens, row: int, name: str) -> None:
    own, above = look.analysis.aligned([row]), look.aligned(np.array([row]))
    numbers = "have the numbers of its picture" if np.array_equal(own, above) else "stand by size"
    st.markdown(f"Of **{plain(name)}**, the first factorization shown above; components {numbers}.")
    if not look.analysis.optima[row]:
        st.caption(
            "It is not known to have converged. Before entries are moved it is taken on to "
            "the optimum next to it."
        )
    link.one_of("rise", RISES, "1")
    pick_one(
        "The error may rise by",
        RISES,
        key=link.key("rise"),
        help=f"{plain(look.analysis.fit.loss.axis)} may be larger by this part of itself: of an "
        "error of 0.2, 1 % is 0.002. Where the fit is better than 0.001, by this part of 0.001.",
    )
    labels = component_labels(look, row)
    _pictures(look, row)
    names = ["Contributions", "Hold components", "Move entries"]
    asked = names[2 if link.get("moved") else 1 if link.get("lock") else 0]
    amounts, held, moved = st.tabs(names, default=asked)
    with amounts:
        hand_amounts.show(look, row, labels)
    with held:
        hand_held.show(look, row, labels)
    with moved:
        hand_moved.show(look, row, labels)


def _pictures(look: Lens, row: int) -> None:
    """The components as pictures, if features are pixels."""
    shape = look.analysis.dataset.image_shape
    if shape is not None:
        basis, name = look.analysis.aligned([row]), look.name(row)
        title = "Components of this factorization"
        figure = basis_images(basis, shape, ["component"], title=title)
        view.chart(
            figure,
            "Each on its own grey scale: bright is high.",
            name="by_hand",
            origin=look.origin,
            table=lambda: named_table(look.analysis.dataset.features, basis, [name]),
        )


def component_labels(look: Lens, row: int) -> dict[str, str]:
    """Labels of components: numbers, with their strongest features if these have names."""
    dataset = look.analysis.dataset
    A = look.analysis.aligned([row])[0]
    called = numbered(look.notes.components(A))
    numbers = {str(r + 1): name for r, name in enumerate(called)}
    if dataset.image_shape is not None or not dataset.named or dataset.of_words:
        return numbers
    if dataset.axis is not None:
        peaks = [dataset.features[d] for d in A.argmax(axis=0)]
        return {
            number: f"{name} · largest at {peak}"
            for (number, name), peak in zip(numbers.items(), peaks, strict=True)
        }
    return {
        number: f"{numbers[number]} · "
        + ", ".join(clean_name(dataset.features[d], 16) for d in strongest if d >= 0)
        for number, strongest in zip(numbers, top_indices(A, WORDS, RELEVANCE), strict=True)
    }


def explore(work: Exploration, button: str, name: str, draw: Callable[[], None]) -> None:
    """Partial results of an exploration, its progress, and buttons that start or cancel it."""
    status = place().status(work)
    if status.active:
        make_study.follow(work, name, draw)
        return
    if status.status != "complete":
        make_study.start(work, button, name)
    if work.damaged:
        st.warning(plain(work.damaged))
    if status.status == "failed":
        view.problem(status.message)
    if status.status == "cancelled":
        st.caption("It was cancelled; what was made is kept, and it goes on from there.")
    draw()
