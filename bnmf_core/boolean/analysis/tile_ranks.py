"""Tiles at several ranks: what more components explain, and what they leave empty."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bnmf_core.boolean.analysis.tile_answer import OFTEN, counts
from bnmf_core.boolean.analysis.tiles import RunTiles
from bnmf_core.core.names import listed, percent


def rank_table(runs: Mapping[int, RunTiles], X: np.ndarray) -> pd.DataFrame:
    """A row per rank, rising; X (D, N) of 0, 1 and NaN where it was not seen.

    Columns: ``rank``; ``tiles`` (components with a cell above ½), ``missed`` (ones in no tile),
    ``filled_in`` (zeros in a tile), ``doubtful`` (cells that neither nearly all nor nearly
    none of the run's members have) and ``often`` (tiles that nearly all of them have).
    """
    return pd.DataFrame([_row(rank, runs[rank], X) for rank in sorted(runs)])


def _row(rank: int, run: RunTiles, X: np.ndarray) -> dict[str, int]:
    found, used = counts(run, X), run.tiles["cells"] > 0
    return {
        "rank": rank,
        "tiles": int(used.sum()),
        "missed": found["missed"],
        "filled_in": found["filled_in"],
        "doubtful": int(((run.on > 1.0 - OFTEN) & (run.on < OFTEN)).sum()),
        "often": int((used & (run.tiles["present"] >= OFTEN)).sum()),
    }


def rank_sentence(table: pd.DataFrame, members: str) -> str:
    """What changes with the rank; "" of one alone. ``table`` : :func:`rank_table`."""
    if len(table) < 2:
        return ""
    wrong = table["missed"] + table["filled_in"]
    words = (
        f"With {_numbers(table['rank'])} components the tiles contradict {_numbers(wrong)} cells; "
        f"{_numbers(table['tiles'])} tiles are in use, and {_numbers(table['often'])} are in at "
        f"least {percent(OFTEN)} of the {members}."
    )
    unused = table[table["tiles"] < table["rank"]]
    empty = [f"{row['rank'] - row['tiles']} of {row['rank']}" for _, row in unused.iterrows()]
    return words + (f" {listed(empty)} components stay empty." if empty else "")


def _numbers(numbers: Iterable[int]) -> str:
    return listed(f"{number:,}" for number in numbers)
