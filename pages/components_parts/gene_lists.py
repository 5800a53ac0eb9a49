"""Lists of the strongest features of each component, and gene sets enriched in them."""

import numpy as np
import streamlit as st

from bnmf_core.compare.enrichment import describe_enrichment, enrichment, enrichment_table
from bnmf_core.compare.topics import top_indices
from bnmf_core.core.names import numbered
from bnmf_core.data.gene_sets import GeneSets, match_sets, read_gene_sets
from bnmf_core.figures.enrichment import enrichment_dots
from bnmf_core.share.gene_lists import gene_lists, gmt
from pages.components_parts import brought
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain

FORMAT = (
    "A GMT file, as MSigDB and Enrichr offer them: in each row the name of a set, its description "
    "and its genes, between tabs. Genes are matched by name, among the names and descriptions of "
    "the features."
)
READING = (
    "Larger dots hold more of the set, darker ones have a smaller FDR; hollow ones are at 5 % or "
    "more."
)


def show(look: Lens, rows: np.ndarray, names: list[str], relevance: float) -> None:
    """A fold with a table, its downloads, and an upload of gene sets."""
    dataset = look.analysis.dataset
    if dataset.image_shape is not None or dataset.axis is not None or not dataset.named:
        return
    title = f"Lists of {plain(dataset.feature_noun)}, and enrichment"
    fold = st.expander(title, key="lists_fold", on_change="rerun")
    if view.is_open(fold):
        with fold:
            _unfolded(look, rows, brought.modes_of(look, rows, names), relevance)


def _unfolded(look: Lens, rows: np.ndarray, modes: list[str], relevance: float) -> None:
    dataset, A = look.analysis.dataset, look.aligned(rows)
    most = min(500, dataset.D)
    count = int(st.number_input("Length of a list", 1, most, min(50, most), key="lists_count"))
    called = look.notes.components(A[0])
    components = numbered(called, A.shape[2])
    lists = gene_lists(dataset, A, modes, components, count, relevance)
    first = lists[lists["mode"] == modes[0]].drop(columns="mode")
    view.table(first, f"Strongest {dataset.feature_noun} of each component", height=260)
    with st.container(horizontal=True):
        for label, make, kind in (
            ("Lists (CSV)", lambda: view.csv(lists), "csv"),
            ("Lists (GMT)", lambda: gmt(lists, dataset.name), "gmt"),
        ):
            st.download_button(
                plain(label),
                make,
                f"lists.{kind}",
                "text/plain",
                key=f"lists_{kind}",
                help=plain(f"Of {len(modes)} factorizations, by relevance {relevance:g}."),
                on_click="ignore",
            )
    with view.report_errors(ends=False):
        sets = brought.ask("Sets of genes", "sets_file", FORMAT, _read)
        if sets is not None:
            _enriched(look, sets, top_indices(A, count, relevance), modes, called)


@st.cache_data(max_entries=4, show_spinner="Reading the sets …")
def _read(content: bytes, name: str) -> GeneSets:
    return read_gene_sets(content, name)


def _enriched(
    look: Lens, sets: GeneSets, top: np.ndarray, modes: list[str], called: list[str]
) -> None:
    matched = match_sets(sets, look.analysis.dataset)
    found = enrichment(top, matched.members, matched.gene_of)
    components = numbered(called, top.shape[1])
    within = f" Columns of a block are, from the left: {', '.join(modes)}." if modes[1:] else ""
    st.markdown(plain(describe_enrichment(found, matched.names, modes, components)))
    view.chart(
        enrichment_dots(found, matched.names, modes, called),
        f"{READING}{within} {matched.summary}",
        name="enrichment",
        origin=look.origin,
        table=lambda: enrichment_table(found, matched.names, modes, components),
    )
