"""The first rows of a file, every cell coloured by its role."""

from collections.abc import Iterable
from itertools import zip_longest

import pandas as pd
import streamlit as st

from bnmf_core.data.reading import Reading
from pages.frame import view

# Translucent colours suit light and dark mode.
COLOURS = {
    "": "",
    "header": "background-color: rgba(28, 131, 225, 0.22)",
    "name": "background-color: rgba(33, 195, 84, 0.22)",
    "label": "background-color: rgba(255, 164, 33, 0.26)",
    "number": "",
    "missing": "background-color: rgba(146, 84, 222, 0.16)",
    "not a number": "background-color: rgba(255, 75, 75, 0.34)",
    "left out": "background-color: rgba(128, 132, 149, 0.30)",
}
LEGEND = (
    ":blue-background[header] · :green-background[names] · :orange-background[labels] · numbers · "
    ":violet-background[missing] · :red-background[not a number] · :gray-background[left out]"
)
ROW_HEIGHT = 35


def draw(reading: Reading) -> None:
    """The preview as a table, with its legend."""
    shown = reading.preview
    width = max(map(len, shown.rows), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in shown.rows]
    table = pd.DataFrame(rows, columns=_headed(range(1, width + 1), shown.column_names))
    lines = [f"row {line}" for line in shown.lines]
    table.index = pd.Index(_headed(lines, shown.row_names))
    styles = [
        [COLOURS[reading.shown_role(row, column)] for column in range(1, width + 1)]
        for row in range(len(rows))
    ]
    coloured = table.style.apply(
        lambda _: pd.DataFrame(styles, index=table.index, columns=table.columns), axis=None
    )
    view.table(
        coloured,
        "The first rows of the file",
        hide_index=False,
        height=ROW_HEIGHT * (len(rows) + 1) + 3,
        key="upload_preview",
    )
    more = f"{shown.height:,} rows and {shown.width:,} columns in all"
    st.caption(f"{more} · {LEGEND}" if reading.is_table else more)


def _headed(numbers: Iterable[object], names: tuple[str, ...]) -> list[str]:
    """Distinct headings: numbers, with names if any."""
    pairs = zip_longest(numbers, names, fillvalue="")
    return [f"{number} · {name}" if name else str(number) for number, name in pairs]
