"""Application of a mode's components to new samples."""

import numpy as np
import streamlit as st

from bnmf_core.analysis.applied import AppliedExploration
from bnmf_core.compare.new_samples import (
    NewSamples,
    describe_fit,
    describe_largest,
    new_samples_table,
)
from bnmf_core.compare.samples import in_groups, sample_amounts
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered
from bnmf_core.data.load import load_alike
from bnmf_core.figures.new_samples import fit_of_new
from bnmf_core.figures.samples import sample_strips
from bnmf_core.findings import verdicts
from pages.components_parts.brought import modes_of
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.services import dataset_names, place, store
from pages.frame.words import labelled, plain
from pages.parts import by_hand
from pages.parts.answer import Answer
from pages.samples_parts.exposures import Bars

# Most modes whose components are applied; the option of an uploaded file.
MOST_MODES, FILE = 4, ""
FORM = (
    "Two samples or more in the same unit and scale as the analysed data. Features are matched by "
    "name, in any order and on either axis of the file. Spectra are interpolated where wavelengths "
    "differ."
)


def show(look: Lens, bars: Bars, called: list[str]) -> None:
    """A fold for new samples, with their weights and fit."""
    if look.analysis.of_tiles or link.is_guest():
        return
    fold = st.expander("Apply to new samples", key="apply_fold", on_change="rerun")
    if view.is_open(fold):
        with fold, view.report_errors(ends=False):
            _unfolded(look, bars, called)


def _unfolded(look: Lens, bars: Bars, called: list[str]) -> None:
    new = _new_samples(look)
    if new is None:
        return
    leave_out = st.checkbox(
        "Leave out features that the new samples lack",
        key="apply_leave_out",
        help="The components are then fitted without them, to the analysed samples as well.",
    )
    rows, names = look.shown(MOST_MODES, modes=verdicts.leading(Answer.of(look)))
    every = tuple(rows.tolist())
    work = AppliedExploration(look.analysis, every[0], every, new, leave_out)
    work.check()
    if place().status(work).status == "none":  # samples were just brought
        place().start(work)

    def draw() -> None:
        A = look.aligned(rows)
        found = work.found(A)
        if found is not None:
            _applied(look, A, new, found, modes_of(look, rows, names), bars, called)

    by_hand.explore(work, "Fit the new samples", "apply", draw)


def _applied(
    look: Lens,
    A: np.ndarray,
    new: Dataset,
    found: NewSamples,
    modes: list[str],
    bars: Bars,
    called: list[str],
) -> None:
    k = st.selectbox(
        "Mode", range(len(modes)), format_func=labelled(dict(enumerate(modes))), key="apply_mode"
    )
    amounts = None if bars.amounts is None else sample_amounts(A[k], found.W[k])
    table = new_samples_table(found, modes, new.observations, numbered(called, len(found.W[0])))
    view.chart(
        sample_strips(
            found.W[k],
            found.shares[k],
            in_groups(found.shares[k]),
            found.groups[k],
            new.observations,
            None,
            called,
            amounts=amounts,
        ),
        f"{describe_largest(found, modes, new.observations)} {found.matched}".lstrip(),
        name="new_samples",
        origin=look.origin,
        table=table,
    )
    view.chart(
        fit_of_new(found, k, new.observations),
        f"{describe_fit(found, k, modes[k], new.observations)} Analysed samples are fitted by "
        "components that were refitted without them.",
        name="new_samples_fit",
        origin=look.origin,
        table=table,
    )
    st.download_button(
        "Weights of new samples (CSV)",
        lambda: view.csv(table),
        "new_samples.csv",
        "text/csv",
        key="apply_csv",
        on_click="ignore",
    )


def _new_samples(look: Lens) -> Dataset | None:
    """New samples from a file or from the store; None while there are none."""
    own = look.analysis.runs[0].dataset
    others = {key: name for key, name in dataset_names().items() if key != own}
    chosen = st.selectbox(
        "New samples",
        [FILE, *others],
        format_func=labelled({FILE: "from a file"} | others),
        key="apply_data",
        help=plain(FORM),
    )
    if chosen:
        return store().dataset(chosen)
    file = st.file_uploader("File of new samples", key="apply_file", help=plain(FORM))
    if file is None:
        st.caption(FORM)
        return None
    data = look.analysis.dataset
    return _read(file.getvalue(), file.name, data.hash, data)


@st.cache_data(max_entries=4, show_spinner="Reading the samples …")
def _read(content: bytes, name: str, like: str, _like: Dataset) -> Dataset:
    return load_alike(content, name, _like)
