"""One data set of the atlas: where it is from, what was found, and the way to an analysis of it."""

import os
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.frame import link, view
from pages.frame.words import plain
from pages.parts import starting
from studies.atlas.findings import Ranked, components_label, verdicts_of
from studies.atlas.sources import Source

# A folder of public data, where the server has one.
FOLDER = Path(os.environ["BNMF_DATA"]) if os.environ.get("BNMF_DATA") else None


def ask(source: Source, told: list[Ranked]) -> None:
    """Buttons that open a finished analysis, or start one; or where the data are."""
    if not source.present(FOLDER):
        st.caption(plain(f"{source.file} does not come with this program. If you have it:"))
        link.to("data")
        return
    rank = source.rank or (told[0][1]["rank"] if told else None)
    if rank is None:
        link.to("data")
        return
    example = source.example(FOLDER, rank)
    with st.container(horizontal=True):
        st.button(
            plain(f"Analyse with {rank} components"),
            icon=":material/play_arrow:",
            key="start_atlas",
            on_click=starting.start,
            args=(example, False),
        )
        starting.finished(example)
    if example.finished:
        st.caption("The finished analysis is a smaller one, of 20 factorizations of each kind.")


def show(source: Source, told: list[Ranked]) -> None:
    """The pictures of its analyses, each with its verdicts, and what is published."""
    for of_rank, cell in told:
        st.header(plain(f"{source.label}: {components_label(cell)}, {of_rank}"), anchor=False)
        table = verdicts_of([(of_rank, cell)])
        rows = pd.DataFrame(table["rows"], columns=list(table["columns"]))
        for drawn, picture in cell["pictures"].items():
            view.chart(
                go.Figure(picture["figure"]),
                picture["reading"],
                name=f"atlas_{drawn}_{of_rank}",
                origin="python -m studies atlas",
                table=rows,
            )
        for title, verdict in cell["verdicts"].items():
            asked = title if title.endswith("?") else f"{title}:"
            words = f"**{plain(asked)} {plain(verdict['word'])}.** {plain(verdict['said'])}"
            st.markdown(f"- {words}")
    if not told:
        st.info("These data have not been analysed for the atlas yet.")
    said = [source.field.capitalize(), source.reference and f"Published: {source.reference}"]
    said += [cell["data_said"] for _, cell in told[:1]]
    st.caption(plain(". ".join(one.rstrip(".") for one in said if one)))
