"""Vocabulary of texts: stop words, document frequency, maximum size."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.texts import TOKEN
from bnmf_core.data.vocabulary import (
    Rule,
    document_counts,
    english_stop_words,
    recounted,
    retained_words,
)
from pages.frame import view
from pages.frame.services import store
from pages.frame.words import plain

# Stores the result of a function of the data.
Change = Callable[[Callable[[Dataset], Dataset], Dataset], None]
FIELDS = ("stop_words", "fewest", "largest", "most")


def ask(dataset_id: str, dataset: Dataset, change: Change) -> None:
    """A fold for texts; ``change`` stores the new data."""
    if dataset.of_words:
        draw = partial(_choices, dataset_id, dataset, change)
        view.fold("Choose the words", "vocabulary_fold", draw)


def _choices(dataset_id: str, dataset: Dataset, change: Change) -> None:
    has_texts = dataset.texts is not None
    documents = _documents(dataset_id)
    stop_words = st.text_area(
        "Stop words",
        " ".join(sorted(english_stop_words())) if has_texts else "",
        height=100,
        key=f"stop_words_{dataset_id}",
        help="Excluded words. Add or remove some; upper and lower case are the same.",
    )
    columns = st.columns(3)
    fewest = columns[0].number_input(
        "Minimum documents",
        1,
        dataset.N,
        min(2, dataset.N) if has_texts else 1,
        key=f"fewest_{dataset_id}",
        help="Documents that a word stands in at least.",
    )
    largest = columns[1].number_input(
        "Maximum documents (%)",
        1.0,
        100.0,
        50.0 if has_texts else 100.0,
        format="%g",
        key=f"largest_{dataset_id}",
        help="Maximum document frequency: the largest share of documents that contain a word.",
    )
    most = columns[2].number_input(
        "Vocabulary size",
        2,
        max(len(documents), 2),
        min(max(len(documents), 2), max(dataset.D, Rule.most)),
        key=f"most_{dataset_id}",
        help="The most frequent words, so many at most.",
    )
    left_out = frozenset(TOKEN.findall(stop_words.lower()))
    rule = Rule(left_out, int(fewest), largest / 100, int(most))
    stay = retained_words(documents, dataset.N, rule)
    source = "the texts" if has_texts else "this matrix; left-out words cannot be brought back"
    counts = f"{stay:,} of {len(documents):,} words of {source} stay; now there are"
    st.markdown(plain(f"{counts} {dataset.D:,}."))

    def again(data: Dataset) -> Dataset:
        made = recounted(data, rule)
        for field in FIELDS if has_texts else ():  # the next choice begins with this one
            st.session_state[f"{field}_{made.hash}"] = st.session_state[f"{field}_{dataset_id}"]
        return made

    if st.button("Apply", key="vocabulary_go", disabled=stay < 2):
        change(again, dataset)
    st.caption("The result is a dataset of its own.")


@st.cache_data(max_entries=4, show_spinner="Counting words…")
def _documents(dataset_id: str) -> Mapping[str, int]:
    """Document frequency of each word."""
    return document_counts(store().dataset(dataset_id))
