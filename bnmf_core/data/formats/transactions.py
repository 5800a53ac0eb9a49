"""Transactions, as of the FIMI repository: each line lists the items of one basket, by number."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.data.formats.format import Found, named_format
from bnmf_core.data.limits import MAX_SIDE
from bnmf_core.data.orientation import Side

KEY = "transactions"
SIDE = Side("rows", "every line is a transaction")
# Sampled lines to recognise a file, their least number, and the least average count of an item.
SAMPLED, FEWEST, OFTEN = 1_000, 20, 2.0


def recognises(content: bytes, filename: str) -> bool:
    """Whether the numbers of every line increase, unlike in a table of measurements."""
    lines = [line for line in islice(content[: 2**20].split(b"\n"), SAMPLED) if line.strip()]
    try:
        baskets = [np.array(line.split(), dtype=np.int64) for line in lines[:-1]]
    except (ValueError, OverflowError):
        return False
    if len(baskets) < FEWEST or not all((np.diff(one, prepend=-1) > 0).all() for one in baskets):
        return False
    items = np.concatenate(baskets)
    return items.size > 2 * len(baskets) and items.size >= OFTEN * np.unique(items).size


def _find(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    rows, items = [], []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            items.append(np.array(line.split(), dtype=np.int64))
        except (ValueError, OverflowError) as error:
            raise DataError(
                f"Line {number:,} holds something else than the numbers of items; write whole "
                "numbers with spaces between them, or open the file as a table."
            ) from error
        rows.append(len(items[-1]))
    numbers, places = np.unique(np.concatenate(items), return_inverse=True)
    if numbers[0] < 0 or numbers.size > MAX_SIDE:
        raise DataError("Numbers of items must be 0 or more, and at most a million of them differ.")
    shape = (len(rows), numbers.size)
    matrix = sparse.csr_array((np.ones(places.size), places, np.cumsum([0, *rows])), shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    summary = f"{shape[0]:,} lines list the numbers of {shape[1]:,} different items"
    return Found(
        matrix,
        None,
        [f"item {number}" for number in numbers],
        side=SIDE,
        formats=(KEY, "table"),
        doubts=(f"{summary}: an entry is 1 where a line lists the item, and 0 elsewhere.",),
    )


FORMAT = named_format(KEY, "transactions, of which items are taken", recognises, _find, "items")
