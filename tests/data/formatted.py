"""Files of other formats than tables of text, and what each must become."""

import gzip
import io
import tarfile
import zipfile

import h5py
import numpy as np
import pandas as pd
import scipy.io
from PIL import Image
from scipy import sparse

from tests.data.layout import (
    ABC,
    FEATURES,
    FIRST,
    NUMBERED,
    PQRS,
    ROWS_COUNT,
    VALUES,
    ZERO_ON,
    Layout,
    csv,
    frame,
    layout,
    plain,
    saved,
    text,
    with_column,
)

GENES = "#1.2\n3\t2\nName\tDescription\tS1\tS2\nG1\tone\t5\t6\nG2\ttwo\t7\t8\nG3\tthree\t1\t0\n"
GENES_13 = "#1.3\n2\t2\t1\t1\nid\tchr\tS1\tS2\ntissue\tna\tliver\tlung\nG1\tX\t5\t6\nG2\tY\t7\t8\n"


def workbook(**sheets):
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as writer:
        for name, (data, options) in sheets.items():
            data.to_excel(writer, sheet_name=name, **options)
    return file.getvalue()


def parquet(data):
    file = io.BytesIO()
    data.to_parquet(file)
    return file.getvalue()


SHEETS = workbook(
    first=(frame(), {"index": False}), second=(frame(index=list(PQRS)), {"startrow": 1})
)
FORMATTED = [
    plain("gzip of a table", gzip.compress(csv(frame(), index=False)), filename="a.csv.gz"),
    plain("gzip of an array", gzip.compress(saved(np.save, VALUES)), features=FEATURES),
    plain("a workbook", SHEETS),
    layout(
        "the second sheet of a workbook, below an empty row",
        SHEETS,
        ABC,
        PQRS,
        chosen={"settings": {"sheet": "second"}},
    ),
    layout(
        "a workbook with an index of counts",
        workbook(one=(with_column(frame(), 3, "kind", list("xyyx")), {})),
        ABC,
        ZERO_ON,
        labels={"kind": ("x", "y", "y", "x")},
        said=(ROWS_COUNT,),
    ),
    plain("a Parquet file", parquet(frame())),
    layout("a Parquet file with an index of words", parquet(frame(index=list(PQRS))), ABC, PQRS),
    plain(
        "a Parquet file with classes",
        parquet(with_column(frame(), 3, "class", [0, 1, 1, 0])),
        labels={"class": ("0", "1", "1", "0")},
        said=("Column 4 ('class') holds 2 different",),
    ),
    Layout("GCT 1.2", text(GENES), ("G1", "G2", "G3"), ("S1", "S2"), (5, 7, 1)),
    Layout(
        "GCT 1.3, with a row about samples",
        text(GENES_13),
        ("G1", "G2"),
        ("S1", "S2"),
        (5, 7),
        labels={"tissue": ("liver", "lung")},
    ),
]


def matlab(**variables):
    return saved(scipy.io.savemat, variables)


def hdf5(fill):
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        fill(opened)
    return file.getvalue()


def newer_matlab(**variables):
    """Version 7.3: HDF5 behind a block of text, matrices column by column."""
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=512) as opened:
        for name, values in variables.items():
            opened[name] = values.T
    return b"MATLAB 7.3 MAT-file".ljust(512) + file.getvalue()[512:]


def annotated(opened):
    """A small H5AD: X in both layouts of scipy, names, a category and what is no label."""
    matrix = sparse.csr_array(VALUES)
    for path in ("X", "layers/counts"):
        group = opened.create_group(path)
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
        group["data"] = matrix.data * (1 if path == "X" else 2)
        group["indices"], group["indptr"] = matrix.indices, matrix.indptr
    for name, words in (("obs", PQRS), ("var", ABC)):
        group = opened.create_group(name)
        group.attrs["_index"] = "_index"
        group["_index"] = list(words)
    opened["obs/kind/categories"], opened["obs/kind/codes"] = ["x", "y"], [0, 1, -1, 0]
    opened["obs/depth"] = [0.5, 1.5, 2.5, 3.5]


def link(opened, name):
    """A link that leads out of the file."""
    opened[name] = h5py.ExternalLink("/etc/passwd", "/")


def cells_of_10x(opened):
    matrix = sparse.csc_array(VALUES.T)
    group = opened.create_group("matrix")
    for name in ("data", "indices", "indptr"):
        group[name] = getattr(matrix, name)
    group["shape"], group["barcodes"], group["features/name"] = matrix.shape, list(PQRS), list(ABC)


def archive(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return file.getvalue()


def tar(files):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as opened:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return file.getvalue()


def picture(pixels):
    return saved(lambda file: Image.fromarray(np.uint8(pixels)).save(file, "PNG"))


GREY = [[51, 0], [102, 153], [204, 255]]
PICTURES = {
    "cats/one.png": picture(GREY),
    "cats/two.png": picture(np.array(GREY)[::-1]),
    "dogs/three.png": picture(np.array(GREY) // 2),
}
NOTES = {
    "a/one.txt": b"red green red lamp",
    "a/two.txt": b"green green lamp",
    "b/three.txt": b"red lamp table",
}
# Spectra of 40 values in 3×5 pixels, and six images of 12×12 pixels with a bump somewhere each.
CUBE = np.outer(1 + np.sin(np.linspace(0, 3, 40)), np.arange(1.0, 16.0))
_PLACES = np.arange(12.0)
BUMPS = np.array(
    [
        np.exp(-((np.subtract.outer(_PLACES, -1j * _PLACES) - place).__abs__() ** 2) / 8).ravel("F")
        for place in (2 + 2j, 9 + 8j, 3 + 9j, 8 + 2j, 5 + 5j, 10 + 10j)
    ]
).T
SHORT = "a red lamp and a green lamp"
LONG = "red lamp or green " * 2_000
# Texts of 20 words and more, beside numbers.
REVIEWS = "stars,price,review\n" + "".join(
    f"{stars},{price},{(SHORT + ' ') * 2}and {price} more and so on and so on\n"
    for stars, price in ((5, 9), (4, 7), (5, 9))
)
ABOUT = ("a pump of the membrane", "the same pump but larger", "what binds to that pump")
KEPT_WORDS = {"minimum_documents": 1, "maximum_documents": 1.0}
TRIPLE = {
    "m/matrix.mtx.gz": gzip.compress(saved(scipy.io.mmwrite, sparse.coo_array(VALUES.T))),
    "m/barcodes.tsv.gz": gzip.compress(b"p\nq\nr\ns\n"),
    "m/features.tsv.gz": gzip.compress(b"E1\ta\tGene\nE2\tb\tGene\nE3\tc\tGene\n"),
}
APART = [
    plain("a MATLAB matrix", matlab(X=VALUES), features=FEATURES),
    Layout(
        "the largest of two MATLAB matrices, with names in cells",
        matlab(small=VALUES[:, :2], big=VALUES.T, names=np.array(PQRS, dtype=object)),
        FEATURES,
        PQRS,
        FIRST,
        said=("holds 2 matrices: 'big' is taken",),
        chosen={"observations": "columns"},
    ),
    plain("a sparse MATLAB matrix", matlab(X=sparse.csc_array(VALUES)), features=FEATURES),
    plain(
        "MATLAB 7.3",
        newer_matlab(X=VALUES),
        features=FEATURES,
    ),
    Layout(
        "a cube of spectra whose size stands beside it",
        matlab(Y=CUBE, lines=[[3]], cols=[[5]], maxValue=[[5000]]),
        tuple(f"feature {n + 1}" for n in range(40)),
        tuple(f"observation {n + 1}" for n in range(15)),
        tuple(CUBE[:, 0]),
        said=(
            "The 15 columns are the pixels of an image ('lines' × 'cols' in the file, 3×5), whose",
        ),
    ),
    Layout(
        "a cube of spectra in three dimensions",
        matlab(Y=CUBE.T.reshape(3, 5, 40, order="F")),
        tuple(f"feature {n + 1}" for n in range(40)),
        tuple(f"observation {n + 1}" for n in range(15)),
        tuple(CUBE[:, 0]),
        said=("The 15 rows are the pixels of an image (3×5 in a cube), whose",),
    ),
    Layout(
        "images as columns, of which nothing says that they are",
        matlab(X=BUMPS),
        tuple(f"feature {n + 1}" for n in range(144)),
        tuple(f"observation {n + 1}" for n in range(6)),
        tuple(BUMPS[:, 0]),
        said=(
            "The 144 rows are the pixels of an image (12×12, in which neighbours are alike): pix",
        ),
    ),
    layout(
        "H5AD",
        hdf5(annotated),
        ABC,
        PQRS,
        labels={"kind": ("x", "y", "", "x")},
        said=("The labels are 'kind'.",),
    ),
    Layout(
        "a layer of an H5AD",
        hdf5(annotated),
        ABC,
        PQRS,
        tuple(2 * value for value in FIRST),
        labels={"kind": ("x", "y", "", "x")},
        said=("The labels are 'kind'.",),
        chosen={"settings": {"matrix": "layers/counts"}},
    ),
    layout("10x as HDF5", hdf5(cells_of_10x), ABC, PQRS),
    layout("10x as a zip of three files", archive(TRIPLE), ABC, PQRS),
    layout("10x as a tar of three files", tar(TRIPLE), ABC, PQRS),
    Layout(
        "a zip of images",
        archive(PICTURES),
        tuple(f"feature {n + 1}" for n in range(6)),
        ("one", "two", "three"),
        (0.2, 0.4, 0.8, 0, 0.6, 1.0),
        labels={"folder": ("cats", "cats", "dogs")},
    ),
    Layout(
        "a zip of texts",
        archive(NOTES),
        ("green", "lamp", "red", "table"),
        ("one", "two", "three"),
        (1, 1, 2, 0),
        labels={"folder": ("a", "a", "b")},
        said=("3 texts with 4 different words that are kept: counts",),
        chosen={"settings": KEPT_WORDS},
    ),
    Layout(
        "a column of texts",
        text(
            'kind,post\nx,"red, red lamp and green lamp"\ny,a green lamp on the table\n'
            "x,nothing but red tables here\n"
        ),
        ("green", "lamp", "red", "table", "tables"),
        NUMBERED[:3],
        (1, 2, 2, 0, 0),
        labels={"kind": ("x", "y", "x")},
        said=(
            "Column 2 ('post') holds running text, 6 words a cell, all cells different",
            "3 texts with 5 different words",
        ),
        chosen={"settings": KEPT_WORDS},
    ),
    Layout(
        "a column of texts below the three header rows of Orange, the first text a long one",
        text(f"Kind\tText\nd\tstring\nclass\t\n\nx\t{LONG}\ny\t{SHORT}\nx\t{SHORT} again\n"),
        ("green", "lamp", "red"),
        NUMBERED[:3],
        (2_000, 2_000, 2_000),
        labels={"Kind": ("x", "y", "x")},
        said=("The labels are 'Kind'.", "3 texts with 3 different words"),
        chosen={"settings": {"maximum_documents": 1.0}},
    ),
    Layout(
        "texts longer than descriptions, beside columns of numbers",
        text(REVIEWS),
        ("green", "lamp", "red"),
        NUMBERED[:3],
        (2, 4, 2),
        labels={"stars": ("5", "4", "5"), "price": ("9", "7", "9")},
        said=("The labels are 'stars', 'price'.", "3 texts with 3 different words"),
        chosen={"settings": {"maximum_documents": 1.0}},
    ),
    Layout(
        "the same, taken for a table of numbers",
        text(REVIEWS),
        ("stars", "price"),
        NUMBERED[:3],
        (5, 9),
        labels={"review": tuple(line.split(",")[2] for line in REVIEWS.splitlines()[1:])},
        chosen={"format": "table"},
    ),
    Layout(
        "a description of each row, beside its numbers",
        text("".join([f"{about},{n},{n % 2}.5\n" for n, about in enumerate(ABOUT, 3)])),
        ("feature 1", "feature 2"),
        ABOUT,
        (3, 1.5),
    ),
]
