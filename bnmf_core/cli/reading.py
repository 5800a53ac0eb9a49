"""``inspect``, and the options for reading files that other commands share."""

import argparse
from pathlib import Path
from typing import Any

from bnmf_core.analysis.proposal import proposal
from bnmf_core.cli.inputs import pairs
from bnmf_core.cli.output import Commands, Output
from bnmf_core.core.errors import DataError, NotFoundError, SettingsError
from bnmf_core.data.formats import FORMATS
from bnmf_core.data.load import inspect_file, load_file
from bnmf_core.data.reading import AXES, NEGATIVE, SEPARATORS, Reading, negative_hint

NONE = "none"
DECIMALS = {"point": ".", "comma": ","}
# Choices of a Reading and their labels.
SHOWN = {
    "format": "taken as",
    "encoding": "encoding",
    "separator": "separator",
    "decimal_mark": "decimal mark",
    "header_row": "header row",
    "names_column": "column of names",
    "label_columns": "columns of labels",
    "number_columns": "columns of numbers",
    "yes_no_columns": "columns of yes and no",
    "observations": "observations in",
    "image_shape": "image shape",
    "pixel_order": "pixels along",
    "negative": "negative entries",
    "features_are": "features are",
}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add options for reading a file; omitted ones are inferred."""
    group = command.add_argument_group("how a file is read (default: inferred from the file)")
    group.add_argument("--observations", choices=AXES, help="where a file has them")
    group.add_argument("--format", choices=list(FORMATS), help="what kind of file it is")
    group.add_argument("--encoding", metavar="NAME", help="of a table: utf-8, cp1252, cp932, …")
    group.add_argument("--separator", choices=list(SEPARATORS.values()), help="of cells")
    group.add_argument("--decimal", choices=list(DECIMALS), help="the decimal mark")
    group.add_argument("--header", metavar="ROW", help="row that names the columns, or none")
    group.add_argument("--names", metavar="COLUMN", help="column that names the rows, or none")
    group.add_argument("--labels", metavar="COLUMNS", help="columns of labels: 1,4 or none")
    group.add_argument("--numbers", metavar="COLUMNS", help="columns of numbers: 2,3 or 2:9")
    group.add_argument("--leave-out", metavar="COLUMNS", help="columns that are not read: 2,5")
    group.add_argument(
        "--missing", action="append", metavar="WORD", help="a word for missing entries"
    )
    group.add_argument(
        "--negative",
        choices=list(NEGATIVE),
        help="negative entries, such as noise below a baseline: refuse, set to 0, or mark as "
        "missing",
    )
    group.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="options of the format, as inspect lists them: sheet=…, matrix=…, weighting=…",
    )
    group.add_argument(
        "--join",
        action="append",
        default=[],
        metavar="[SIDE=]FILE",
        help="names or labels of one SIDE, observations or features, joined by name or by order",
    )
    group.add_argument(
        "--image-shape",
        metavar="HEIGHTxWIDTH",
        help="image shape, if features or observations are pixels: 50x50",
    )
    group.add_argument(
        "--pixel-order",
        choices=AXES,
        help="order of pixels: down columns (MATLAB) or along rows (NumPy)",
    )
    group.add_argument(
        "--features-are", metavar="NOUN", help="noun for features: genes, species, …"
    )


def choices(options: argparse.Namespace) -> dict[str, Any]:
    """The options as choices of :func:`bnmf_core.inspect_file`.

    Raises
    ------
    SettingsError
        When an option is invalid.
    """
    by_word = {word: separator for separator, word in SEPARATORS.items()}
    chosen: dict[str, Any] = {}
    for key, value in (
        ("observations", options.observations),
        ("format", options.format),
        ("encoding", options.encoding),
        ("separator", by_word.get(options.separator)),
        ("decimal_mark", DECIMALS.get(options.decimal)),
        ("features_are", options.features_are),
        ("pixel_order", options.pixel_order),
        ("negative", options.negative),
        ("missing_words", tuple(options.missing) if options.missing else None),
    ):
        if value is not None:
            chosen[key] = value
    if options.header is not None:
        chosen["header_row"] = _row(options.header)
    if options.names is not None:
        chosen["names_column"] = None if options.names == NONE else options.names
    for key, text in (
        ("label_columns", options.labels),
        ("number_columns", options.numbers),
        ("left_out_columns", options.leave_out),
    ):
        if text is not None:
            chosen[key] = () if text == NONE else _columns(text)
    if options.reading:
        chosen["settings"] = pairs(options.reading, "--reading")
    if options.image_shape is not None:
        chosen["image_shape"] = shape(options.image_shape)
    return chosen


def shape(text: str) -> tuple[int, int]:
    """Parse an image shape such as "50x50".

    Raises
    ------
    SettingsError
        When it is something else.
    """
    height, by, width = text.lower().replace("×", "x").partition("x")
    if not (by and height.strip().isdigit() and width.strip().isdigit()):
        raise SettingsError(f"The image shape was {text!r}; write it as height x width: 50x50.")
    return int(height), int(width)


def add_commands(commands: Commands) -> None:
    """Add ``inspect``."""
    words = "show how a file would be read, and why, without running anything"
    command = commands.add("inspect", words, inspect)
    command.add_argument("file", help="a file")
    add_options(command)


def inspect(options: argparse.Namespace, output: Output) -> None:
    """Print the reading of a file and the proposed model."""
    if not Path(options.file).is_file():
        raise NotFoundError(f"There is no file {options.file!r}.")
    reading = inspect_file(options.file, chosen=choices(options))
    suited, advice = None, ""
    if not reading.faults:
        try:
            dataset = load_file(options.file, reading=reading)
            suited = proposal(dataset)
            advice = f"{suited.sentence} {dataset.empty}".rstrip()
        except DataError as error:  # such as a matrix of one row
            advice = f"? {error}"

    def show() -> None:
        output.say(f"Read as {reading.what}.")
        rows = [
            (words, _shown(reading, key), reading.reasons.get(key, ""))
            for key, words in SHOWN.items()
            if getattr(reading, key) not in (None, "", ()) or key in reading.reasons
            if key != "pixel_order" or reading.image_shape
        ]
        output.table(["choice", "taken", "because"], rows)
        if reading.offers:
            output.table(
                ["--reading …", "taken", "offered"],
                [
                    (key, str(reading.settings[key]), ", ".join(map(str, offered)))
                    for key, offered in reading.offers.items()
                ],
            )
        preview = reading.preview
        output.table(
            ["row", *(str(column + 1) for column in range(_width(reading)))],
            [
                [line, *cells[: _width(reading)], *[""] * (_width(reading) - len(cells))]
                for line, cells in zip(preview.lines, preview.rows, strict=True)
            ],
            f"The first of {preview.height:,} rows and {preview.width:,} columns:",
        )
        for sentence in reading.doubts:
            output.say(f"? {sentence}")
        for sentence in reading.faults:
            output.say(f"! {sentence}")
        if advice:
            output.say(advice)

    document = reading.plain()
    if suited is not None:
        numbers = {"kind": suited.numbers.kind, "model": suited.model, "reason": suited.reason}
        document["numbers"] = numbers
    output.result(document, show)
    if reading.faults:
        hint = negative_hint(reading, "--negative")
        raise DataError(f"The file cannot be read this way. Change it, or how it is read.{hint}")


def _width(reading: Reading) -> int:
    return min(8, max(map(len, reading.preview.rows), default=0))


def _shown(reading: Reading, key: str) -> str:
    value = getattr(reading, key)
    if key == "separator":
        return SEPARATORS.get(value, value)
    if key == "image_shape" and value:
        return f"{value[0]}×{value[1]}"
    if key.endswith(("column", "columns")):
        columns = [value] if isinstance(value, int) else list(value or ())
        shown = [reading.column_name(column) for column in columns[:6]]
        more = len(columns) - len(shown)
        return ", ".join(shown) + (f" and {more:,} more" if more else "") or NONE
    return NONE if value is None else str(value)


def _row(text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdigit() or int(text) < 1:
        raise SettingsError(f"--header was {text!r}; give a row of the file from 1 on, or none.")
    return int(text)


def _columns(text: str) -> tuple[int | str, ...]:
    found: list[int | str] = []
    for word in text.split(","):
        first, colon, last = word.partition(":")
        if colon and first.strip().isdigit() and last.strip().isdigit():
            found += range(int(first), int(last) + 1)
        else:
            found.append(word.strip())
    return tuple(found)
