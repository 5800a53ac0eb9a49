"""A card for each example, which opens a finished analysis of it or starts one."""

from functools import partial
from pathlib import Path

import streamlit as st

from bnmf_core.runs.examples import EXAMPLES, Example
from pages.frame import link, view
from pages.frame.words import plain
from pages.parts import starting

CARDS = Path(__file__).resolve().parent / "cards"
IN_A_ROW = 3


def show() -> None:
    """The cards, in rows."""
    st.header("Or start an example", anchor=False)
    cards = [*(partial(_card, example) for example in EXAMPLES.values()), _atlas]
    for first in range(0, len(cards), IN_A_ROW):
        row = cards[first : first + IN_A_ROW]
        for column, card in zip(st.columns(IN_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch"):
                card()


def _atlas() -> None:
    view.image(
        CARDS / "atlas.png",
        "Bars: the share of restarts that miss the most probable mode, by dataset.",
    )
    st.markdown("**How often does a published factorization depend on its random start?**")
    link.to("atlas")


def _card(example: Example) -> None:
    picture = CARDS / f"{example.key}.png"
    if picture.exists():
        view.image(picture, example.summary)
    st.markdown(f"**{plain(example.question)}**")
    st.button(
        f"Analyse {plain(example.label[:1].lower() + example.label[1:])}",
        type="primary" if example is EXAMPLES["digits"] else "secondary",
        icon=":material/play_arrow:",
        key=f"start_{example.key}",
        on_click=starting.start,
        args=(example, False),
        help=plain(example.summary),
    )
    starting.finished(example)
