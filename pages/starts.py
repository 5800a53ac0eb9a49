"""Starts: quality of Q-Transform's starts, and what it depends on."""

import streamlit as st

from pages.frame import choosing, guard, link
from pages.frame.options import pick_one
from pages.frame.services import store
from pages.frame.words import plain
from pages.parts import make_study
from pages.starts_parts import libraries, study_parts
from studies.result import full
from studies.transfer.own import OwnStarts
from studies.transfer.plan import PARTS

guard.enter("starts")
study = full("transfer")
if study is None:
    st.info("The stored study is missing; `python -m studies transfer --keep` computes it.")
else:
    present = set(study.values["problem"])
    parts = {key: words for key, (words, _) in PARTS.items() if key in present}
    link.one_of("part", parts)
    left, right = st.columns([5, 2])
    which = pick_one("What is varied", parts, key=link.key("part"), place=left)
    link.share("part")
    quantity = "error"
    if which in study_parts.WITH_ERRORS:
        with right:
            quantity = study_parts.ask_scale("full")
    plan = study.settings
    rank = plan["noisy_rank"] if which == "noise" else plan["rank"]
    origin = (
        f"Made with python -m studies transfer, {PARTS[which][1]} of the paper: "
        f"{plan['targets']} targets of {plan['side']}×{plan['side']} and rank {rank}, "
        f"{plan['starts']} starts each"
        if which != "weights"
        else f"Made with python -m studies transfer, {PARTS[which][1]} of the paper: rank 3, "
        "30×40, the published kernel"
    )
    study_parts.part(study, which, quantity, origin)
    study_parts.what_holds(study)
with st.expander("What Q-Transform does"):
    st.markdown(
        "Q-Transform bends the singular vectors of the data by transforms learned on many small "
        "matrices. Here is what the quality of these starts depends on: the experiments of “A "
        "particle-based variational approach to Bayesian NMF”, made again."
    )
libraries.show()

st.header("On your own data", anchor=False)
dataset = store().dataset(choosing.dataset("Dataset"))
columns = st.columns(2)
largest = min(dataset.D, dataset.N)
rank = columns[0].number_input("Rank R", 1, largest, min(5, largest), key="starts_rank")
transfer = columns[1].number_input(
    "Transfer rank",
    1,
    min(10, largest),
    min(3, largest),
    key="starts_transfer",
    help="How many singular directions the transforms act on.",
)
own = OwnStarts(dataset, int(rank), int(transfer))
words = f"Measure {own.count} starts of each kind, and {own.solved} solved NMFs"
found = make_study.result(own, words, "own_starts")
origin = (
    f"{dataset.name}, rank {rank}, transfer rank {transfer}, {own.count} starts of each kind, "
    f"{own.solved} solved, seed {own.seed}"
)
study_parts.processes(found, study_parts.ask_scale("own"), origin, "own_starts")
for note in found.notes:
    st.caption(plain(note))
