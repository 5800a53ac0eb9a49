"""The strongest features of components by name, in several factorizations."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.alignment import NO_COUNTERPART, component_angles
from bnmf_core.compare.samples import prevalence, sample_shares
from bnmf_core.compare.topics import RELEVANCE, aligned_words, key_term_counts
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import clean_name, numbered, percent
from bnmf_core.figures.components import key_terms
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.words import capital, plain

# The two ends of the scale of relevance.
ENDS = "λ = 0: words that are rare elsewhere; λ = 1: the most frequent words."
# Longest name of a feature in a table; the download has the whole name.
LONGEST_NAME = 32


@dataclass(frozen=True)
class TermOptions:
    """Number of features of each component, and the relevance λ that ranks them."""

    count: int
    relevance: float


def ask(dataset: Dataset) -> TermOptions:
    """Options in the panel, unless features are pixels or positions on an axis."""
    if dataset.image_shape is not None or dataset.axis is not None:
        return TermOptions(0, 1.0)
    noun = plain(dataset.feature_noun)
    title = plain(capital(dataset.feature_noun))
    count = st.number_input(f"{title} per component", 3, 30, 10, key="components_words")
    if link.get("relevance") is None:
        link.put("relevance", RELEVANCE)
    st.slider(
        "Relevance",
        0.0,
        1.0,
        step=0.05,
        key=link.key("relevance"),
        help=f"1 ranks {noun} by their share of the component; near 0, by how much larger this "
        "share is than on average (relevance, Sievert & Shirley 2014).",
    )
    st.caption(plain(ENDS.replace("words", dataset.feature_noun)))
    link.share("relevance")
    return TermOptions(int(count), float(link.get("relevance")))


def show(look: Lens, rows: np.ndarray, names: list[str], options: TermOptions) -> None:
    """A table for each component, a row per factorization."""
    (A, W), dataset = look.aligned_factors(rows), look.analysis.dataset
    common = prevalence(sample_shares(A, W))
    found = aligned_words(A, dataset.features, options.count, options.relevance)
    angles = component_angles(A, A[0])
    noun = plain(dataset.feature_noun)
    st.header(f"Strongest {noun} of each component", anchor=False)
    st.markdown(
        f":small[**●** marks {noun} that the first factorization's component lacks. A component "
        f"more than {NO_COUNTERPART:.0f}° from its partner there has no counterpart. "
        "Prevalence is the mean share of a component in the first factorization's observations.]"
    )
    called = look.notes.components(A[0])
    for component, part in found.groupby("component"):
        heading = f"{numbered(called)[component]} · prevalence {percent(common[0, component])}"
        _component(heading, part, names, angles[:, component], options.count, dataset)
    topics = f" Names of topics are the first words at {RELEVANCE:g}." if dataset.of_words else ""
    st.caption(
        f"Ranked by relevance {options.relevance:g}: 0 is distinctive, 1 is frequent.{topics}"
    )
    notes = [note.caption if note else "" for note in look.notes.of_components(A[0])]
    named = found.assign(factorization=[names[k] for k in found["factorization"]])
    named["prevalence"] = common[found["factorization"], found["component"]]
    named["component"] = np.array(numbered(called))[found["component"]]
    if any(notes):
        named["note"] = [notes[r] for r in found["component"]]
    st.download_button(
        "Table (CSV)", lambda: view.csv(named), "parts.csv", "text/csv", on_click="ignore"
    )


def _component(
    heading: str,
    part: pd.DataFrame,
    names: list[str],
    angles: np.ndarray,
    count: int,
    dataset: Dataset,
) -> None:
    """One component as a table: a row per factorization, features that changed marked."""
    noun = plain(dataset.feature_noun)
    words: dict[int, list[tuple[str, bool]]] = {}
    columns = (part[name].tolist() for name in ("factorization", "word", "changed"))
    for k, word, changed in zip(*columns, strict=True):
        words.setdefault(k, []).append((word, changed))
    partners = [found for k, found in words.items() if angles[k] <= NO_COUNTERPART]
    differing = max(sum(changed for _, changed in found) for found in partners)
    change = f"up to {differing:d} of {count:d} {noun} differ" if differing else f"the same {noun}"
    if without := int((angles > NO_COUNTERPART).sum()):
        change += f" where it has a counterpart; none in {without:d}"
    if len(partners) == 1:
        change = "in the first factorization only" if len(names) > 1 else ""
    lines = [f"| Component {plain(heading)} | {change} |", "|:--|:--|"]
    for k, name in enumerate(names):
        line = [(clean_name(word, LONGEST_NAME), new) for word, new in words.get(k, ())]
        alone = angles[k] > NO_COUNTERPART
        text = " · ".join(
            f":orange-badge[● {plain(word)}]" if new and not alone else plain(word)
            for word, new in line
        )
        mark = f":orange-badge[no counterpart, {angles[k]:.0f}° away] " if alone else ""
        lines.append(f"| :small[{plain(name)}] | {mark}{text} |")
    st.markdown("\n".join(lines))


def key_terms_of(look: Lens, rows: np.ndarray, options: TermOptions) -> None:
    """Number of components that have a name among their strongest features, in focus."""
    dataset = look.analysis.dataset
    noun = plain(dataset.feature_noun)
    st.header(f"Where are these {noun}?", anchor=False)
    st.markdown(
        f":small[How many components of each factorization in focus have one of these {noun} among "
        f"their {options.count:d} strongest?]"
    )
    A = look.aligned(rows[:1])
    first = aligned_words(A, dataset.features, options.count, options.relevance)
    title = plain(capital(dataset.feature_noun))
    typed = st.text_input(
        f"{title}, separated by commas",
        ", ".join(first["word"].iloc[:3]),
        key="components_terms",
    )
    terms = names_in(typed, dataset.features)
    if not terms:
        return
    inside = np.flatnonzero(look.focus)
    with view.report_errors():
        counts = _counts(look, look.analysis.cache_key, inside, terms, options)
    table = pd.DataFrame(counts, columns=terms).assign(
        factorization=[look.name(row) for row in inside]
    )
    view.chart(
        key_terms(counts, terms, dataset.feature_noun),
        "A wide spread means that factorizations use different numbers of components for it.",
        name="key_terms",
        origin=look.origin,
        table=table,
    )


@st.cache_data(max_entries=32, show_spinner=False)
def _counts(
    _look: Lens, cache_key: str, rows: np.ndarray, terms: list[str], options: TermOptions
) -> np.ndarray:
    """Counts of key terms in these rows of the analysis."""
    A = _look.analysis.bases(rows)
    features = _look.analysis.dataset.features
    return key_term_counts(A, features, terms, options.count, options.relevance)


def names_in(typed: str, features: Collection[str]) -> list[str]:
    """Names separated by commas; a feature whose own name has commas stays whole.

    >>> names_in("kinase, beta, x", ["kinase, beta", "x"])
    ['kinase, beta', 'x']
    """
    pieces, known, names = typed.split(","), set(features), []
    while pieces:
        whole = (
            count
            for count in range(len(pieces), 1, -1)
            if ",".join(pieces[:count]).strip() in known
        )
        count = next(whole, 1)
        names.append(",".join(pieces[:count]).strip())
        pieces = pieces[count:]
    return [name for name in names if name]
