"""What will be done, and what it takes, before it is started."""

from collections.abc import Sequence

import streamlit as st

from bnmf_core import Dataset, RunSpec
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.estimate import Estimate, estimate
from bnmf_core.runs.launch import cost, passes_in_words, runs_in_words
from pages.frame import watch
from pages.frame.services import runner, store
from pages.frame.words import plain, size
from pages.run_parts.request import Request

MEASURING = "How long that takes is being measured on these data."
# Bytes that any computer has to spare.
TRIFLE = 200e6


def costs(dataset: Dataset, dataset_id: str, specs: Sequence[RunSpec]) -> list[Estimate]:
    """What each run costs, as far as is known now.

    Raises
    ------
    BNMFError
        When one of them does not fit.
    """
    pilots = runner().pilots
    return [estimate(dataset, spec, store(), pilots.known(dataset_id, spec)) for spec in specs]


def show(dataset: Dataset, dataset_id: str, wanted: Request) -> None:
    """The sentences; a duration is promised when short tries in the background have measured it."""

    def measuring() -> bool:
        return runner().pilots.ask(dataset_id, wanted.specs)

    def draw() -> None:
        estimates = costs(dataset, dataset_id, wanted.specs)
        found = cost(dataset, wanted.specs[0], estimates)
        promised = MEASURING if measuring() else found.sentence
        st.markdown(f"{plain(runs_in_words(wanted.specs))} **{plain(promised)}**")
        if said := passes_in_words(dataset, wanted.specs, estimates):
            st.caption(plain(said))
        for sentence in wanted.left_out:
            st.caption(plain(sentence))
        memory = max(one.memory for one in estimates)
        kept = sum(one.particle_bytes for one in estimates)
        if max(memory, kept) >= TRIFLE:
            st.caption(plain(f"Up to {size(memory)} of memory, {size(kept)} kept on disk."))

    watch.until_done(measuring, draw)
    used = [ALGORITHMS[key] for key in dict.fromkeys(spec.algorithm for spec in wanted.specs)]
    with st.expander("What these algorithms do"):
        st.markdown("\n".join(f"- **{plain(one.label)}**: {plain(one.summary)}" for one in used))
