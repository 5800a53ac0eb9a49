"""Assign roles to the columns of a table: names, classes and numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bnmf_core.core.names import clean_name, listed
from bnmf_core.data import cells
from bnmf_core.data.orientation import Side, find_side, word_of
from bnmf_core.data.sheet import Sheet, Table, texts

_NAME_WORDS = """
id ids index idx name names unnamed:_0 rowname rownames row_names row_id key uid uuid title sample
sample_id sampleid samples gene gene_id geneid genes patient patient_id subject subject_id barcode
cell_id document doc_id image time date day year timestamp
"""
_CLASS_WORDS = """
class classes label labels target targets y cluster clusters group groups category categories type
types species diagnosis outcome batch sex gender condition treatment cell_type celltype tissue grade
stage digit topic party
"""
_NAME_HEADS = frozenset(_NAME_WORDS.split())
_CLASS_HEADS = frozenset(_CLASS_WORDS.split())
HEADS = (_NAME_HEADS | _CLASS_HEADS) - {"y"}
CHOSEN = "chosen by you"
MOST_CLASSES = 30
FEWEST_COUNTED = 3
# A first column of words names the rows if this part of them differ, of so many or more.
NEARLY, FEWEST_NAMES = 0.9, 10
# Columns at an edge of a table, and the least number of columns between the edges with headings of
# classes or names that are features.
EDGE, FEWEST_INSIDE = 20, 3
FEWEST_STEPS = 5
# Relative tolerance of rounded sums.
NEAR_SUM = 1e-3


@dataclass
class Roles:
    """Roles of the columns, counted from 0; reasons by the field names of a Reading."""

    names: int | None = None
    labels: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    yes_no: list[int] = field(default_factory=list)
    observations: str = "rows"
    reasons: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)


class Columns:
    """The columns below the header: counts of numbers and words, and the texts."""

    def __init__(self, sheet: Sheet, table: Table, has_header: bool) -> None:
        self.sheet, self.table, self.has_header = sheet, table, has_header
        self.first = 1 if has_header else 0
        body = sheet.values[self.first :]
        self.rows = len(body)
        self.counts = self.rows - np.isnan(body).sum(axis=0)
        self.words = np.zeros(sheet.width, dtype=np.int64)
        self.truths = np.zeros(sheet.width, dtype=np.int64)
        # Columns of numbers with inconsistent marks.
        self.marked = np.zeros(sheet.width, dtype=bool)
        for column, found in sheet.words.items():
            self.words[column], self.truths[column] = found.count, found.truths
            numbers = self.counts[column] + found.marked
            some = found.marked > (0 if self.counts[column] else found.limits)
            self.marked[column] = some and numbers > found.count - found.marked
        if not has_header:
            for column, cell in enumerate(sheet.head):
                # The first row belongs to the values; its words are not counted yet.
                if np.isnan(sheet.values[0, column]) and not cells.is_missing(cell, table.missing):
                    self.words[column] += 1
                    self.truths[column] += cell.strip().lower() in cells.TRUTH
        self._texts: dict[int, list[str]] = {}

    def fetch(self, columns: set[int]) -> None:
        """Read the texts of these columns in one pass."""
        new = {column for column in columns if column not in self._texts}
        if new:
            self._texts |= texts(self.table, self.sheet, new, self.first)

    def text(self, column: int) -> list[str]:
        """The cells of a column as text."""
        self.fetch({column})
        return self._texts[column]

    def head(self, column: int) -> str:
        """The heading of a column; "" without a header."""
        return self.sheet.head[column].strip() if self.has_header else ""

    def place(self, column: int) -> str:
        """ "Column 3 ('weight')", with the heading if there is one."""
        name = clean_name(self.head(column), 40)
        return f"Column {column + 1}" + (f" ({name!r})" if name else "")

    def cell(self, line: int, column: int) -> str:
        """ "Row 2, column 3 ('weight')"."""
        return f"Row {line}, c{self.place(column)[1:]}"

    def stray(self, column: int) -> str:
        """A sentence on words among the numbers of a column."""
        found = self.sheet.words.get(column)
        if found and (self.has_header or cells.is_number(self.sheet.head[column])):
            line, word = found.first[0]
        else:
            line, word = int(self.sheet.lines[0]), self.sheet.head[column]
        shown = clean_name(word, 40)
        more = int(self.words[column]) - 1
        others = f" Nor do {more:,} more of its cells hold plain numbers." if more > 1 else ""
        hint = cells.remedy(word, self.table.decimal_comma)
        option = cells.missing_option(word)
        hint = hint or f" If {shown!r} means that nothing was seen, say so ({option})."
        return (
            f"{self.cell(line, column)} holds {shown!r}, but the column is one of numbers."
            f"{others}{hint}"
        )

    def differ(self, column: int) -> bool:
        """Whether all non-empty cells of a column differ."""
        found = [cell for cell in self.text(column) if cell.strip()]
        return len(set(found)) == len(found)

    def nearly_differ(self, column: int) -> bool:
        """Whether few of the cells of a column repeat another."""
        return len(set(self.text(column))) >= NEARLY * self.rows >= NEARLY * FEWEST_NAMES


def find_roles(
    sheet: Sheet, table: Table, has_header: bool, chosen: dict[str, Any]
) -> tuple[Roles, Columns]:
    """Assign roles to all columns; ``chosen`` : fixed roles, columns from 0."""
    columns, roles = Columns(sheet, table, has_header), Roles()
    few = (columns.words > columns.counts) & ~columns.marked
    holds_words = np.flatnonzero(few).tolist()
    yes_no = {c for c in holds_words if columns.truths[c] == columns.words[c]}
    named = {
        c for c in range(sheet.width) if word_of(columns.head(c)) in _NAME_HEADS | _CLASS_HEADS
    }
    columns.fetch({0, sheet.width - 1} | named | ({*holds_words} - yes_no))
    _find_names(roles, columns, [c for c in holds_words if c not in yes_no], chosen)
    free = [c for c in range(sheet.width) if c != roles.names]
    known = columns.counts.astype(bool) | columns.marked
    numbers = [c for c in free if known[c] and not few[c]]
    words = [c for c in free if few[c]]
    # Columns of yes and no are numbers if they are the majority, else classes.
    answers = [c for c in free if c in yes_no]
    if len(answers) > len(numbers):
        roles.yes_no = answers
        words = [c for c in words if c not in yes_no]
        roles.reasons["yes_no_columns"] = f"{len(answers):,} columns hold only yes and no"
        roles.doubts.append(f"{len(answers):,} columns hold yes and no in words: taken as 1 and 0.")
    classes = _find_classes(columns, numbers, roles)
    side = _side(roles, columns, [*classes, *words], [*numbers, *roles.yes_no])
    if "observations" in chosen:
        side = Side(chosen["observations"], CHOSEN)
    roles.observations, roles.reasons["observations"] = side.observations, side.reason
    roles.doubts += [side.doubt] if side.doubt else []
    _assign(roles, columns, classes, words, numbers, chosen)
    if not chosen.keys() & {"number_columns", "left_out_columns"}:
        _doubt_sums(columns, roles)
    return roles, columns


def _find_names(
    roles: Roles, columns: Columns, words: Sequence[int], chosen: dict[str, Any]
) -> None:
    """Choose the column of names."""
    if "names_column" in chosen:
        roles.names, roles.reasons["names_column"] = chosen["names_column"], CHOSEN
        return
    roles.reasons["names_column"] = "no column names the rows"
    candidates = [0] if columns.counts[0] or columns.words[0] else []
    candidates += [c for c in words if c]
    of_words = {*words}
    candidates += [
        c
        for c in range(1, columns.sheet.width)
        if c not in of_words and word_of(columns.head(c)) in _NAME_HEADS
    ]
    by_columns = chosen.get("observations") == "columns"
    for column in candidates:
        head = word_of(columns.head(column))
        unnamed, known = column == 0 and columns.has_header and not head, head in _NAME_HEADS
        if column in of_words:
            why, doubt = _words_name(columns, column, unnamed, known, by_columns)
        else:
            why, doubt = _numbers_name(columns, column, unnamed, known)
        if why:
            roles.names, roles.reasons["names_column"] = column, why
            roles.doubts += [doubt] if doubt else []
            return


def _words_name(
    columns: Columns, column: int, unnamed: bool, known: bool, by_columns: bool
) -> tuple[str, str]:
    """Why a column of words names the rows, and a doubt; "" if it does not."""
    differ = columns.differ(column)
    if column == 0 and differ:
        return "its words all differ", ""
    if column == 0 and columns.nearly_differ(column):
        return "nearly all of its words differ", ""
    if unnamed:
        place = columns.place(column)
        return "its header is empty", f"{place} has no header and repeats words: taken as names."
    if known and differ:
        return f"it is headed {columns.head(column)!r} and its words all differ", ""
    if column == 0 and by_columns:
        return "it is the first column, and the rows are features", ""
    return "", ""


def _numbers_name(columns: Columns, column: int, unnamed: bool, known: bool) -> tuple[str, str]:
    found, place = columns.text(column), columns.place(column)
    counted, differ = cells.counts_from(found), columns.differ(column)
    long = column == 0 and len(found) >= FEWEST_COUNTED
    why = predicate = ""
    if counted is not None and (known or unnamed or long):
        series = f"{counted}, {counted + 1}, {counted + 2}, …"
        why, predicate = f"it counts {series}", f"counts {series}"
    elif (column == 0 or known) and differ and cells.are_dates(found):
        why, predicate = "it holds dates that all differ", "holds dates"
    elif unnamed:
        why = "its header is empty"
        predicate = "has no header" + ("" if differ else " and repeats itself")
    elif known and differ and cells.whole([cell for cell in found if cell.strip()]) is not None:
        why = f"it is headed {columns.head(column)!r} and its whole numbers all differ"
        predicate = "holds whole numbers that all differ"
    elif known and differ and _rises(columns, column):
        why = f"it is headed {columns.head(column)!r} and rises from row to row"
        predicate = "holds numbers that rise from row to row"
    return why, f"{place} {predicate}: taken as names, not as a feature." if why else ""


def _rises(columns: Columns, column: int) -> bool:
    steps = np.diff(columns.sheet.values[columns.first :, column])
    return bool((steps > 0).all())


def _find_classes(columns: Columns, numbers: Sequence[int], roles: Roles) -> dict[int, str]:
    """Columns of numbers that are labels, with a sentence each."""
    found: dict[int, str] = {}
    body = columns.sheet.values[columns.first :]
    vocabulary = _vocabulary(columns, numbers, roles)
    for column in sorted({*numbers} - {*vocabulary}):
        head, place = word_of(columns.head(column)), columns.place(column)
        levels = _levels(body[:, column]) if head in _CLASS_HEADS else 0
        if levels:
            found[column] = (
                f"{place} holds {levels} different whole numbers and is headed like a class: taken "
                "as a label, not as a feature."
            )
        elif head in ("date", "day", "timestamp") and cells.are_dates(columns.text(column)):
            found[column] = f"{place} holds dates: taken as a label, not as a feature."
        elif head in _CLASS_HEADS and head not in _NAME_HEADS:
            roles.doubts.append(f"{place} is headed like a class: taken as a feature.")
        elif head in _NAME_HEADS:
            if cells.whole(columns.text(column)) is not None and not columns.differ(column):
                found[column] = f"{place} is headed like names, and repeats: taken as a label."
            elif roles.reasons["names_column"] != CHOSEN and not head.startswith("unnamed:"):
                roles.doubts.append(f"{place} is headed like names: taken as a feature.")
    if columns.has_header:
        _doubt_whole_among_fractions(columns, [c for c in numbers if c not in found], roles)
    last = numbers[-1] if len(numbers) > 2 else -1
    headed = columns.head(last) and not cells.is_number(columns.head(last))
    if last < 0 or last in found or headed:
        return found
    levels, others = _levels(body[:, last]), body[:, list(numbers[:-1])]
    whole = cells.whole(columns.text(last)) if last == columns.sheet.width - 1 else None
    # Classes in the last column without a header: few integers, each several times.
    if whole and levels and set(whole) in (set(range(levels)), set(range(1, levels + 1))):
        span = f"{columns.place(last)} holds the whole numbers {min(whole)} to {max(whole)}"
        if _fractions(others) > 0.5 and min(Counter(whole).values()) > 1:
            found[last] = f"{span}, and most others fractions: taken as a label, not as a feature."
        elif levels > 2 and len(whole) >= 10 * levels:
            roles.doubts.append(f"{span}, each many times: taken as a feature, not as a label.")
    return found


def _vocabulary(columns: Columns, numbers: Sequence[int], roles: Roles) -> list[int]:
    """Columns headed like classes or names that are words of a vocabulary."""
    # Columns of classes are at an edge of a table.
    inside = [c for c in numbers[EDGE:-EDGE] if word_of(columns.head(c)) in HEADS]
    if len(inside) < FEWEST_INSIDE:
        return []
    named = listed(clean_name(columns.head(c), 40) for c in inside)
    roles.doubts.append(
        f"The columns {named} are headed like classes or names, among {len(numbers):,} columns "
        "of numbers: taken as features."
    )
    return inside


def _doubt_whole_among_fractions(columns: Columns, numbers: Sequence[int], roles: Roles) -> None:
    """Add a doubt about columns of a few integers among fractions, which may be classes."""
    values = columns.sheet.values[columns.first :][:, list(numbers)]
    if len(numbers) < 3 or _fractions(values) <= 0.5:
        return
    for column, of_column in zip(numbers, values.T, strict=True):
        levels, seen = _levels(of_column), of_column[~np.isnan(of_column)]
        run = set(range(levels)), set(range(1, levels + 1))
        if levels > 1 and set(seen.astype(int)) in run and len(seen) >= 5 * levels:
            roles.doubts.append(
                f"{columns.place(column)} holds the whole numbers {seen.min():.0f} to "
                f"{seen.max():.0f}, and most others fractions: taken as a feature, not as a label."
            )


def _doubt_sums(columns: Columns, roles: Roles) -> None:
    """Add a doubt about columns and a last row that hold the sums of the others."""
    numbers = sorted({*roles.numbers} - {*roles.yes_no})
    values = np.nan_to_num(columns.sheet.values[columns.first :][:, numbers])
    if min(values.shape) <= FEWEST_COUNTED:
        return
    of_rows = np.isclose(2.0 * values, values.sum(axis=1)[:, None], rtol=NEAR_SUM, atol=0.0)
    for column in np.flatnonzero(of_rows.all(axis=0) & values.any(axis=0)):
        place = columns.place(numbers[column])
        roles.doubts.append(f"{place} is the sum of all others in every row: taken as a feature.")
    of_last = np.isclose(2.0 * values[-1], values.sum(axis=0), rtol=NEAR_SUM, atol=0.0)
    if of_last.all() and values[-1].any():
        line = columns.sheet.lines[-1]
        roles.doubts.append(f"Row {line} is the sum of all others: taken as a row like them.")


def _fractions(values: np.ndarray) -> float:
    """The part of columns with a non-integer number."""
    return float((np.nan_to_num(values) % 1 != 0).any(axis=0).mean())


def _levels(values: np.ndarray) -> int:
    """Number of classes that integers may encode; 0 if they cannot."""
    seen = values[~np.isnan(values)]
    levels = np.unique(seen)
    fits = len(levels) <= MOST_CLASSES and len(levels) < len(seen) and not (levels % 1).any()
    return len(levels) if fits else 0


def _side(roles: Roles, columns: Columns, classes: Sequence[int], numbers: Sequence[int]) -> Side:
    names: list[str] = []
    corner = ""
    if roles.names is not None:
        names, corner = columns.text(roles.names), columns.head(roles.names)
    heads = [columns.head(column) for column in numbers] if columns.has_header else []
    repeats = (c for c in classes if len(set(columns.text(c))) < columns.rows)
    labelled = next((columns.place(c).removeprefix("Column ") for c in repeats), "")
    return find_side(names, heads, corner, labelled)


def _assign(
    roles: Roles,
    columns: Columns,
    classes: dict[int, str],
    words: Sequence[int],
    numbers: Sequence[int],
    chosen: dict[str, Any],
) -> None:
    """Choose labels and numbers, and add doubts about columns that are left out."""
    by_rows = roles.observations == "rows"
    # Words in rows of features are descriptions.
    labels = sorted([*classes, *words] if by_rows else words)
    heads = {c: word_of(columns.head(c)) for c in numbers}
    # An index of pandas: without a heading, or "Unnamed: 0".
    series = {
        c
        for c, head in heads.items()
        if head.startswith("unnamed:") or (c == 0 and not head and columns.has_header)
    }
    columns.fetch(series)
    series = {c for c in series if cells.counts_from(columns.text(c)) is not None}
    if "label_columns" in chosen:
        labels = [c for c in chosen["label_columns"] if c != roles.names]
        roles.reasons["label_columns"] = CHOSEN
    else:
        roles.doubts += [classes[c] for c in labels if by_rows and c in classes]
        roles.doubts += [
            f"{columns.place(c)} holds yes and no: taken as a label, not as 1 and 0."
            for c in sorted({*labels} & {*words})
            if columns.truths[c] == columns.words[c]
        ]
        reason = "they hold words or classes" if labels else "no column holds words or classes"
        roles.reasons["label_columns"] = reason
    if "number_columns" in chosen:
        others = {*labels, roles.names}
        roles.numbers = [c for c in chosen["number_columns"] if c not in others]
        roles.reasons["number_columns"] = CHOSEN
    elif "left_out_columns" in chosen:
        others = {*chosen["left_out_columns"], *labels, roles.names}
        roles.numbers = [c for c in range(columns.sheet.width) if c not in others]
        roles.reasons["number_columns"] = "the columns that are left, as chosen by you"
    else:
        roles.numbers = sorted(({*numbers} - series | {*roles.yes_no}) - {*labels, *words})
        roles.reasons["number_columns"] = "they hold numbers"
    roles.labels = sorted(labels)
    first = min(roles.numbers, default=-1)
    if first == 0 and columns.rows >= FEWEST_STEPS and _rises(columns, 0):
        roles.doubts.append(
            f"{columns.place(0)} rises from row to row, as names or a time may: taken as a feature."
        )
    roles.yes_no = sorted({*roles.yes_no} & {*roles.numbers})
    if chosen.keys() & {"number_columns", "left_out_columns"}:
        return
    last = columns.sheet.width - 1
    for c in sorted({*range(last + 1)} - {*roles.labels, *roles.numbers, roles.names}):
        if c in series:
            why = "counts the rows once more"
        elif columns.words[c] > columns.counts[c]:
            why = "holds words"
        elif columns.counts[c] or (c == last and not columns.head(c)):
            continue
        else:
            why = "holds no value"
        roles.doubts.append(f"{columns.place(c)} {why}: left out.")
