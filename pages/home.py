"""Home: what this is, and one click to a real example."""

from pathlib import Path

import streamlit as st

from bnmf_core.lazy import lazy
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.runs.examples import EXAMPLES, Example
from pages.frame import guard, hints, link, view
from pages.frame.services import dataset_names, launch_label, make_ready, runner, store
from pages.frame.words import plain
from pages.parts import dropping

panel = lazy("pages.frame.panel")
conversation = lazy("pages.data_parts.conversation")
opening = lazy("bnmf_core.share.opening")

CARDS = Path(__file__).resolve().parent / "home_parts" / "cards"
IN_A_ROW = 3

guard.enter("home")
hints.show("home")


def show(example: Example, finished: bool) -> None:
    """Open a finished analysis of an example, or start one; Overview opens by itself."""
    try:
        if finished:
            run_ids = opening.open_archive(store(), example.finished).run_ids
        else:
            dataset = example.dataset()
            run_ids = runner().start(dataset, example.runs(dataset), launch_name=example.label)
    except BNMFError as error:
        st.session_state["home_error"] = str(error)
        return
    link.put("runs", run_ids)
    panel.forget()
    st.session_state["home_started"] = run_ids


if started := st.session_state.pop("home_started", None):
    link.go("overview", runs=",".join(started))

if message := st.session_state.pop("home_error", None):
    view.problem(message)

if st.session_state.get(dropping.KEY) is None:
    dropping.ask()
elif conversation.upload():
    st.stop()
else:
    link.go("run", data=link.get("data"))
st.header("Or start an example", anchor=False)
for first in range(0, len(EXAMPLES), IN_A_ROW):
    row = list(EXAMPLES.values())[first : first + IN_A_ROW]
    for column, example in zip(st.columns(IN_A_ROW), row, strict=False):
        with column.container(border=True, height="stretch"):
            picture = CARDS / f"{example.key}.png"
            if picture.exists():
                view.image(picture, example.told)
            st.markdown(f"**{plain(example.question)}**")
            st.button(
                f"Analyse {plain(example.label[:1].lower() + example.label[1:])}",
                type="primary" if example is EXAMPLES["digits"] else "secondary",
                icon=":material/play_arrow:",
                key=f"start_{example.key}",
                on_click=show,
                args=(example, False),
                help=plain(example.told),
            )
            if example.finished:
                st.button(
                    "Look at a finished analysis",
                    type="tertiary",
                    icon=":material/visibility:",
                    key=f"finished_{example.key}",
                    on_click=show,
                    args=(example, True),
                )

if recent := store().launches()[:4]:
    st.header("Recent", anchor=False)
    names = dataset_names()
    for launch in recent:
        words = launch_label(launch, names.get(launch.dataset, "deleted data"))
        if launch.shown:
            link.to("overview", f"{words} · {launch.status}", runs=",".join(launch.shown))
    link.to("runs")
make_ready()
