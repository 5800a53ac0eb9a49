"""A small file and what it must become, and how such files are written."""

import io
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Layout:
    """A file and its matrix: ``first`` is the first observation's column of X.

    said : parts of sentences that must be among the doubts; nothing is doubted where there are
    none, but which side the observations are on. chosen : what is told about the file.
    """

    name: str
    content: bytes
    features: tuple[str, ...]
    observations: tuple[str, ...]
    first: tuple[float, ...]
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    chosen: dict[str, object] = field(default_factory=dict)
    missing: int = 0
    filename: str = ""


VALUES = np.array([[5.1, 3.5, 1.4], [4.9, 3.0, 1.4], [6.3, 3.3, 6.0], [5.8, 2.7, 5.1]])
FIRST = (5.1, 3.5, 1.4)
COUNTS = np.array([[7, 0, 3], [2, 9, 1], [4, 4, 8], [3, 1, 6]])
ABC, PQRS = ("a", "b", "c"), ("p", "q", "r", "s")
NUMBERED = tuple(f"observation {n + 1}" for n in range(4))
FEATURES = tuple(f"feature {n + 1}" for n in range(3))
ZERO_ON = ("0", "1", "2", "3")
HEADS_COUNT = "Row 1 holds the numbers 0, 1, 2"
ROWS_COUNT = "counts 0, 1, 2, …: taken as names"
# "Which side" is doubted wherever nothing tells.
SIDE = "whether its rows or its columns are the observations"


def frame(columns=ABC, index=None, values=VALUES):
    return pd.DataFrame(values, columns=list(columns), index=index)


def csv(data, **options):
    return data.to_csv(**options).encode()


def with_column(data, position, name, values):
    data = data.copy()
    data.insert(position, name, values)
    return data


def text(words, encoding="utf-8"):
    return words.encode(encoding)


def saved(function, *arguments, **named):
    file = io.BytesIO()
    function(file, *arguments, **named)
    return file.getvalue()


layout = partial(Layout, first=FIRST)
plain = partial(layout, features=ABC, observations=NUMBERED)
