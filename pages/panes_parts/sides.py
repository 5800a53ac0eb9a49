"""Which runs stand on the left and which on the right."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bnmf_core.nouns.names import told_apart
from bnmf_core.runs.launch import moment, run_label
from pages.frame import choosing, link, view
from pages.frame.services import data_and_rank, dataset_names, store
from pages.frame.words import plain

SIDES = ("left", "right")


def ask(left: DeltaGenerator, right: DeltaGenerator) -> list[list[str]]:
    """Ask for both groups; ids of their runs. First the two newest runs of one launch."""
    runs = [run for run in store().runs() if run.done > 0 and not run.active]
    if not runs:
        view.nothing("No run has ended yet. Start an example, or run your own data.", "home", "run")
    names = dataset_names()
    labels = {
        run.id: f"{run_label(run)} · {data_and_rank(names.get(run.dataset, '?'), run.spec.rank)}"
        for run in runs
    }
    seeded = {run.id: f"{labels[run.id]}, seed {run.spec.seed}" for run in runs}
    begun = {run.id: f"{seeded[run.id]}, {moment(run.created)}" for run in runs}
    shown = told_apart(labels, seeded, begun)
    together = [run.id for run in reversed(runs) if run.launch == runs[0].launch]
    first = {"left": together[:1], "right": together[1:2] or together[:1]}
    found = []
    for side, column in zip(SIDES, (left, right), strict=True):
        asked = first[side] if link.get(side) is None else link.get(side)
        choosing.not_found("run", [run_id for run_id in asked if run_id not in shown])
        link.put(side, [run_id for run_id in asked if run_id in shown])
        with column:
            st.multiselect(
                plain(f"Runs on the {side}"), list(shown), key=link.key(side), format_func=shown.get
            )
        found.append(list(link.get(side)))
    return found
