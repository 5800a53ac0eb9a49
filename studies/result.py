"""Results of a study: values in rows and covering curves; storage and tables."""

import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.store.files import write

HERE = Path(__file__).resolve().parent
# The full studies shipped with the program, and the numbers that the papers print.
RESULTS, PUBLISHED = HERE / "results", HERE / "published"
QUANTILES = {"least": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "most": 1.0}
QUARTILES = ("lower", "median", "upper")
# With fewer finished repetitions a study gives no verdict.
FEWEST = 5


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A study, complete or as far as it went.

    Attributes
    ----------
    values : problem, column, repetition, quantity, value, and other varied columns: one row
        per measured number. A value is NaN where nothing could be measured.
    curves : (problem, column, metric) → (repetitions, E) covering numbers; an empty set has 0.
    radii : metric → (E,) radii, in the metric's unit.
    labels : keys of problems and columns → words.
    notes : sentences on what was left out or reduced.
    settings : repetitions, samples, sigma and the like.
    """

    values: pd.DataFrame
    curves: Mapping[tuple[str, str, str], np.ndarray] = field(default_factory=dict)
    radii: Mapping[str, np.ndarray] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def table(self, quantity: str) -> pd.DataFrame:
        """Problems by columns; under each column the mean and the quartiles over repetitions.

        Raises
        ------
        NotFoundError
            When nothing of that name was measured.
        """
        chosen = self.values[self.values["quantity"] == quantity]
        if chosen.empty:
            known = ", ".join(self.values["quantity"].unique())
            raise NotFoundError(f"The study has no {quantity!r}; it has {known}.")
        parts = ["mean", *QUARTILES]
        wide = spread(chosen, ["problem", "column"], *parts).unstack("column").swaplevel(axis=1)
        order = chosen["column"].unique()
        pairs = [(column, part) for column in order for part in parts]
        return wide.loc[chosen["problem"].unique(), pairs]

    def measured(self, quantity: str) -> bool:
        """Whether there is any number of this quantity."""
        return bool((self.values["quantity"] == quantity).any())

    def curve(self, problem: str, column: str, metric: str) -> pd.DataFrame:
        """``radius``, and mean, least and largest covering number over the repetitions."""
        numbers = self.curves[problem, column, metric]
        return pd.DataFrame(
            {
                "radius": self.radii[metric],
                "mean": numbers.mean(axis=0),
                "least": numbers.min(axis=0),
                "largest": numbers.max(axis=0),
            }
        )

    def save(self, path: str | Path) -> None:
        """Write everything as one JSON file, compressed where the name ends in ``.gz``."""
        plain = {
            "values": {name: _plain(self.values[name]) for name in self.values},
            "curves": [[*key, numbers.tolist()] for key, numbers in self.curves.items()],
            "radii": {metric: radii.tolist() for metric, radii in self.radii.items()},
            "labels": dict(self.labels),
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }
        path, whole = Path(path), json.dumps(plain).encode()
        if path.suffix == ".gz":
            whole = gzip.compress(whole, mtime=0)
        write(path, lambda file: file.write(whole))

    @classmethod
    def load(cls, path: str | Path) -> "StudyResult":
        """Read what :meth:`save` wrote.

        Raises
        ------
        StoreError
            When the file is missing, torn or not one of ours.
        """
        try:
            whole = Path(path).read_bytes()
            plain = json.loads(gzip.decompress(whole) if Path(path).suffix == ".gz" else whole)
            values = pd.DataFrame({name: _read(part) for name, part in plain["values"].items()})
            values["value"] = values["value"].astype(float)
            return cls(
                values=values,
                curves={tuple(key): np.array(numbers) for *key, numbers in plain["curves"]},
                radii={metric: np.array(radii) for metric, radii in plain["radii"].items()},
                labels=plain["labels"],
                notes=tuple(plain["notes"]),
                settings=plain["settings"],
            )
        except (OSError, EOFError, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{Path(path).name} is not a stored study ({error}).") from None


@cache
def full(name: str) -> StudyResult | None:
    """The study that ``python -m studies NAME --keep`` measured; None without one."""
    path = result_path(name)
    return StudyResult.load(path) if path.is_file() else None


def result_path(name: str) -> Path:
    """The file of the full study of this name."""
    return RESULTS / f"{name}.json.gz"


@cache
def published(name: str) -> dict[str, Any]:
    """What a paper prints, in the keys of the study.

    - ``coverage`` (paper 1, tables 1 to 8, from its appendices A and B): problem → column →
      quantity → ``mean`` and ``quartiles`` (three) over ten repetitions. An ℓ1 distance of 0.0
      means below 0.005.
    - ``rrt`` (paper 2, tables 1 to 3): ``sizes`` (D, N, R of each data set), and quantity → noise →
      data set → column → ``mean`` and ``quartiles`` (25 %, 75 %) as printed.
    """
    return json.loads((PUBLISHED / f"{name}.json").read_text())


def values_of(varied: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Rows of measured numbers: what they belong to, in the columns ``varied``; quantity; value."""
    return pd.DataFrame(rows, columns=[*varied, "quantity", "value"]).astype({"value": float})


def spread(rows: pd.DataFrame, keys: list[str], *parts: str) -> pd.DataFrame:
    """Of ``value`` in every group of rows: "mean", or quantiles by their names in ``QUANTILES``."""
    groups = rows.groupby(keys, sort=False, dropna=False)["value"]
    return pd.DataFrame(
        {
            part: groups.mean() if part == "mean" else groups.quantile(QUANTILES[part])
            for part in parts
        }
    )


def number(value: float) -> str:
    """A measured number in a table: three digits."""
    if value == 0:
        return "0"
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1e4 else f"{value:.2e}"


@dataclass(frozen=True)
class Grid:
    """A table of problems by columns in words: the mean and, of two or more, quantiles in brackets.

    Attributes
    ----------
    parts : names of ``QUANTILES``. joint : what stands between them. write : a number in words.
    """

    parts: tuple[str, ...] = QUARTILES
    joint: str = ", "
    write: Callable[[float], str] = number

    def table(
        self,
        rows: pd.DataFrame,
        labels: Mapping[str, str],
        first: str = "data",
        reference: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """One row per problem, and one below it where numbers of it are published.

        Parameters
        ----------
        rows : columns problem, column and value. first : what the column of problems is called.
        reference : problem → column → ``mean`` and ``quartiles`` as published; then a column
            ``source`` says "ours" or "published". columns : in this order; None: as they come.
        """
        keys = ["problem", "column"]
        found = spread(rows, keys, "mean", *self.parts)
        # One repetition has no spread.
        found.loc[rows.groupby(keys, sort=False, dropna=False).size() < 2, list(self.parts)] = (
            np.nan
        )
        columns = list(rows["column"].unique()) if columns is None else columns
        lines = []
        for problem in rows["problem"].unique():
            pairs = [(problem, column) for column in columns]
            ours = [self._cell(*found.loc[p]) if p in found.index else "—" for p in pairs]
            source = [] if reference is None else ["ours"]
            lines.append([labels[problem], *source, *ours])
            cells = [(reference or {}).get(problem, {}).get(column) for column in columns]
            if any(cells):
                printed = [self._cell(c["mean"], *c["quartiles"]) if c else "—" for c in cells]
                lines.append([labels[problem], "published", *printed])
        source = [] if reference is None else ["source"]
        return pd.DataFrame(lines, columns=[first, *source, *(labels[key] for key in columns)])

    def _cell(self, mean: float, *quantiles: float) -> str:
        if math.isnan(mean):
            return "—"
        if all(map(math.isnan, quantiles)):
            return self.write(mean)
        return f"{self.write(mean)} ({self.joint.join(self.write(q) for q in quantiles)})"


def _plain(column: pd.Series) -> Any:
    # Words repeat: each is written once, and its code in every row.
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(object).where(column.notna(), None).tolist()
    codes, words = pd.factorize(column)
    return {"words": words.tolist(), "codes": codes.tolist()}


def _read(column: Any) -> Any:
    if isinstance(column, list):
        return column
    return [column["words"][code] for code in column["codes"]]
