"""Small files of every kind that people bring, each with its matrix; and what is done to them."""

import gzip
import io
import re
import zipfile

import numpy as np
import scipy.io
from PIL import Image
from scipy import sparse

from tests.data import formatted
from tests.data.formatted import archive
from tests.data.layout import VALUES, csv, frame, saved, with_column
from tests.data.test_true_numbers import LEVELS, SHEET, changed, pgm, picture, zipped
from tests.data.written import npz

WORDS = ["amber birch", "birch cedar", "cedar dune", "dune elm", "elm amber", "fern fern"]
TEXTS = {f"kind{i % 2}/{i}.txt": words.encode() for i, words in enumerate(WORDS)}
CELLS = {
    "matrix.mtx": saved(scipy.io.mmwrite, sparse.coo_array(VALUES)),
    "barcodes.tsv": "\n".join(f"cell{n}" for n in range(VALUES.shape[1])).encode(),
    "features.tsv": "\n".join(f"gene{n}" for n in range(VALUES.shape[0])).encode(),
}
# Features in rows, as the program has them.
X = VALUES.T
GREYS = np.array([np.ravel(formatted.GREY, "F"), np.ravel(formatted.GREY[::-1], "F")])


def marked(cells):
    """A table with such a column."""
    return with_column(frame(), 1, "m", cells)


def with_marks(values):
    return np.insert(X, 1, values, axis=0)


def images(array, kind, ending):
    """A zip of an image and of the same upside down."""
    return zipped(*(picture(one, kind) for one in (array, array[::-1])), ending=ending)


def upright(array):
    return np.column_stack([one.ravel("F") for one in (array, array[::-1])])


def several(kind, ending):
    """A zip of two files with two pages or frames each."""
    pages = [Image.fromarray(np.uint8(formatted.GREY) // n) for n in (1, 3)]
    files = [
        saved(one.save, format=kind, save_all=True, append_images=pages[1:]) for one in pages[:1]
    ]
    return zipped(*files, *files, ending=ending)


def without_observations(opened):
    matrix = sparse.csr_array(VALUES)
    group = opened.create_group("X")
    group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
    for name in ("data", "indices", "indptr"):
        group[name] = getattr(matrix, name)


def shuffled(content):
    """A workbook whose rows stand in another order."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        xml = opened.read("xl/worksheets/sheet1.xml")
    rows = re.findall(rb"<row .*?</row>", xml, re.DOTALL)
    return changed(content, rb"<row .*</row>", b"".join([rows[0], *rows[:0:-1]]))


def without_value(formula):
    return changed(SHEET, rb'(<c r="B3"[^>]*>)<v>[^<]*</v>', rb"\1<f>%s</f>" % formula)


UNSEEN = np.where(np.arange(12).reshape(3, 4) == 5, np.nan, X)  # B3
REAL = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
WHOLES = (np.arange(6, dtype=np.int32) * 100_000_003).reshape(3, 2)
TWICE = np.array([[0.0, 300, 0], [0, 0, 7]])
COO = {
    "format": np.array(b"coo"),
    "shape": np.array([3, 2]),
    "data": np.array([200, 100, 7], dtype=np.uint8),
    "row": np.array([1, 1, 2]),
    "col": np.array([0, 0, 1]),
}
BASKETS = np.array(
    [np.arange(24) % 3 == i for i in range(3)]
    + [np.arange(24) % 2 == i for i in (0, 1)]
    + [np.arange(24) >= 0]
)
GREY = np.column_stack([np.ravel(formatted.GREY, "F") / 255] * 2)
CSV = csv(frame(), index=False)
WHOLE = {
    "a.csv": (CSV, X),
    "a.tsv": (csv(frame(), sep="\t"), X),
    "a.csv.gz": (gzip.compress(CSV), X),
    "thousands.csv": (
        csv(marked(["1,234", "2,345", "7", "999"]), index=False),
        with_marks([1234, 2345, 7, 999]),
    ),
    "percent.csv": (
        csv(marked(["5%", "7.5%", "9%", "1%"]), index=False),
        with_marks([5, 7.5, 9, 1]),
    ),
    "dollars.csv": (
        csv(marked(["$5", "$7.25", "$8", "6"]), index=False),
        with_marks([5, 7.25, 8, 6]),
    ),
    "a.npy": (saved(np.save, VALUES), X),
    "a.npz": (npz(X=VALUES, features=np.array(["a", "b", "c"])), X),
    "sparse.npz": (saved(sparse.save_npz, sparse.csc_array(VALUES)), X),
    "twice.npz": (saved(np.savez, **COO), TWICE),
    "a.mtx": (saved(scipy.io.mmwrite, VALUES), X),
    "a.mat": (formatted.matlab(X=VALUES), X),
    "newer.mat": (formatted.newer_matlab(X=VALUES), X),
    "a.h5ad": (formatted.hdf5(formatted.annotated), X),
    "no obs.h5ad": (formatted.hdf5(without_observations), X),
    "10x.h5": (formatted.hdf5(formatted.cells_of_10x), X),
    "a.xlsx": (SHEET, X),
    "claims.xlsx": (changed(SHEET, rb'<dimension ref="[^"]*"', b'<dimension ref="A1:B2"'), X),
    "shuffled.xlsx": (shuffled(SHEET), X),
    "formula.xlsx": (without_value(b"A2+1"), UNSEEN),
    "linked.xlsx": (without_value(b"[1]Sheet1!A1"), UNSEEN),
    "a.parquet": (formatted.parquet(frame()), X),
    "words.parquet": (formatted.parquet(frame().astype(str)), X),
    "a.gct": (formatted.GENES.encode(), np.array([[5.0, 6], [7, 8], [1, 0]])),
    "pictures.zip": (images(np.uint8(formatted.GREY), "PNG", ".png"), GREYS.T / 255),
    "png16.zip": (images(LEVELS, "PNG", ".png"), upright(LEVELS) / 65_535),
    "tiff16.zip": (images(LEVELS, "TIFF", ".tif"), upright(LEVELS) / 65_535),
    "pgm16.zip": (
        zipped(*(pgm(one, 65_535) for one in (LEVELS, LEVELS[::-1])), ending=".pgm"),
        upright(LEVELS) / 65_535,
    ),
    "tiff32.zip": (images(WHOLES, "TIFF", ".tif"), upright(WHOLES)),
    "real.zip": (images(REAL, "TIFF", ".tif"), upright(REAL)),
    "pages.zip": (several("TIFF", ".tif"), GREY),
    "frames.zip": (several("GIF", ".gif"), GREY),
    "texts.zip": (
        archive(TEXTS),
        np.array(
            [
                [1, 0, 0, 0, 1, 0],
                [1, 1, 0, 0, 0, 0],
                [0, 1, 1, 0, 0, 0],
                [0, 0, 1, 1, 0, 0],
                [0, 0, 0, 1, 1, 0],
            ]
        ),
    ),
    "10x.tar.gz": (formatted.tar(CELLS), VALUES),
    "baskets.dat": (b"".join(b"%d %d %d \n" % (i % 3, 3 + i % 2, 5) for i in range(24)), BASKETS),
}
# What has to be said of some of them, and of files that are refused.
SAID = {
    "thousands.csv": "'1,234': read as 1234",
    "percent.csv": "'5%': read as 5",
    "dollars.csv": "'$5': read as 5",
    "formula.xlsx": "1 formula has no value in the file, in B3",
    "linked.xlsx": "1 formula has no value in the file, in B3",
    "tiff32.zip": "read as they are",
    "real.zip": "read as they are",
    "pages.zip": "only the first is read",
    "frames.zip": "only the first is read",
    "baskets.dat": "24 lines list the numbers of 6 different items",
}
REFUSED = {
    "limits.csv": (csv(marked(["<5", "6", "8", "7"]), index=False), "'<5' is a limit"),
    "limits.parquet": (formatted.parquet(marked(["<5", "6", "8", "7"])), "'<5' is a limit"),
    "currencies.csv": (csv(marked(["$5", "€7", "$8", "$5"]), index=False), "in the same way"),
}
# What is written over a part of a file, or pushed into it.
HARM = [
    *(b"\x00" * 40, b"\xff" * 40, b"9" * 400, b"1e309,", b"nan,-1,", b"=cmd|' /C calc'!A0"),
    *(b"../../../etc/passwd", b"<script>alert(1)</script>", b"\xef\xbb\xbf", b"\r\n" * 30, b'"'),
    *(b"7", b"1_0", b"1,5", b"<v>8</v>", b"%", b"0x1F", "٣".encode(), b"\xc2\xa0", b"1e-320"),
    *(
        b"{'descr': '|O', 'fortran_order': False, 'shape': (9999999999, 99), }",
        b"\x89HDF\r\n\x1a\n",
    ),
    *(b"%%MatrixMarket matrix coordinate real general\n99999999 99999999 1\n", b"PK\x03\x04"),
]
MARKS = b"0123456789.,-+eE _%<$;'\"\tx\xa0"
TEXT = (".csv", ".tsv")


def harmed(content: bytes, rng: np.random.Generator) -> bytes:
    """The file with one to three things done to it, or to what is packed in it."""
    if rng.random() < 0.6 and content.startswith((b"PK\x03\x04", b"\x1f\x8b")):
        if content.startswith(b"\x1f\x8b"):
            return gzip.compress(_done(gzip.decompress(content), rng))
        return repacked(content, rng, harm=True)
    return _done(content, rng)


def _done(content: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    digits = [at for at, byte in enumerate(content[:2000]) if byte in b"0123456789"]
    if digits and rng.random() < 0.3:
        data[digits[rng.integers(len(digits))]] = MARKS[rng.integers(len(MARKS))]
        return bytes(data)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 64))
        kind = rng.integers(8)
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            data[at : at + length] = rng.bytes(length)
        elif kind in (3, 4):
            harm = HARM[rng.integers(len(HARM))]
            data[at : at + (len(harm) if kind == 4 else 0)] = harm
        elif kind == 5:
            data[at:at] = data[at : at + length] * int(rng.integers(2, 9))
        elif kind == 6:
            del data[at : at + length]
        else:
            other = list(WHOLE.values())[rng.integers(len(WHOLE))][0]
            data[: min(at, len(other))] = other[: min(at, len(other))]
    return bytes(data)


def repacked(content: bytes, rng: np.random.Generator, harm: bool) -> bytes:
    """The archive packed anew, with harm done to one file in it or to none."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        names = old.namelist()
        chosen = names[rng.integers(len(names))] if harm else ""
        for name in names:
            data = _done(old.read(name), rng) if name == chosen else old.read(name)
            new.writestr(name, data, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][rng.integers(2)])
    return file.getvalue()


def otherwise(name: str, content: bytes, rng: np.random.Generator) -> bytes:
    """The same in another form, which holds the same numbers."""
    if name.endswith(TEXT):
        content = [
            content.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + content,
            content + b"\n" * int(rng.integers(1, 40)),
            content.decode().encode("utf-16"),
        ][rng.integers(4)]
    elif content.startswith(b"PK\x03\x04"):
        content = repacked(content, rng, harm=False)
    if content.startswith(b"\x1f\x8b"):
        half = len(gzip.decompress(content)) // 2
        plain = gzip.decompress(content)
        return gzip.compress(plain[:half]) + gzip.compress(plain[half:])
    return gzip.compress(content) if rng.random() < 0.5 else content
