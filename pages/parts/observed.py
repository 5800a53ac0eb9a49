"""Observations as images, curves, bars, words or a table."""

import numpy as np
import streamlit as st

from bnmf_core.compare.samples import sample_shares
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures import observations as seen
from bnmf_core.figures.samples import composition_table, sample_composition
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain

DRAWN = {seen.IMAGES: seen.sample_images, seen.MAP: seen.pixel_map}
SCALES = {
    seen.IMAGES: "White is the largest entry of all observations.",
    seen.MAP: "White is the largest mean. Each curve has its own scale.",
}


def draw(dataset: Dataset, chosen: np.ndarray, origin: str, name: str = "observations") -> None:
    """Draw the observations with these indices."""
    kind = seen.kind_of(dataset)
    if kind == seen.WORDS:
        st.markdown(f"**Texts with their {seen.STRONGEST:d} most frequent words**")
        with st.container(key=f"own_texts_{name}"):
            for text, labels, words in seen.strongest_words(dataset, chosen):
                st.markdown(f"**{plain(text)}** {plain(labels)}  \n:small[{plain(words)}]")
    elif kind == seen.TABLE:
        rows = seen.as_in_a_file(dataset, chosen)
        st.markdown("**Observations by their names**")
        view.table(
            rows,
            "Observations by their names",
            height=seen.TABLE_HEIGHT,
            row_height=seen.ROW,
            column_config={rows.columns[0]: {"width": seen.NAMES}},
        )
    else:
        view.chart(
            DRAWN.get(kind, seen.sample_profiles)(dataset, chosen),
            SCALES.get(kind, "Each row has its own scale."),
            name=name,
            origin=origin,
            table=lambda: seen.entries(dataset, chosen),
        )


def in_focus(look: Lens, rows: np.ndarray, names: list[str], n: int | None) -> None:
    """Draw the highlighted observation and its shares in each factorization."""
    if n is None:
        return
    dataset = look.analysis.seen_dataset
    A, W = look.aligned_factors(rows)
    shares, called = sample_shares(A, W)[:, :, n], look.notes.components(A[0])
    left, right = st.columns(2)
    with left:
        draw(dataset, np.array([n]), look.origin, "observation")
    with right:
        view.chart(
            sample_composition(shares, names, dataset.observations[n], called),
            "Components are matched with those of the first row.",
            name="composition",
            origin=look.origin,
            table=composition_table(shares, names, called),
        )
