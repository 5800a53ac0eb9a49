"""What a study found: one value per cell and repetition, and covering curves where it has any."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.nouns.errors import NotFoundError, StoreError

# In the order of paper 1's tables: of the small problems, of the large ones.
QUANTITIES: dict[str, tuple[str, str]] = {
    "log_likelihood": ("Mean log-likelihood −‖X − AW‖²/(2σ²)", "tables 1 and 5"),
    "iat": ("IAT as published, 1 + Σρ", "tables 2 and 6"),
    "iat_proper": ("IAT, 1 + 2Σρ", ""),
    "max_angle_largest": ("Largest pairwise maximum angle, °", "tables 3 and 7"),
    "l1_max_largest": ("Largest pairwise ℓ1 distance, largest column", "tables 3 and 7"),
    "max_angle_average": ("Mean pairwise maximum angle, °", "tables 4 and 8"),
    "l1_max_average": ("Mean pairwise ℓ1 distance, largest column", "tables 4 and 8"),
    "kept": ("Samples", ""),
    "seconds": ("Seconds to make them", ""),
}


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A study, complete or as far as it went.

    Attributes
    ----------
    values : problem, column, repetition, quantity, value, and what else a study varies: one row
        per measured number. A value is NaN where there was nothing to measure.
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
        groups = chosen.groupby(["problem", "column"], sort=False)["value"]
        summary = groups.agg(
            mean="mean",
            lower=lambda values: values.quantile(0.25),
            median="median",
            upper=lambda values: values.quantile(0.75),
        )
        order = chosen["column"].unique()
        table = summary.unstack("column").swaplevel(axis=1)
        problems = chosen["problem"].unique()
        parts = ["mean", "lower", "median", "upper"]
        return table.loc[problems, [(column, part) for column in order for part in parts]]

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
        """Write everything as one JSON file."""
        plain = {
            "values": {name: _plain(self.values[name]) for name in self.values},
            "curves": [[*key, numbers.tolist()] for key, numbers in self.curves.items()],
            "radii": {metric: radii.tolist() for metric, radii in self.radii.items()},
            "labels": dict(self.labels),
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }
        Path(path).write_text(json.dumps(plain))

    @classmethod
    def load(cls, path: str | Path) -> "StudyResult":
        """Read what :meth:`save` wrote.

        Raises
        ------
        StoreError
            When the file is missing, torn or not one of ours.
        """
        try:
            plain = json.loads(Path(path).read_text())
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
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{Path(path).name} is not a stored study ({error}).") from None


def number(value: float) -> str:
    """A measured number in a table: three digits."""
    if value == 0:
        return "0"
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1e4 else f"{value:.2e}"


def _plain(column: pd.Series) -> Any:
    # Words come again and again: each is written once, and its number in every row.
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(object).where(column.notna(), None).tolist()
    codes, words = pd.factorize(column)
    return {"words": words.tolist(), "codes": codes.tolist()}


def _read(column: Any) -> Any:
    if isinstance(column, list):
        return column
    return [column["words"][code] for code in column["codes"]]
