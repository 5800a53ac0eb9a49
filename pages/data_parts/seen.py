"""A few observations as a person sees them, and widgets that choose others."""

import numpy as np
import streamlit as st

from bnmf_core.figures import observations as seen
from bnmf_core.nouns.dataset import Dataset
from pages.frame import view
from pages.frame.words import plain

_RANDOM = "observations_at_random"
DRAWN = {seen.IMAGES: seen.sample_images, seen.MAP: seen.pixel_map}
SCALES = {
    seen.IMAGES: "White is the largest entry of all observations.",
    seen.MAP: "White is the largest mean. Each curve has its own scale.",
}


@st.fragment
def draw(dataset_id: str, dataset: Dataset, origin: str) -> None:
    """Observations as images, curves, bars, words or a table, whichever they are."""
    kind, key = seen.kind_of(dataset), f"observations_{dataset_id}"
    chosen = st.session_state.get(_RANDOM, {}).get(dataset_id)
    if chosen is None:
        chosen = seen.page_of(dataset, st.session_state.get(key, 1))
    _others(dataset_id, dataset, chosen, key)
    if kind == seen.WORDS:
        st.markdown(f"**Texts with their {seen.STRONGEST:d} most frequent words**")
        for name, labels, words in seen.strongest_words(dataset, chosen):
            st.markdown(f"**{plain(name)}** {plain(labels)}  \n:small[{plain(words)}]")
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
            name="observations",
            origin=origin,
            table=lambda: seen.entries(dataset, chosen),
        )


def _others(dataset_id: str, dataset: Dataset, chosen: np.ndarray, key: str) -> None:
    """Which observations these are; a page of others, or random ones."""

    def shuffle() -> None:
        found = seen.at_random(dataset, np.random.default_rng())
        st.session_state[_RANDOM] = {dataset_id: found}

    with st.container(horizontal=True, vertical_alignment="center", key="others"):
        st.markdown(f":small[{plain(seen.said(dataset, chosen))}]", width="content")
        if (count := seen.pages(dataset)) > 1:
            forget = st.session_state.pop
            st.pagination(
                count, max_visible_pages=0, key=key, on_change=forget, args=(_RANDOM, None)
            )
        if len(chosen) < dataset.N:
            st.button("Random", icon=":material/shuffle:", key="others_random", on_click=shuffle)
