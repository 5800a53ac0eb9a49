"""Files that are damaged or made to harm: each is read, or refused in a sentence."""

import gzip
import io
import time
import warnings

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from bnmf_core.core.errors import BNMFError
from bnmf_core.data.load import inspect_file, load_file
from tests.data import formatted
from tests.data.layout import VALUES, csv, frame, saved
from tests.data.written import npz

LONGEST = 60.0  # seconds that the worst of them may take, on a machine that is busy
WORDS = ["amber birch", "birch cedar", "cedar dune", "dune elm", "elm amber", "fern fern"]
TEXTS = {f"kind{i % 2}/{i}.txt": words.encode() for i, words in enumerate(WORDS)}
CELLS = {
    "matrix.mtx": saved(scipy.io.mmwrite, sparse.coo_array(VALUES)),
    "barcodes.tsv": "\n".join(f"cell{n}" for n in range(VALUES.shape[1])).encode(),
    "features.tsv": "\n".join(f"gene{n}" for n in range(VALUES.shape[0])).encode(),
}
WHOLE = {
    "a.csv": csv(frame(), index=False),
    "a.tsv": csv(frame(), sep="\t"),
    "a.csv.gz": gzip.compress(csv(frame(), index=False)),
    "a.npy": saved(np.save, VALUES),
    "a.npz": npz(X=VALUES, features=np.array(["a", "b", "c"])),
    "sparse.npz": saved(sparse.save_npz, sparse.csc_array(VALUES)),
    "a.mtx": saved(scipy.io.mmwrite, VALUES),
    "a.mat": formatted.matlab(X=VALUES),
    "newer.mat": formatted.newer_matlab(X=VALUES),
    "a.h5ad": formatted.hdf5(formatted.annotated),
    "10x.h5": formatted.hdf5(formatted.cells_of_10x),
    "a.xlsx": formatted.SHEETS,
    "a.parquet": formatted.parquet(frame()),
    "a.gct": formatted.GENES.encode(),
    "pictures.zip": formatted.archive(formatted.PICTURES),
    "texts.zip": formatted.archive(TEXTS),
    "10x.tar.gz": formatted.tar(CELLS),
}
# What is written over a part of a file, or pushed into it.
HARM = [
    *(b"\x00" * 40, b"\xff" * 40, b"9" * 400, b"1e309,", b"nan,-1,", b"=cmd|' /C calc'!A0"),
    *(b"../../../etc/passwd", b"<script>alert(1)</script>", b"\xef\xbb\xbf", b"\r\n" * 30, b'"'),
    *(
        b"{'descr': '|O', 'fortran_order': False, 'shape': (9999999999, 99), }",
        b"\x89HDF\r\n\x1a\n",
    ),
    *(b"%%MatrixMarket matrix coordinate real general\n99999999 99999999 1\n", b"PK\x03\x04"),
]


def harmed(content: bytes, rng: np.random.Generator) -> bytes:
    """The file with one to three things done to it."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 64))
        kind = rng.integers(7)
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            data[at : at + length] = rng.bytes(length)
        elif kind == 3:
            data[at:at] = HARM[rng.integers(len(HARM))]
        elif kind == 4:
            harm = HARM[rng.integers(len(HARM))]
            data[at : at + len(harm)] = harm
        elif kind == 5:
            data[at:at] = data[at : at + length] * int(rng.integers(2, 9))
        else:
            other = list(WHOLE.values())[rng.integers(len(WHOLE))]
            data[: min(at, len(other))] = other[: min(at, len(other))]
    return bytes(data)


def tried(count: int, seed: int) -> dict[str, float]:
    """Read so many files; how many were taken and refused, and the seconds of the slowest."""
    rng = np.random.default_rng(seed)
    names, taken, refused, slowest = list(WHOLE), 0, 0, 0.0
    for number in range(count):
        name = names[number % len(names)]
        content = harmed(WHOLE[name], rng)
        if rng.random() < 0.1:  # called what it is not
            name = names[rng.integers(len(names))]
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a parser that warns has taken something on trust
                inspect_file(io.BytesIO(content), filename=name)
                dataset = load_file(content, filename=name)
            assert dataset.X.min() >= 0 and np.isfinite(dataset.total)
            taken += 1
        except BNMFError as error:
            assert str(error) and len(str(error)) < 4000
            refused += 1
        except Exception as error:
            raise AssertionError(f"file {number} of seed {seed}, called {name!r}") from error
        slowest = max(slowest, time.perf_counter() - began)
    return {"taken": taken, "refused": refused, "slowest": slowest}


def told(found: dict[str, float]) -> str:
    return (
        f"hostile files: {found['taken'] + found['refused']:,} of {len(WHOLE)} kinds, "
        f"{found['taken']:,} read, {found['refused']:,} refused in a sentence, 0 tracebacks; "
        f"slowest {found['slowest']:.2f} s"
    )


def test_every_kind_is_read_where_it_is_whole():
    for name, content in WHOLE.items():
        assert load_file(content, filename=name).X.shape[0] > 1, name


@pytest.mark.slow
def test_two_hundred_hostile_files(promise):
    found = tried(200, seed=1)
    assert min(found["taken"], found["refused"]) > 20 and found["slowest"] < LONGEST
    promise(told(found))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_hostile_files(promise):
    found = tried(10_000, seed=2)
    assert min(found["taken"], found["refused"]) > 400 and found["slowest"] < LONGEST
    promise(told(found))
