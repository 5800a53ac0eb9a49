"""The texts with the largest shares of one topic, with its words marked."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from bnmf_core.compare.excerpts import excerpt
from bnmf_core.compare.samples import typical_samples
from bnmf_core.compare.topics import RELEVANCE, top_indices
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered, percent
from bnmf_core.numerics.matrix import dense
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.samples_parts.grouping import Grouping

# Most texts, marked words of the topic, letters of a label; words of a text.
TEXTS, MARKED, LABEL, LISTED = 10, 30, 40, 20


def show(look: Lens, found: Grouping, called: list[str], chosen: int | None) -> None:
    """A fold for texts; it shows the ``chosen`` topic, or the first."""
    if look.analysis.dataset.of_words:
        draw = partial(_texts, look, found, called, chosen)
        view.fold(f"{TEXTS} texts of one topic", "texts_fold", draw)


def _texts(look: Lens, found: Grouping, called: list[str], chosen: int | None) -> None:
    dataset, r = look.analysis.seen_dataset, chosen or 0
    best = top_indices(found.A, MARKED, RELEVANCE)[r]
    words = {dataset.features[d].lower() for d in best[best >= 0]}
    hint = "" if chosen is not None else " Choose another one under Component, on the left."
    what = "" if dataset.texts is not None else ", by their most frequent words"
    st.markdown(
        plain(
            f"Texts with the largest shares of component {numbered(called)[r]}{what}. Its "
            f"{MARKED} most relevant words are marked. Very short texts are left out.{hint}"
        )
    )
    first, shares = typical_samples(found.A, found.W, TEXTS)[r], found.shares[r]
    with st.container(key="own_texts"):  # words of the glossary are not underlined in them
        st.markdown("\n\n".join(_entry(dataset, int(n), shares[n], words) for n in first))


def _entry(dataset: Dataset, n: int, share: float, words: set[str]) -> str:
    """A text as Markdown: its share, name and labels above its excerpt."""
    labels = [str(values[n])[:LABEL] for values in dataset.labels.values()]
    head = " · ".join(filter(None, [dataset.observations[n], *labels]))
    pieces = _pieces(dataset, n, words)
    return f"**{plain(percent(share))}** {plain(head)}  \n:small[{marked(pieces)}]"


def _pieces(dataset: Dataset, n: int, words: set[str]) -> list[tuple[str, bool]]:
    """An excerpt of a text; without texts its most frequent words."""
    if dataset.texts is not None:
        return excerpt(dataset.texts[n], words)
    column = dense(dataset.X[:, [n]]).ravel()
    found = [dataset.features[d] for d in np.argsort(-column, kind="stable")[:LISTED] if column[d]]
    return [piece for word in found for piece in ((word, word.lower() in words), (" ", False))]


def marked(pieces: Sequence[tuple[str, bool]]) -> str:
    """Pieces of a text as escaped Markdown, with some of them marked.

    An invisible character separates them, so that no two form markup together.
    """
    return "\N{WORD JOINER}".join(
        [f":orange-background[{plain(piece)}]" if mark else plain(piece) for piece, mark in pieces]
    )
