"""A few observations as images, curves or words, and widgets that select others."""

import numpy as np
import streamlit as st

from bnmf_core.core.dataset import Dataset
from bnmf_core.figures import observations as seen
from pages.frame import focusing
from pages.frame.words import plain
from pages.parts import observed

# Random observations shown instead of a page, by dataset.
_CHOSEN = "observations_chosen"


@st.fragment
def draw(dataset_id: str, dataset: Dataset, origin: str) -> None:
    """Observations as images, curves, bars, words or a table, depending on the data."""
    key = f"observations_{dataset_id}"
    place = st.container(horizontal=True, vertical_alignment="center", key="others")
    with place:
        sample = focusing.ask_sample(dataset.observations, titled=False)
    chosen = st.session_state.get(_CHOSEN, {}).get(dataset_id)
    if chosen is None:
        chosen = seen.page_of(dataset, st.session_state.get(key, 1))
    if sample is not None:  # first, before as many others as there is room for
        chosen = np.append(sample, chosen[chosen != sample])[: len(chosen)]
    with place:
        _others(dataset_id, dataset, chosen, key)
    observed.draw(dataset, chosen, origin)


def _others(dataset_id: str, dataset: Dataset, chosen: np.ndarray, key: str) -> None:
    """Caption of the observations, and buttons for other pages or random ones."""

    def shuffle() -> None:
        found = seen.at_random(dataset, np.random.default_rng())
        st.session_state[_CHOSEN] = {dataset_id: found}

    st.markdown(f":small[{plain(seen.describe_selection(dataset, chosen))}]", width="content")
    if (count := seen.pages(dataset)) > 1:
        forget = st.session_state.pop
        st.pagination(count, max_visible_pages=0, key=key, on_change=forget, args=(_CHOSEN, None))
    if len(chosen) < dataset.N:
        st.button("Random", icon=":material/shuffle:", key="others_random", on_click=shuffle)
