"""A dataset at a glance: its size, matrix, spectrum, labels and missing entries."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.data import repair
from bnmf_core.dataset import Dataset
from bnmf_core.errors import BNMFError
from bnmf_core.figures.data import matrix_preview, spectrum
from bnmf_core.linalg import rank_explaining
from pages.common import link
from pages.common.services import store
from pages.common.view import chart, plain

SHARE = 0.7
MOST_COMPONENTS = 60


def show(dataset_id: str) -> None:
    """Draw the overview of a stored dataset."""
    dataset = store().dataset(dataset_id)
    facts(dataset)
    if dataset.missing:
        _missing(dataset)
    origin = f"{dataset.name} · content {dataset_id}" + (
        f" · {dataset.source}" if dataset.source else ""
    )
    left, right = st.columns(2, gap="medium")
    with left:
        chart(
            matrix_preview(dataset.X, dataset.mask, dataset.unit),
            "Dark is small, bright is large. Stripes that run through are features or observations "
            "that dominate.",
            name="matrix", origin=origin, table=corner(dataset),
        )  # fmt: skip
    with right:
        values, rank = _spectrum(dataset_id)
        chart(
            spectrum(values, dataset.squared_norm, rank, SHARE),
            f"Where the curve passes {SHARE:.0%} is a rank to begin with; a sharp bend is a better "
            "one.",
            name="spectrum", origin=origin,
            table=pd.DataFrame(
                {"rank": np.arange(1, len(values) + 1), "singular value": values}
            ),
        )  # fmt: skip
    for key, values in dataset.labels.items():
        counts = pd.Series(values).value_counts()
        words = ", ".join(f"{name or '(none)'}: {n}" for name, n in counts.head(12).items())
        more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
        st.caption(f"Label {plain(key)}: {plain(words)}{more}")
    st.page_link(
        "pages/run.py", label="Factorize it", icon=":material/play_circle:",
        query_params={"data": dataset_id},
    )  # fmt: skip


def facts(dataset: Dataset) -> None:
    """Headline numbers of a dataset."""
    columns = st.columns(4)
    columns[0].metric("Features", f"{dataset.D:,}")
    columns[1].metric("Observations", f"{dataset.N:,}")
    filled = np.count_nonzero(dataset.X.data if dataset.is_sparse else dataset.X)
    columns[2].metric("Entries above zero", f"{filled / (dataset.D * dataset.N):.0%}")
    columns[3].metric("Missing entries", f"{dataset.missing:,}")


def corner(dataset: Dataset) -> pd.DataFrame:
    """The first 50 features and 20 observations with their names."""
    part = dataset.X[:50, :20]
    part = part.toarray() if dataset.is_sparse else np.asarray(part)
    table = pd.DataFrame(part)
    table.columns = [f"{n + 1}. {name}" for n, name in enumerate(dataset.observations[:20])]
    table.insert(0, "feature", list(dataset.features[:50]))
    return table


@st.cache_data(max_entries=32, show_spinner="Finding the spectrum…")
def _spectrum(dataset_id: str) -> tuple[np.ndarray, int | None]:
    return rank_explaining(store().dataset(dataset_id).X, SHARE, MOST_COMPONENTS)


def _missing(dataset: Dataset) -> None:
    st.warning(
        f"{dataset.missing:,} entries are missing. Algorithms need every entry for now: choose "
        "what to do with them. The data as they are stay in the list."
    )
    left, right = st.columns(2)
    if left.button("Leave out incomplete observations", key="repair_drop"):
        _repair(repair.drop_incomplete_observations, dataset)
    if right.button("Fill with the mean of each feature", key="repair_fill"):
        _repair(repair.fill_with_feature_means, dataset)


def _repair(how, dataset: Dataset) -> None:
    try:
        link.put_next("data", store().add_dataset(how(dataset)))
    except BNMFError as error:
        st.error(plain(str(error)))
