"""Stability of groups over modes, draws or resamples: sentences and pairs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import resampling
from bnmf_core.analysis.resampling import COUNTS, SAMPLES
from bnmf_core.compare.samples import consensus_matrix, doubtful_pairs
from bnmf_core.findings.facts import say
from bnmf_core.findings.regrouped import Regrouped
from bnmf_core.findings.spreads import DRAWS, MODES
from pages.frame import view, watch
from pages.frame.lens import Lens
from pages.frame.words import labelled, plain
from pages.samples_parts.grouping import Grouping, some_of

ALL = "all"
# Most sentences, and pairs of each kind.
MOST_SAID, MOST_PAIRS = 20, 10
CALLED = {
    MODES: "modes that count",
    DRAWS: "draws within mode {mode}",
    COUNTS: "resamples (counts drawn again)",
    SAMPLES: "resamples (samples left out)",
}


def _kinds(found: Grouping, changed: Regrouped) -> dict[str, tuple[np.ndarray, str]]:
    """Kind → groups (m, N) and their description, such as "60 optima"."""
    kinds = {ALL: (found.others, found.what)}
    for kind, of in changed.others.items():
        kinds[kind] = of, f"{len(of)} {CALLED[kind].format(mode=changed.mode + 1)}"
    return kinds


def ask(look: Lens, found: Grouping, changed: Regrouped) -> Grouping:
    """Select the factorizations that define the consensus of groups."""
    kinds = _kinds(found, changed)
    options = {kind: what for kind, (_, what) in kinds.items()}
    # Optima of one mode agree by definition; draws show the uncertainty within it.
    alone = np.unique(look.modes.labels[look.analysis.grouped]).size == 1
    kind = DRAWS if alone and DRAWS in options else ALL
    if len(options) > 1:
        kind = st.selectbox(
            "Together in",
            list(options),
            index=list(options).index(kind),
            format_func=labelled(options),
            key="samples_asked",
            help="Each of these is counted separately. Only draws of converged chains are used.",
        )
    others, what = kinds[kind]
    return replace(found, others=others, what=what)


def folds(
    look: Lens, found: Grouping, changed: Regrouped, compared: Grouping, called: list[str]
) -> None:
    """Sentences on observations that change group, and uncertain pairs."""
    _sentences(look, changed, called)
    _pairs(look, found, changed, compared)


def _sentences(look: Lens, changed: Regrouped, called: list[str]) -> None:
    """A fold: one sentence on each observation that changes group, the least certain first."""
    if not changed.changing.size:
        return
    fold = st.expander("What is said of each", key="said_fold", on_change="rerun")
    if not view.is_open(fold):
        return
    observations, R = look.analysis.seen_dataset.observations, look.analysis.rank
    with fold:
        if not look.passing:
            watch.beside(look.analysis, resampling.STAGE, "Groups of resampled data")
        shown = changed.changing[:MOST_SAID].tolist()
        sentences = [say(changed.facts(n, observations[n], called, R)) for n in shown]
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in sentences))
        st.download_button(
            f"All {changed.changing.size:,} (CSV)",
            lambda: view.csv(changed.table(observations, called, R)),
            "changing.csv",
            "text/csv",
            key="csv_changing",
            on_click="ignore",
        )


def _pairs(look: Lens, found: Grouping, changed: Regrouped, compared: Grouping) -> None:
    """A fold: pairs of observations that share a group in some factorizations."""
    fold = st.expander("Pairs in doubt", key="pairs_fold", on_change="rerun")
    if not view.is_open(fold):
        return
    some = some_of(found)
    of_some = consensus_matrix(compared.others[:, some])
    of_kinds = doubtful_pairs(of_some, found.groups[some], MOST_PAIRS)
    names = look.analysis.seen_dataset.observations
    rows = []
    for kind, chosen in zip(("same group", "different groups"), of_kinds, strict=True):
        for i, j in some[chosen].tolist():
            together = {
                f"together in {what}": 100 * float(consensus_matrix(compared[:, [i, j]])[0, 1])
                for compared, what in _kinds(found, changed).values()
            }
            rows.append({"first": names[i], "second": names[j], "here": kind} | together)
    with fold:
        if not rows:
            st.caption(plain(f"All {compared.what} agree on every pair."))
            return
        st.caption(
            plain(
                f"Pairs of one group that are together least often in {compared.what}, then pairs "
                f"of different groups that are together most often. {some.size:,} observations "
                "were compared."
            )
        )
        table = pd.DataFrame(rows)
        percent = st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100)
        columns = {name: percent for name in table.columns if name.startswith("together")}
        view.table(table, "Pairs in doubt", column_config=columns)
