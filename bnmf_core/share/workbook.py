"""An analysis as an Excel workbook: findings, modes, factors, factorizations, runs and methods."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from bnmf_core.core.names import numbered
from bnmf_core.findings import verdicts
from bnmf_core.findings.answer import Answer
from bnmf_core.lazy import lazy
from bnmf_core.share.methods import methods
from bnmf_core.share.pictures import Subject
from bnmf_core.share.report import COLUMNS
from bnmf_core.share.sections import RUN_HEADS, run_rows

if TYPE_CHECKING:
    import openpyxl
    from openpyxl.cell import cell as cells
else:
    openpyxl = lazy("openpyxl")
    cells = lazy("openpyxl.cell.cell")

# Largest numbers of rows of a sheet and of modes.
MOST_ROWS, MOST_MODES = 5_000, 8
# Largest number of characters in a cell.
LONGEST = 32_000
# Columns of the table of modes and their headings.
OF_MODES = {
    "found_by": "found by",
    "draws": "draws",
    "below_best": "log joint below best (nats)",
    "mass": "posterior mass",
    "mass_low": "mass from",
    "mass_high": "mass to",
    "size": "factorizations",
    "spread": "spread",
    "nearest": "nearest mode",
    "best_error": "best error",
}


def write_workbook(file: BinaryIO, answer: Answer) -> None:
    """Write the workbook; no cell of it is a formula.

    Long tables are cut to their first rows, components to the rows with the largest entries; the
    first row of the sheet then says so.
    """
    subject, comparison = Subject(answer), answer.comparison
    book = openpyxl.Workbook(write_only=True)
    leading = verdicts.leading(answer)[:MOST_MODES]
    rows = answer.modes.representative[[0, *leading]]
    # Matched with the first mode, which numbers the components.
    A, W = (of[1:] for of in comparison.aligned_factors(rows))
    named = numbered([note.name if note else "" for note in answer.named.of_components(A[0])])
    heads = [f"{answer.mode_names[k]}, component {name}" for k in leading for name in named]
    _sheet(
        book,
        "findings",
        ("", "finding", "doubt"),
        [
            *(
                (name, verdict.word, verdict.sentence)
                for name, verdict in verdicts.of(answer).items()
            ),
            *(("", finding.sentence, finding.doubt) for finding in answer.findings),
        ],
    )
    table = answer.table[list(OF_MODES)].to_numpy(dtype=object)
    _sheet(
        book,
        "modes",
        ("mode", *OF_MODES.values()),
        [(name, *row) for name, row in zip(answer.mode_names, table, strict=True)],
    )
    dataset = comparison.dataset
    scaled = A / np.maximum(A.max(axis=1, keepdims=True), 1e-300)
    largest = np.argsort(-scaled.max(axis=(0, 2)), kind="stable")[:MOST_ROWS]
    _sheet(
        book,
        "components",
        (dataset.feature_noun, *dataset.descriptions, *heads),
        _factor(np.sort(largest), dataset.features, dataset.descriptions.values(), A),
        of=dataset.D,
    )
    seen = comparison.seen_dataset
    _sheet(
        book,
        "weights",
        ("observation", *seen.labels, *heads),
        _factor(
            np.arange(min(seen.N, MOST_ROWS)),
            seen.observations,
            seen.labels.values(),
            W.transpose(0, 2, 1),
        ),
        of=seen.N,
    )
    columns = COLUMNS | {"error": comparison.measure}
    members = subject.members[list(columns)].head(MOST_ROWS)
    _sheet(
        book,
        "factorizations",
        columns.values(),
        members.to_numpy(dtype=object),
        of=len(subject.members),
    )
    _sheet(book, "runs", RUN_HEADS, run_rows(subject))
    _sheet(book, "methods", ("methods",), [(line,) for line in methods(answer).splitlines()])
    book.save(file)


def _factor(
    chosen: np.ndarray, names: Sequence[str], descriptions: Iterable[np.ndarray], values: np.ndarray
) -> list[tuple[Any, ...]]:
    """A row for each chosen name: its descriptions, and its entries in values (K, names, R)."""
    words, flat = list(descriptions), np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)
    return [(names[i], *(of[i] for of in words), *flat[i].tolist()) for i in chosen.tolist()]


def _sheet(
    book: "openpyxl.Workbook",
    title: str,
    heads: Iterable[str],
    rows: Iterable[Sequence[Any]],
    of: int = 0,
) -> None:
    """Write a sheet; ``of`` : total number of rows, if it may exceed the limit."""
    sheet = book.create_sheet(title)
    if of > MOST_ROWS:
        sheet.append([_cell(sheet, f"{MOST_ROWS:,} of {of:,} rows; all are in the archive.")])
    for row in (tuple(heads), *rows):
        sheet.append([_cell(sheet, value) for value in row])


def _cell(sheet: Any, value: Any) -> Any:
    """A number, text that is never a formula, or None for a missing number."""
    if isinstance(value, str):
        shown = cells.ILLEGAL_CHARACTERS_RE.sub("", value)[:LONGEST]
        made = cells.WriteOnlyCell(sheet, shown)
        made.data_type = "s"
        return made
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not np.isfinite(plain) else plain
