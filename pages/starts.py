"""Starts: how good Q-Transform's starts are, and what that depends on."""

import streamlit as st

from pages.frame import guard, link
from pages.frame.services import store
from pages.frame.view import header, plain
from pages.parts import make_study, starts_view
from studies.result import full
from studies.transfer.own import OwnStarts
from studies.transfer.plan import PARTS

guard.enter("starts")
header("Starts", "What does Q-Transform carry over from small data?")
st.markdown(
    "Q-Transform bends the singular vectors of the data by transforms learned on many small "
    "matrices. Here is what the quality of these starts depends on: the experiments of “A "
    "particle-based variational approach to Bayesian NMF”, made again."
)
study = full("transfer")
if study is None:
    st.info("The stored study is missing; `python -m studies transfer --keep` makes it.")
else:
    present = set(study.values["problem"])
    parts = {key: words for key, (words, _) in PARTS.items() if key in present}
    if link.get("part") not in parts:
        link.put("part", next(iter(parts)))
    which = st.segmented_control(
        "What is varied", list(parts), required=True, format_func=parts.get, key=link.key("part")
    )
    link.share("part")
    quantity = "error"
    if which in starts_view.WITH_ERRORS:
        quantity = starts_view.ask_scale("full")
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
    starts_view.part(study, which, quantity, origin)
    starts_view.what_holds(study)
starts_view.libraries()

st.subheader("On your own data", anchor=False)
names = store().datasets()
if not names:
    st.info("There are no data yet.")
    st.page_link("pages/data.py", label="Bring in data", icon=":material/table_chart:")
    st.stop()
if link.get("data") not in names:
    link.put("data", next(iter(names)))
columns = st.columns([2, 1, 1])
columns[0].selectbox("Dataset", list(names), format_func=names.get, key=link.key("data"))
link.share("data")
dataset = store().dataset(link.get("data"))
largest = min(dataset.D, dataset.N)
rank = columns[1].number_input("Rank R", 1, largest, min(5, largest), key="starts_rank")
transfer = columns[2].number_input(
    "Transfer rank", 1, min(10, largest), min(3, largest), key="starts_transfer",
    help="How many singular directions the transforms act on.",
)  # fmt: skip
own = OwnStarts(dataset, int(rank), int(transfer))
words = f"Measure {own.count} starts of each kind, and {own.solved} solved NMFs"
found = make_study.result(own, words, "own_starts")
origin = (
    f"{dataset.name}, rank {rank}, transfer rank {transfer}, {own.count} starts of each kind, "
    f"{own.solved} solved, seed {own.seed}"
)
starts_view.processes(found, starts_view.ask_scale("own"), origin, "own_starts")
for note in found.notes:
    st.caption(plain(note))
