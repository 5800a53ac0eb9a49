"""A Reading: how a file is interpreted, with the reasons for all choices and doubts about them."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.core.plain import Value
from bnmf_core.data import cells

AXES = ("rows", "columns")
# Choices for negative entries with their wording; marker of a fault about them.
REFUSED, IS_NEGATIVE = "refused", "which is negative"
NEGATIVE = {REFUSED: "refused", "zero": "set to 0", "missing": "treated as missing"}
# Size of a preview.
PREVIEW_ROWS, PREVIEW_COLUMNS, PREVIEW_CHARACTERS = 12, 24, 32
SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "space"}
DECIMAL_MARKS = (".", ",")


@dataclass(frozen=True)
class Preview:
    """The first rows of a file.

    lines : the row of the file, counted from 1, on which each begins. rows : their cells,
    shortened. missing : for each row, the columns from 1 on that count as missing. width, height :
    cells and rows of the whole file. row_names, column_names : of a matrix with separate names.
    """

    lines: tuple[int, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    missing: tuple[tuple[int, ...], ...] = ()
    width: int = 0
    height: int = 0
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """How a file would be read, and why. Rows and columns are counted from 1.

    Attributes
    ----------
    format : key of the format; ``what`` : its description. formats : keys of possible formats, if
        there are several.
    encoding, separator, decimal_mark : of a table of text; "" elsewhere.
    header_row : the row that names the columns; None when none does.
    names_column : the column that names the rows; None when none does.
    label_columns : columns of words or classes that belong to the rows: labels of observations, or
        descriptions of features.
    number_columns : the columns of X. Every other column is left out.
    yes_no_columns : those of them with yes and no, which become 1 and 0.
    observations : "rows" or "columns", the axis of the file that holds the observations.
    image_shape : (height, width) of an image unfolded column-major, whose pixels are the features,
        or else the observations.
    pixel_order : "columns" where the file has the pixels of an image down its columns, as MATLAB
        does, "rows" where they run along its rows, as NumPy's do.
    negative : what becomes of negative entries, a key of ``NEGATIVE``; "" where there are none.
    features_are : plural noun for the features in sentences; "" for features.
    missing_words : words that mean "not seen" beside the usual ones (empty, NA, NaN, null, ?).
    settings : further choices of this format; offers : the options of each.
    reasons : of each choice. doubts : sentences on uncertain choices. faults : why the file cannot
        be read so.
    preview : the first rows of the file.

    Examples
    --------
    >>> from bnmf_core import inspect_file
    >>> reading = inspect_file(b"id,2001,2002\\n0,5,6\\n1,8,9\\n2,3,1\\n", filename="lamps.csv")
    >>> reading.names_column, reading.number_columns
    (1, (2, 3))
    >>> print(reading.doubts[0])
    Row 1 holds years: taken as the names of the columns, not as numbers.
    """

    format: str
    what: str = ""
    encoding: str = ""
    separator: str = ""
    decimal_mark: str = ""
    header_row: int | None = None
    names_column: int | None = None
    label_columns: tuple[int, ...] = ()
    number_columns: tuple[int, ...] = ()
    yes_no_columns: tuple[int, ...] = ()
    observations: str = "rows"
    image_shape: tuple[int, int] | None = None
    pixel_order: str = "columns"
    negative: str = ""
    features_are: str = ""
    missing_words: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict)
    offers: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    preview: Preview = Preview()

    @property
    def is_table(self) -> bool:
        """Whether the file is a table with columns."""
        return bool(self.columns)

    def column_name(self, column: int) -> str:
        """ "3 (weight)", with the name if there is one."""
        name = self.columns[column - 1] if column <= len(self.columns) else ""
        return f"{column} ({name})" if name else str(column)

    def role(self, line: int, column: int) -> str:
        """Role of the cell on this row of the file, such as "label"."""
        if self.is_table:
            first = self.header_row or 1
            if line == self.header_row:
                return "header" if column in self._used() else "left out"
            if line < first or column not in self._used():
                return "left out"
            if column == self.names_column:
                return "name"
            if column in self.label_columns:
                return "label"
        return "number"

    def shown_role(self, position: int, column: int) -> str:
        """Role of a cell of the preview, including "missing", "not a number" and ""."""
        if column > len(self.preview.rows[position]):
            return ""
        role = self.role(self.preview.lines[position], column)
        if role != "number":
            return role
        if column in self.preview.missing[position]:
            return "missing"
        cell = self.preview.rows[position][column - 1]
        right = column in self.yes_no_columns or cells.is_number(cell, self.decimal_mark == ",")
        return role if right else "not a number"

    def because(self, reasons: Mapping[str, str]) -> "Reading":
        """Replace the reasons for some choices."""
        return dataclasses.replace(self, reasons={**self.reasons, **reasons})

    def _used(self) -> set[int]:
        names = () if self.names_column is None else (self.names_column,)
        return {*names, *self.label_columns, *self.number_columns}

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def of_plain(cls, values: Mapping[str, Any]) -> "Reading":
        """The inverse of :meth:`plain`, also after JSON."""
        known = {
            one.name: values[one.name] for one in dataclasses.fields(cls) if one.name in values
        }
        known["offers"] = {key: _tuples(offered) for key, offered in known["offers"].items()}
        preview = {key: _tuples(value) for key, value in known.pop("preview").items()}
        return cls(**{k: _tuples(v) for k, v in known.items()}, preview=Preview(**preview))


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list | tuple) else value


def check_axis(observations: object) -> None:
    """Raise a DataError for an unknown axis."""
    if observations not in AXES:
        raise DataError(
            f"The observations were said to be in {observations!r}; choose one of "
            f"{', '.join(AXES)}."
        )


def other_axis(axis: str) -> str:
    """The other axis."""
    return AXES[1 - AXES.index(axis)]


def preview_of(
    rows: list[tuple[int, list[str]]], missing: frozenset[str], width: int, height: int
) -> Preview:
    """Preview of a table; ``rows`` : cells with their row numbers in the file."""
    shown = tuple(
        tuple(clean_name(cell, PREVIEW_CHARACTERS) for cell in row[:PREVIEW_COLUMNS])
        for _, row in rows[:PREVIEW_ROWS]
    )
    blank = tuple(
        tuple(i for i, cell in enumerate(row, start=1) if cells.is_missing(cell, missing))
        for row in shown
    )
    return Preview(tuple(line for line, _ in rows[:PREVIEW_ROWS]), shown, blank, width, height)


def negative_hint(reading: Reading, name: str) -> str:
    """How to allow negative entries, by the setting ``name``; "" if there are none."""
    if not any(IS_NEGATIVE in fault for fault in reading.faults):
        return ""
    return f" {name} can set negative entries to 0, or treat them as missing."
