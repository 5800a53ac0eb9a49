"""One data set of the atlas: its source, its results, and buttons that analyse it."""

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

# The server's folder of public data, if any.
FOLDER = Path(os.environ["BNMF_DATA"]) if os.environ.get("BNMF_DATA") else None


def ask(source: Source, ranked: list[Ranked]) -> None:
    """Buttons that open or start an analysis; without data, their source."""
    if not source.present(FOLDER):
        st.caption(plain(f"{source.file} does not come with this program. If you have it:"))
        link.to("data")
        return
    rank = source.rank or (ranked[0][1]["rank"] if ranked else None)
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


def show(source: Source, ranked: list[Ranked]) -> None:
    """The pictures of its analyses, each with verdicts, and the reference."""
    for of_rank, cell in ranked:
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
            heading = title if title.endswith("?") else f"{title}:"
            words = f"**{plain(heading)} {plain(verdict['word'])}.** {plain(verdict['said'])}"
            st.markdown(f"- {words}")
    if not ranked:
        st.info("These data have not been analysed for the atlas yet.")
    parts = [source.field.capitalize(), source.reference and f"Published: {source.reference}"]
    parts += [cell["data_said"] for _, cell in ranked[:1]]
    st.caption(plain(". ".join(part.rstrip(".") for part in parts if part)))
