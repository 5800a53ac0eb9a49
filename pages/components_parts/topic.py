"""One topic as pyLDAvis shows it: its most relevant words, in the topic and in all documents."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.coherence import coherence
from bnmf_core.compare.topics import attributed, top_indices
from bnmf_core.core.names import numbered
from bnmf_core.figures.topics import term_bars
from pages.components_parts.words import ENDS, TermOptions
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain

# Number of words in the bars, and in the coherence.
BARS, COHERENT = 20, 10


def show(
    look: Lens, rows: np.ndarray, names: list[str], options: TermOptions, chosen: int | None
) -> None:
    """Two folds for texts: the words of one topic, and the coherence of topics."""
    if not look.analysis.dataset.of_words:
        return
    bars = partial(_bars, look, rows[:1], options, chosen)
    view.fold("Words of one topic", "topic_fold", bars)
    table = partial(_coherence, look, rows, names, options.relevance)
    view.fold("Coherence of the topics", "coherence_fold", table)


def _bars(look: Lens, row: np.ndarray, options: TermOptions, chosen: int | None) -> None:
    (A,), (W,) = look.aligned_factors(row)
    dataset, r = look.analysis.seen_dataset, chosen or 0
    called = look.notes.components(A)
    best = top_indices(A, BARS, options.relevance)[r]
    best = best[best >= 0]
    in_topic = attributed(A, W, dataset.X, best)[:, r]
    overall = np.asarray(dataset.X[best].sum(axis=1)).ravel()
    words = [dataset.features[d] for d in best]
    hint = "" if chosen is not None else " Choose another one under Component, on the left."
    view.chart(
        term_bars(words, in_topic, overall, r, called[r], dataset.unit),
        f"Words by relevance λ = {options.relevance:g}. {ENDS} A word in several topics is divided "
        f"among them as the fit divides it.{hint}",
        name="topic",
        origin=look.origin,
        table=pd.DataFrame({"word": words, "in this topic": in_topic, "in all documents": overall}),
    )


def _coherence(look: Lens, rows: np.ndarray, names: list[str], relevance: float) -> None:
    found = _npmi(look.analysis.cache_key, tuple(map(int, rows)), relevance, look)
    called = numbered(look.notes.components(look.aligned(rows[:1])[0]))
    best, worst = int(np.nanargmax(found[0])), int(np.nanargmin(found[0]))
    st.markdown(
        plain(
            f"{names[0]}: the mean NPMI of its topics is {np.nanmean(found[0]):.2f}, from "
            f"{found[0, worst]:.2f} in component {called[worst]} to {found[0, best]:.2f} in "
            f"component {called[best]}."
        )
    )
    table = pd.DataFrame(found, columns=called).round(3)
    table.insert(0, "factorization", names)
    table.insert(1, "mean", np.nanmean(found, axis=1).round(3))
    view.table(table, "Coherence of the topics")
    st.caption(
        f"NPMI of each two of the {COHERENT:d} most relevant words of a topic (λ = {relevance:g}), "
        "counted in these documents. 0 is chance, 1 is always together."
    )


@st.cache_data(max_entries=32, show_spinner=False)
def _npmi(cache_key: str, rows: tuple[int, ...], relevance: float, _look: Lens) -> np.ndarray:
    """(K, R) coherence of the topics of these members."""
    A = _look.aligned(np.array(rows))
    return coherence(top_indices(A, COHERENT, relevance), _look.analysis.seen_dataset.X)
