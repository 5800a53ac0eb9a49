"""Comparison of components with those of another analysis, of any data and rank."""

import numpy as np
import streamlit as st

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.named import Named
from bnmf_core.compare.analyses import describe_match, match_analyses, match_table, scaled_otherwise
from bnmf_core.core.names import distinct_labels, numbered
from bnmf_core.data.matching import shared_features
from bnmf_core.figures.analyses import angle_map
from bnmf_core.findings import verdicts
from pages.frame import link, view, watch
from pages.frame.lens import Lens
from pages.frame.services import dataset_names, launch_label, runner, store
from pages.frame.words import labelled, plain
from pages.parts.answer import Answer

# Keys of the fold and of its menu, and most modes compared in each analysis.
FOLD, CHOSEN, MOST_MODES = "beside_fold", "beside_launch", 60
READING = (
    "Matched components are framed: a whole line is within 15°, a dotted one is not. Behind ± is "
    "how far a component turns between the modes of its own analysis."
)


def show(look: Lens) -> None:
    """A fold that selects another analysis and shows the shared components."""
    if link.is_guest():
        return
    fold = st.expander("Components beside another analysis", key=FOLD, on_change="rerun")
    if view.is_open(fold):
        with fold, view.report_errors(ends=False):
            _unfolded(look)


def _unfolded(look: Lens) -> None:
    own, data = set(look.analysis.run_ids), dataset_names()
    others = {
        launch.id: launch
        for launch in store().launches()
        if launch.shown and not launch.active and not own.intersection(launch.shown)
    }
    if not others:
        st.caption("There is no other analysis yet.")
        return
    labels = {k: launch_label(each, data.get(each.dataset, "")) for k, each in others.items()}
    labels = distinct_labels(labels)
    if st.session_state.get(CHOSEN) not in others:
        st.session_state.pop(CHOSEN, None)
    chosen = st.selectbox("Analysis", list(others), format_func=labelled(labels), key=CHOSEN)
    other = runner().analyse(others[chosen].shown, structure.STAGE.key)
    if watch.beside(other, structure.STAGE, "Comparing the factorizations"):
        mine = data.get(look.analysis.runs[0].dataset, look.analysis.dataset.name)
        theirs = data.get(others[chosen].dataset, other.dataset.name)
        names = (mine, theirs) if mine != theirs else ("these runs", labels[chosen])
        _compared(look, _lens(other, look.metric), names)


def _lens(analysis: Comparison, metric: str) -> Lens:
    """The other analysis, under the same distance if possible, at its default threshold."""
    metric = metric if metric in analysis.metrics else next(iter(analysis.metrics))
    modes = structure.modes_at(analysis, metric)
    everything = np.ones(len(analysis.members), dtype=bool)
    notes = Named.on(analysis.dataset, store().notes.of(analysis.runs[0].dataset))
    return Lens(analysis, metric, modes, everything, "", numbered([], modes.count), notes=notes)


def _compared(look: Lens, other: Lens, names: tuple[str, str]) -> None:
    first, second = look.analysis.dataset, other.analysis.dataset
    shared = shared_features(first, second)
    bases = [
        lens.aligned(lens.modes.representative[verdicts.leading(Answer.of(lens))[:MOST_MODES]])[
            :, at
        ]
        for lens, at in ((look, shared.first), (other, shared.second))
    ]
    found = match_analyses(*bases)
    called, called_back = (
        numbered(lens.notes.components(lens.aligned(lens.modes.representative[:1])[0]))
        for lens in (look, other)
    )
    features = [first.features[d] for d in shared.first.tolist()]
    scaling = scaled_otherwise(first, second, shared)
    st.markdown(f"**{plain(describe_match(found, names, called, called_back, scaling))}**")
    rows = match_table(found, names, called, called_back, features)
    view.chart(
        angle_map(found, names, called, called_back),
        f"{READING} {shared.summary}",
        name="beside",
        origin=look.origin,
        table=rows,
    )
    view.table(rows, "Matched components")
