"""A dataset at a glance: its size, matrix, spectrum, labels, missing entries and hidden ones."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from bnmf_core.analysis.described import describe_sample, described, label_counts
from bnmf_core.core.dataset import Dataset
from bnmf_core.data import repair
from bnmf_core.data.kinds import Kind
from bnmf_core.figures.data import corner, matrix_preview, spectrum, spectrum_table
from bnmf_core.numerics.linalg import leading_singular_values
from bnmf_core.numerics.matrix import only_yes_and_no, stored
from bnmf_core.store import files
from pages.data_parts import seen, vocabulary, yes_no
from pages.frame import link, view
from pages.frame.services import store
from pages.frame.view import chart
from pages.frame.words import plain, size
from pages.parts import proposed, scale, variance

MOST_COMPONENTS = 60
HIDDEN_PERCENT = (10, 30, 50)


def show(dataset_id: str) -> None:
    """Draw a stored dataset: its observations, the matrix, and editors."""
    dataset = store().dataset(dataset_id)
    origin = " · ".join(filter(None, (dataset.name, dataset.source)))
    left, right = st.columns(2, gap="medium")
    with left:
        seen.draw(dataset_id, dataset, origin)
    with right:
        with st.container(horizontal=True, vertical_alignment="center", key="facts"):
            st.markdown(f":small[{plain(' · '.join(described(dataset)))}]")
        if sampled := describe_sample(dataset):
            st.caption(plain(sampled))
        found = proposed.of(dataset_id)
        numbers = found.numbers
        lines = [dataset.empty]
        if numbers.kind is not Kind.OTHER or numbers.advice:
            # For counts the reason is their variance; for others their kind.
            advice = "" if numbers.advice in found.reason else numbers.advice
            first = "" if found.reason.startswith(numbers.reason) else numbers.reason
            lines = [first, advice, found.reason, found.suited, dataset.empty]
        if any(lines):
            st.markdown(plain(" ".join(filter(None, lines))))
        chart(
            matrix_preview(dataset.X, dataset.mask, dataset.unit, dataset.feature_noun),
            "Bright is large. "
            + (scale.sentence(dataset_id) or "A bright stripe dominates the fit."),
            name="matrix",
            origin=origin,
            table=lambda: corner(dataset),
        )
    # Singular values of a matrix with gaps bound no error.
    bounded = found.by_squares and not dataset.missing
    charted = bounded or found.variation is not None
    left, right = st.columns(2, gap="medium") if charted else [st.container()] * 2
    with left:
        if found.variation is not None:
            variance.chart(found.variation, origin)
        elif bounded:
            _least_error(dataset_id, dataset, origin)
    with right:
        if dataset.missing:
            _missing(dataset)
        if dataset.whole is None:  # changes would be of the sample alone
            vocabulary.ask(dataset_id, dataset, _change)
            _hide(dataset)
            yes_no.ask(dataset, _change)
        stored = size(files.size_of(store().root / "datasets" / dataset_id))
        on_disk = f"On the disk: {stored}." if dataset.whole is None else f"The sample: {stored}."
        st.caption(plain(" ".join(filter(None, (*label_counts(dataset), on_disk)))))


def _least_error(dataset_id: str, dataset: Dataset, origin: str) -> None:
    values, squared_norm = _spectrum(dataset_id)
    chart(
        spectrum(values, squared_norm),
        "No factorization of a rank has a smaller error. The page Rank compares ranks."
        + " It is that of the sample." * (dataset.whole is not None),
        name="spectrum",
        origin=origin,
        table=spectrum_table(values, squared_norm),
    )


@st.cache_data(max_entries=32, show_spinner="Finding the spectrum…")
def _spectrum(dataset_id: str) -> tuple[np.ndarray, float]:
    """Singular values of X and ‖X‖²."""
    dataset = store().dataset(dataset_id)
    return leading_singular_values(dataset.X, MOST_COMPONENTS), dataset.squared_norm


def _missing(dataset: Dataset) -> None:
    with st.expander("Complete the missing entries"):
        st.caption("Algorithms use the seen entries only, so this is not needed.")
        left, right = st.columns(2)
        if left.button("Leave out incomplete observations", key="repair_drop"):
            _change(repair.drop_incomplete_observations, dataset)
        if right.button("Fill with the mean of each feature", key="repair_fill"):
            _change(repair.fill_with_feature_means, dataset)
        if only_yes_and_no(stored(dataset.X)):
            filled = repair.fill_with_feature_means(dataset)
            if not only_yes_and_no(filled.X):
                right.caption("Means lie between 0 and 1: the result is no longer a binary matrix.")


def _hide(dataset: Dataset) -> None:
    with st.expander("Mask entries to measure how well they are predicted"):
        columns = st.columns([2, 1, 1], vertical_alignment="bottom")
        percent = columns[0].radio(
            "Share of the entries",
            HIDDEN_PERCENT,
            format_func=lambda part: f"{part:d} %",
            horizontal=True,
            key="hide_percent",
            help="Drawn at random; every feature and observation keeps at least one.",
        )
        seed = columns[1].number_input("Seed", 0, 2**31, 0, key="hide_seed")
        if columns[2].button("Mask entries", key="hide_go"):
            rng = np.random.default_rng(int(seed))
            _change(lambda data: repair.hide_entries(data, percent / 100, rng), dataset)
        st.caption(
            "The result is a new dataset. Runs do not see the masked entries; the page Fit and "
            "weights shows the error on them."
        )


def _change(how: Callable[[Dataset], Dataset], dataset: Dataset) -> None:
    with view.report_errors():
        link.put_next("data", store().add_dataset(how(dataset)))
