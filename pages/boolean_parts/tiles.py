"""Tiles as pictures, in numbers, and as lists of rows and columns."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.boolean.analysis import tile_answer
from bnmf_core.boolean.figures.tiles import tile_pictures
from pages.boolean_parts.selection import Selection
from pages.frame import view
from pages.frame.words import labelled, plain

# The factorization behind the numbers: one draw of a sampler, or the one shown of an explorer.
FIRST = {True: "the most probable draw of that chain", False: "this factorization"}
FILLED = "cells that are yes"


def show(seen: Selection) -> None:
    """Pictures, the table, and one tile in detail."""
    table, sure = seen.run.tiles, tile_answer.believed(seen.run.tiles, seen.judges)
    view.chart(
        tile_pictures(*seen.on, seen.order, seen.tile_names),
        "Each picture is the whole table, in the same order as under The table; dark is where the "
        f"tile is. Tiles are numbered as the components of {FIRST[seen.sampled]}; other "
        "factorizations on the page Components may number them differently. Made by noise: the "
        "chance that cells which are yes as often as those outside all tiles are would hold a tile "
        "like this one anywhere, by those of its cells that no surer tile holds.",
        name="tiles",
        origin=seen.look.origin,
        table=table,
    )
    view.table(_in_words(seen, sure), "Tiles", height=min(38 + 35 * len(table), 420))
    _opened(seen)


def _in_words(seen: Selection, sure: np.ndarray) -> pd.DataFrame:
    table = seen.run.tiles
    doubts = zip(table["uncertainty"], table["ambiguity"], strict=True)
    names = seen.look.run_names
    found = pd.DataFrame(
        {
            "tile": table["tile"] + 1,
            "believed": np.where(sure, "yes", "no"),
            seen.nouns[0]: table["rows"],
            seen.nouns[1]: table["columns"],
            "cells": table["cells"],
            "in no surer tile": table["own"],
            "filled": [_percent(share) for share in table["filled"]],
            f"its {seen.members} say": [tile_answer.in_words(*doubt) for doubt in doubts],
            "made by noise": [_chance(log10) for log10 in table["noise"]],
        }
    )
    for run_id in seen.run_ids:
        found[f"in {names[run_id]}"] = [_percent(share) for share in table[run_id]]
    return found


def _percent(share: float) -> str:
    return "none" if np.isnan(share) else f"{100 * share:.0f} %"


def _chance(log10: float) -> str:
    if log10 > -2:
        return "may be"
    return f"< 1 in 10^{int(np.floor(-log10))}"


def _opened(seen: Selection) -> None:
    table = seen.run.tiles
    words = {
        int(tile["tile"]): f"Tile {seen.tile_names[int(tile['tile'])]}: {int(tile['rows'])} × "
        f"{int(tile['columns'])}"
        for _, tile in table.iterrows()
        if tile["cells"] > 0
    }
    if not words:
        return
    number = st.selectbox("Open a tile", list(words), format_func=labelled(words))
    of_rows, of_columns = seen.on[0][:, number], seen.on[1][number]
    for column, on, names, noun, degrees in (
        (0, of_rows, seen.dataset.features, seen.nouns[0], seen.run.A[:, number]),
        (1, of_columns, seen.dataset.observations, seen.nouns[1], seen.run.W[number]),
    ):
        if column == 0:
            left, right = st.columns(2)
        with (left, right)[column]:
            caption = f"{on.sum():,} {noun}"
            st.markdown(plain(caption))
            other = seen.X[:, of_columns] if column == 0 else seen.X[of_rows].T
            filled = np.nanmean(other[on], axis=1)
            listed = pd.DataFrame(
                {
                    noun: np.asarray(names, dtype=object)[on],
                    "how much of a yes": np.round(degrees[on], 3),
                    FILLED: np.round(filled, 3),
                }
            )
            listed = listed.sort_values("how much of a yes", ascending=False, kind="stable")
            share_column = st.column_config.NumberColumn(
                help="Of its cells in the tile, the share that is yes in the table."
            )
            view.table(listed, caption, height=300, column_config={FILLED: share_column})
