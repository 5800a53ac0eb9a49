"""Readers of our own, which share no step with the program's: what the same bytes hold.

Each takes the content and the Reading and gives the matrix as it lies in the file, NaN where
nothing was seen. What it does not know raises; such files are read, and not compared.
"""

import csv
import gzip
import io
import math
import re
import tarfile
import zipfile
from collections import Counter
from xml.etree import ElementTree

import h5py
import numpy as np
import pandas as pd
import scipy.io
from PIL import Image
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
# One thousand or more, an amount of dollars, or a percentage.
MARKED = re.compile(r"\$?[1-9]\d{0,2}(,\d{3})*(\.\d+)?%?|\$?0(\.\d+)?%?")
WORD = re.compile(r"\b\w\w+\b")
XML = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
TRUTH = {"yes": 1.0, "no": 0.0, "y": 1.0, "n": 0.0, "true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0}
LEVELS = {"L": 255.0, "I;16": 65_535.0, "I": 1.0, "F": 1.0}


def held(content, reading):
    """The matrix of the content, features in rows."""
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    matrix = np.asarray(READERS[reading.format](content, reading), dtype=float)
    return matrix.T if reading.observations == "rows" else matrix


def _number(cell, comma=False):
    cell = cell.strip()
    if cell.lower() in MISSING:
        return math.nan
    cell = cell.replace(",", ".") if comma else cell
    cell = re.sub("[$,%]", "", cell) if MARKED.fullmatch(cell) else cell
    if not NUMBER.fullmatch(cell):
        raise ValueError(cell)
    whole, _, exponent = cell.lower().partition("e")
    sign = -1 if whole.startswith("-") else 1
    before, _, after = whole.lstrip("+-").partition(".")
    # The digits as one whole number over a power of ten, which Python divides exactly.
    power = int(exponent or 0) - len(after)
    digits = int(before + after or "0")
    return sign * (digits * 10**power if power >= 0 else digits / 10**-power)


def _of_rows(rows, reading):
    """Numbers from rows of cells by the line of the file on which they stand."""
    comma, first = reading.decimal_mark == ",", reading.header_row or 0
    body = [row for line, row in rows.items() if line > first and any(c.strip() for c in row)]
    for column in range(1, max(map(len, body)) + 1):
        filled = [row[column - 1].strip() for row in body if row[column - 1].strip()]
        used = {reading.names_column, *reading.number_columns}
        if filled and all(NUMBER.fullmatch(cell) for cell in filled) and column not in used:
            return np.full((1, 1), np.nan)  # a feature that was lost
    return [
        [
            TRUTH[row[column - 1].strip().lower()]
            if column in reading.yes_no_columns
            else _number(row[column - 1], comma)
            for column in reading.number_columns
        ]
        for row in body
    ]


def _lines(content, reading):
    text = content.decode(reading.encoding)
    if '"' not in text:
        lines = enumerate(re.split("\r\n|\n|\r", text), 1)
        return {line: cells.split(reading.separator) for line, cells in lines if cells}
    cut, rows = csv.reader(io.StringIO(text), delimiter=reading.separator), {}
    for row in cut:
        rows[cut.line_num] = row
    return rows


def _table(content, reading):
    return _of_rows(_lines(content, reading), reading)


def _gct(content, reading):
    rows = _lines(content, reading)
    about = int((rows[2] + ["0", "0"])[3])
    return _of_rows({line: row for line, row in rows.items() if line > 3 + about}, reading)


def _npy(content, _):
    return np.load(io.BytesIO(content), allow_pickle=False)


def _npz(content, _):
    arrays = dict(np.load(io.BytesIO(content), allow_pickle=False))
    if "format" in arrays:
        kind = str(arrays["format"].astype(str))
        return _filled(kind, [arrays[k] for k in _PARTS[kind]], arrays["shape"])
    X = arrays["X"] if "X" in arrays else next(iter(arrays.values()))
    return np.where(arrays["mask"], X, np.nan) if "mask" in arrays else X


_PARTS = {
    "coo": ("data", "row", "col"),
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
}


def _filled(kind, arrays, shape):
    data, first, second = arrays
    matrix = np.zeros(tuple(map(int, shape)))
    if kind != "coo":
        lines = np.repeat(np.arange(len(second) - 1), np.diff(second.astype(int)))
        first, second = (lines, first) if kind == "csr" else (first, lines)
    for row, column, value in zip(first, second, data, strict=True):
        matrix[int(row), int(column)] += float(value)
    return matrix


def _mtx(content, _):
    head, *lines = [line for line in content.decode("ascii").splitlines() if line.strip()]
    size, *entries = [line.split() for line in lines if not line.startswith("%")]
    *_, layout, field, symmetry = head.lower().split()
    assert symmetry == "general" and field in ("real", "integer", "double")
    rows, columns = int(size[0]), int(size[1])
    if layout == "array":
        return np.reshape([_number(value) for (value,) in entries], (columns, rows)).T
    matrix = np.zeros((rows, columns))
    for row, column, value in entries:
        matrix[int(row) - 1, int(column) - 1] += _number(value)
    return matrix


def _mat(content, reading):
    name = reading.settings["matrix"]
    if content[512:516] == b"\x89HDF":
        with h5py.File(io.BytesIO(content)) as file:
            return file[name][()].T
    return scipy.io.loadmat(io.BytesIO(content), variable_names=[name])[name]


def _group(group, shape, kind):
    return _filled(kind, [group[name][()] for name in _PARTS[kind]], shape)


def _h5ad(content, reading):
    with h5py.File(io.BytesIO(content)) as file:
        X = file[reading.settings["matrix"]]
        return _group(X, X.attrs["shape"], X.attrs["encoding-type"][:3])


def _10x(content, _):
    if content.startswith(b"\x89HDF"):
        with h5py.File(io.BytesIO(content)) as file:
            return _group(file["matrix"], file["matrix/shape"][()], "csc")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        name = next(name for name in archive.getnames() if name.endswith("matrix.mtx"))
        return _mtx(archive.extractfile(name).read(), None)


def _xlsx(content, reading):
    """Cells of the first sheet by the places that they say."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        words = []
        if "xl/sharedStrings.xml" in archive.namelist():
            table = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
            words = ["".join(one.itertext()) for one in table.findall(f"{XML}si")]
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    found = {}
    for cell in sheet.iter(f"{XML}c"):
        letters, line = re.fullmatch(r"([A-Z]+)(\d+)", cell.get("r")).groups()
        column = sum((ord(c) - 64) * 26**i for i, c in enumerate(reversed(letters)))
        value = cell.find(f"{XML}v")
        text = "".join(cell.itertext()) if cell.get("t") == "inlineStr" else ""
        if value is not None and value.text:
            text = words[int(value.text)] if cell.get("t") == "s" else value.text
        found[int(line), column] = text
    width = max(column for _, column in found)
    lines = sorted({line for line, _ in found})
    rows = {line: [found.get((line, c), "") for c in range(1, width + 1)] for line in lines}
    return _of_rows(rows, reading)


def _parquet(content, reading):
    frame = pd.read_parquet(io.BytesIO(content))
    values = [frame[name].map(lambda v: _number(str(v))) for name in frame.columns]
    kept = [column - 1 - (len(reading.columns) - len(values)) for column in reading.number_columns]
    return np.column_stack([values[place] for place in kept])


def _images(content, _):
    rows = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            image = Image.open(io.BytesIO(archive.read(name)))
            if image.mode == "P":  # numbers of colours, of which the lightness is meant
                colours = np.asarray(image.convert("RGB"), dtype=int) @ [19_595, 38_470, 7_471]
                image = Image.fromarray(np.uint8((colours + 2**15) >> 16))
            largest = 65_535.0 if image.format in ("PPM", "PNG") and image.mode == "I" else 0.0
            rows.append(np.asarray(image).ravel("F") / (largest or LEVELS[image.mode]))
    return rows


def _texts(content, _):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    counts = [Counter(WORD.findall(text.lower())) for text in texts]
    of_texts = Counter(word for one in counts for word in one)
    kept = [w for w, n in of_texts.items() if 2 <= n <= len(texts) / 2]
    kept = sorted(set(kept) - ENGLISH_STOP_WORDS)
    return [[one[word] for word in kept] for one in counts]


def _transactions(content, _):
    baskets = [{*map(int, line.split())} for line in content.decode("ascii").splitlines()]
    items = sorted(set().union(*baskets))
    return [[item in basket for item in items] for basket in baskets if basket]


READERS = {
    **{"table": _table, "gct": _gct, "npy": _npy, "npz": _npz, "mtx": _mtx, "mat": _mat},
    **{"h5ad": _h5ad, "10x": _10x, "xlsx": _xlsx, "parquet": _parquet, "images": _images},
    **{"texts": _texts, "transactions": _transactions},
}
