"""The plan of a launch, and its estimated cost."""

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

MEASURING = "The time is being estimated on these data."
# Bytes below which memory and disk are not mentioned.
TRIFLE = 200e6


def costs(dataset: Dataset, dataset_id: str, specs: Sequence[RunSpec]) -> list[Estimate]:
    """Estimated cost of each run.

    Raises
    ------
    BNMFError
        When a run does not fit into memory.
    """
    pilots = runner().pilots
    return [estimate(dataset, spec, store(), pilots.known(dataset_id, spec)) for spec in specs]


def show(dataset: Dataset, dataset_id: str, wanted: Request) -> None:
    """The sentences; the duration appears once short trials in the background have measured it."""

    def measuring() -> bool:
        return runner().pilots.ask(dataset_id, wanted.specs)

    def draw() -> None:
        estimates = costs(dataset, dataset_id, wanted.specs)
        found = cost(dataset, wanted.specs[0], estimates)
        promised = MEASURING if measuring() else found.sentence
        st.markdown(f"{plain(runs_in_words(wanted.specs))} **{plain(promised)}**")
        if passes := passes_in_words(dataset, wanted.specs, estimates):
            st.caption(plain(passes))
        for sentence in wanted.left_out:
            st.caption(plain(sentence))
        memory = max(each.memory for each in estimates)
        on_disk = sum(each.particle_bytes for each in estimates)
        if max(memory, on_disk) >= TRIFLE:
            st.caption(plain(f"Up to {size(memory)} of memory, {size(on_disk)} kept on disk."))

    watch.until_done(measuring, draw)
    used = [ALGORITHMS[key] for key in dict.fromkeys(spec.algorithm for spec in wanted.specs)]
    with st.expander("What these algorithms do"):
        lines = (f"- **{plain(entry.label)}**: {plain(entry.summary)}" for entry in used)
        st.markdown("\n".join(lines))
