"""A dataset at a glance: its size, matrix, spectrum, labels, missing entries and hidden ones."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.answer import percent
from bnmf_core.data import repair
from bnmf_core.figures.data import least_errors, matrix_preview, spectrum
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.numerics.boolean import only_yes_and_no
from bnmf_core.numerics.completion import completed
from bnmf_core.numerics.linalg import leading_singular_values
from bnmf_core.numerics.matrix import stored
from bnmf_core.store import files
from pages.data_parts import yes_no
from pages.frame import link, view
from pages.frame.services import store
from pages.frame.view import chart
from pages.frame.words import capital, plain, size

MOST_COMPONENTS = 60
COMPLETION_RANK = 10
HIDDEN_PERCENT = (10, 30, 50)


def show(dataset_id: str) -> None:
    """Draw the overview of a stored dataset."""
    dataset = store().dataset(dataset_id)
    facts(dataset)
    on_disk = f"On the disk: {size(files.size_of(store().root / 'datasets' / dataset_id))}."
    st.caption(plain(" ".join(filter(None, (dataset.empty, on_disk)))))
    with st.container(horizontal=True):
        link.to("run", "Analyse these data", data=dataset_id)
        link.to("rank", data=dataset_id)
    if dataset.missing:
        _missing(dataset)
    _hide(dataset)
    yes_no.ask(dataset, _change)
    origin = " · ".join(filter(None, (dataset.name, dataset.source)))
    left, right = st.columns(2, gap="medium")
    with left:
        chart(
            matrix_preview(dataset.X, dataset.mask, dataset.unit, dataset.feature_noun),
            "Dark is small, bright is large. Stripes that run through are features or observations "
            "that dominate.",
            name="matrix",
            origin=origin,
            table=corner(dataset),
        )
    with right:
        values, squared_norm = _spectrum(dataset_id)
        filling = (
            f" What was not seen is filled by an iterated SVD of rank {COMPLETION_RANK} first, so "
            "that errors on what was seen may be below."
        )
        chart(
            spectrum(values, squared_norm),
            "No factorization of a rank can have a smaller error than this. How many components "
            "the data need does not follow from it; the page Rank compares them."
            + filling
            * bool(dataset.missing),
            name="spectrum",
            origin=origin,
            table=pd.DataFrame(
                {
                    "rank": np.arange(1, len(values) + 1),
                    "singular value": values,
                    "least relative error": least_errors(values, squared_norm),
                }
            ),
        )
    for key, values in dataset.labels.items():
        counts = pd.Series(values).value_counts()
        words = ", ".join(f"{name or '(none)'}: {n}" for name, n in counts.head(12).items())
        more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
        st.caption(plain(f"Label {key}: {words}{more}"))


def facts(dataset: Dataset) -> None:
    """Headline numbers of a dataset."""
    columns = st.columns(4)
    columns[0].metric(plain(capital(dataset.feature_noun)), f"{dataset.D:,}")
    columns[1].metric("Observations", f"{dataset.N:,}")
    filled = np.count_nonzero(dataset.X.data if dataset.is_sparse else dataset.X)
    columns[2].metric("Entries above zero", plain(percent(filled / dataset.observed)))
    columns[3].metric("Missing entries", f"{dataset.missing:,}")


def corner(dataset: Dataset) -> pd.DataFrame:
    """The first 50 features and 20 observations with their names; unseen entries are empty."""
    part = dataset.X[:50, :20]
    part = part.toarray() if dataset.is_sparse else np.asarray(part)
    if dataset.missing:
        part = np.where(dataset.mask[:50, :20], part, np.nan)
    table = pd.DataFrame(part)
    table.columns = [f"{n + 1}. {name}" for n, name in enumerate(dataset.observations[:20])]
    table.insert(0, "feature", list(dataset.features[:50]))
    return table


@st.cache_data(max_entries=32, show_spinner="Finding the spectrum…")
def _spectrum(dataset_id: str) -> tuple[np.ndarray, float]:
    """Singular values and ‖X‖² of the completed X."""
    dataset = store().dataset(dataset_id)
    X = completed(dataset, min(COMPLETION_RANK, dataset.D, dataset.N))
    squared_norm = float(np.vdot(X, X)) if dataset.missing else dataset.squared_norm
    return leading_singular_values(X, MOST_COMPONENTS), squared_norm


def _missing(dataset: Dataset) -> None:
    known = dataset.hidden_entries()[1].sum()
    many = "All" if known == dataset.missing else f"{known:,}"
    hidden = f" {many} of them were hidden on purpose." if known else ""
    st.info(
        f"{dataset.missing:,} entries are missing.{plain(hidden)} Algorithms go by the entries "
        "that were seen. If you would rather have whole data, choose how; these stay in the list."
    )
    left, right = st.columns(2)
    if left.button("Leave out incomplete observations", key="repair_drop"):
        _change(repair.drop_incomplete_observations, dataset)
    if right.button("Fill with the mean of each feature", key="repair_fill"):
        _change(repair.fill_with_feature_means, dataset)
    if only_yes_and_no(stored(dataset.X)):
        filled = repair.fill_with_feature_means(dataset)
        if not only_yes_and_no(filled.X):
            right.warning(
                "Means lie between no and yes: filled with them, this is no table of yes and no "
                "any more, and Analyse looks for no tiles in it."
            )


def _hide(dataset: Dataset) -> None:
    with st.expander("Hide entries, to see how well factorizations tell them"):
        columns = st.columns([2, 1, 1], vertical_alignment="bottom")
        percent = columns[0].radio(
            "Part of the entries",
            HIDDEN_PERCENT,
            format_func=lambda part: f"{part:d} %",
            horizontal=True,
            key="hide_percent",
            help="Drawn at random; every feature and observation keeps one at least.",
        )
        seed = columns[1].number_input("Seed", 0, 2**31, 0, key="hide_seed")
        if columns[2].button("Hide them", key="hide_go"):
            rng = np.random.default_rng(int(seed))
            _change(lambda data: repair.hide_entries(data, percent / 100, rng), dataset)
        st.caption(
            "The result is a dataset of its own. No run sees what was hidden; the page Fit and "
            "weights compares it with what each factorization says."
        )


def _change(how: Callable[[Dataset], Dataset], dataset: Dataset) -> None:
    with view.told():
        link.put_next("data", store().add_dataset(how(dataset)))
