"""NumPy and Matrix Market files: nothing that they claim is believed."""

import struct
import zipfile

import numpy as np
import pytest

from bnmf_core.core.errors import DataError
from bnmf_core.data import limits
from bnmf_core.data.contents import inspect_content
from bnmf_core.data.formats import market
from bnmf_core.data.load import inspect_file, load_file
from tests.data.written import MATRIX, archive, header, mtx, npy, npz, read


@pytest.mark.parametrize(
    "content, words",
    [
        (npy(np.array([[1, "a"], [2, None]], dtype=object), allow_pickle=True), "Python objects"),
        (npy(np.ones((2, 2)))[:-1], "cut off or damaged"),
        (npy(np.ones((2, 2))) + b"\0", "cut off or damaged"),
        (header("{'descr':'<f8','fortran_order':False,'shape':(10**9,10**9)}"), "damaged NPY"),
        (
            header("{'descr':'<f8','fortran_order':False,'shape':(1000000000,1000000000)}"),
            "claims the shape .* 8,000,000,000,000,000,000 bytes",
        ),
        (header("{'descr':'<f8','fortran_order':False,'shape':(-2,-2)}"), r"shape \(-2, -2\)"),
        (header("{'descr':'<f8','fortran_order':False,'shape':(0,5)}"), "no values"),
        (header("{'descr':'|O','fortran_order':False,'shape':(2,2)}"), "Python objects"),
        (header("__import__('os').system('true')"), "damaged NPY"),
        (header("(" * 5000), "damaged NPY"),
        (b"\x93NUMPY\x09\x00", "damaged NPY"),
        (b"\x93NUMPY", "damaged NPY"),
        (npy(np.ones(4)), "1 dimensions"),
        (npy(np.ones((2, 2, 2))), "3 dimensions"),
        (npy(np.array([["a", "b"], ["c", "d"]])), "text"),
        (npy(np.zeros((2, 2), dtype=[("x", "f8")])), "numbers are needed"),
        (npy(np.zeros((2, 2), dtype="M8[s]")), "numbers are needed"),
        (npy(np.ones((2, 2)) * 1j), "complex"),
        (npy(-np.ones((2, 2))), "Row 1, column 1 holds .*negative"),
        (npy(np.full((2, 2), np.nan)), "missing"),
        (npz(a=MATRIX, b=MATRIX), "none is called 'X'"),
        (npz(X=MATRIX, colour=MATRIX), "'colour'"),
        (npz(X=MATRIX, features=np.array(["a"])), "1 names were given for 3 features"),
        (npz(X=MATRIX, labels_a=np.ones((2, 2))), "'labels_a' must be a list"),
        (npz(X=MATRIX, image_shape=np.array([1.5, 2])), "'image_shape' must hold two whole"),
        (npz(X=MATRIX, image_shape=np.array([5, 5])), "25 pixels"),
        (npz(X=MATRIX, mask=np.ones((2, 2), dtype=bool)), "mask"),
        (npz(X=MATRIX, mask=np.ones((2, 3))), "true and false"),
        (npz(X=np.array([[1, None], [2, 3]], dtype=object)), "Python objects"),
        (npz(compressed=False, X=MATRIX)[:-10], "archive is damaged"),
        (archive({"../X.npy": npy(MATRIX)}), "forbidden name"),
        (archive({"/X.npy": npy(MATRIX)}), "forbidden name"),
        (archive({"C:X.npy": npy(MATRIX)}), "forbidden name"),
        (archive({"a\\X.npy": npy(MATRIX)}), "forbidden name"),
        (archive({"a\u202eX.npy": npy(MATRIX)}), "forbidden name"),
        (archive({"X.json": b"1"}), "only arrays"),
        (archive({"xl/workbook.xml": b"<a/>"}), "Excel workbook"),
        (archive({f"a{i}.npy": npy(MATRIX) for i in range(65)}), "more than 64 files"),
        (archive({"X.npy": npy(MATRIX)}, compression=zipfile.ZIP_BZIP2), "unusual way"),
        (archive({"X.npy": b"hello"}), "'X' has a damaged"),
    ],
)
def test_hostile_arrays_are_one_sentence(content, words):
    with pytest.raises(DataError, match=words):
        load_file(content)


def test_archives_that_grow_too_much_are_refused_before_they_are_opened(monkeypatch):
    bomb = npz(X=np.zeros((2000, 2000)))
    assert 32_000_000 / len(bomb) > 500
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("the bomb was opened"))
        with pytest.raises(DataError, match="times when it is opened; at most 100"):
            read(bomb)
        with pytest.raises(DataError, match="grow to 30.52 MB, beyond 1 MB, the most that is read"):
            inspect_content(bomb, "", {}, 2**20)
    small = np.zeros((100, 100))
    small[0, 0] = 1.0
    assert load_file(npz(X=small)).X.sum() == 1.0


def test_an_archive_that_lies_about_a_size_is_refused():
    content = bytearray(npz(compressed=False, X=MATRIX))
    entry = content.index(b"PK\x01\x02")
    size = struct.unpack_from("<L", content, entry + 24)[0]
    struct.pack_into("<L", content, entry + 24, size + 1000)
    with pytest.raises(DataError, match="is damaged|as long as it says"):
        load_file(bytes(content))


def test_an_archive_that_points_before_its_beginning_is_refused():
    content = bytearray(npz(compressed=False, X=MATRIX))
    end = content.index(b"PK\x05\x06")
    struct.pack_into("<L", content, end + 16, content.index(b"PK\x01\x02") + 5)
    with pytest.raises(DataError, match="damaged"):
        load_file(bytes(content))


def test_a_flipped_bit_in_an_archive_is_noticed():
    content = bytearray(npz(compressed=False, X=MATRIX))
    content[content.index(MATRIX.tobytes()) + 15] ^= 1
    with pytest.raises(DataError, match="'X.npy' in the archive is damaged"):
        load_file(bytes(content))


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"indices": np.array([0, 1, 99])}, "do not fit"),
        ({"indices": np.array([0, 1, -1])}, "do not fit"),
        ({"indices": np.array([0, 1, 2**63], dtype=np.uint64)}, "do not fit"),
        ({"indptr": np.array([0, 2, 1, 3])}, "do not fit"),
        ({"indptr": np.array([0, 1, 2, 300])}, "do not fit"),
        ({"indptr": np.array([0, 3])}, "do not fit"),
        ({"indices": np.array([0.5, 1, 2])}, "not a list of numbers"),
        ({"data": np.ones(3) * 1j}, "not a list of numbers"),
        ({"shape": np.array([3, 10**12])}, "at most 1,000,000"),
        ({"shape": np.array([3, -3])}, "two whole numbers"),
        ({"format": np.array("dia")}, "'dia'"),
        ({"format": np.array([1, 2])}, "one word"),
    ],
)
def test_hostile_sparse_archives_are_one_sentence(changed, words):
    parts = {
        "format": np.array("csr"),
        "shape": np.array([3, 3]),
        "data": np.ones(3),
        "indices": np.array([0, 1, 2]),
        "indptr": np.array([0, 1, 2, 3]),
    }
    np.testing.assert_array_equal(load_file(npz(**parts)).dense(), np.eye(3))
    with pytest.raises(DataError, match=words):
        load_file(npz(**{**parts, **changed}))
    with pytest.raises(DataError, match="lacks the array 'indptr'"):
        load_file(npz(**{key: value for key, value in parts.items() if key != "indptr"}))


def test_large_claims_are_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_ENTRIES", 8)
    for content in (npy(np.ones((3, 3))), b"1,2,3\n" * 3, mtx(np.ones((3, 3)))):
        with pytest.raises(DataError, match="9 entries; at most 8"):
            read(content)


COORDINATE = b"%%MatrixMarket matrix coordinate real general\n"


def test_comments_patterns_and_symmetric_files():
    content = b"%%MatrixMarket matrix coordinate pattern symmetric\n% a\n%\n\n2 2 2\n1 1\n2 1\n"
    np.testing.assert_array_equal(load_file(content).dense(), [[1, 1], [1, 0]])


@pytest.mark.parametrize(
    "content, words",
    [
        (COORDINATE + b"100000 100000 10000000000\n", "10,000,000,000 entries.*cut off"),
        (COORDINATE + b"100000000 100000000 1\n1 1 1\n", "100,000,000 rows"),
        (COORDINATE + b"2 2 5\n1 1 1\n", "claims 5 entries in a matrix of 2×2"),
        (COORDINATE + b"2 2 2\n1 1 1.000000\n", "claims 2 entries, but 1 follow"),
        (COORDINATE + b"2 2 1\n" + b"\n" * 20_000, "claims 1 entries, but many more rows"),
        (COORDINATE + b"2 2 1\n" + b"1 " * 200_000, "longer than 10,000"),
        (COORDINATE + b"2 2 1\n1 1 1\n1 2 1\n", "claims 1 entries, but more follow"),
        (COORDINATE + b"2 2 1\n3 1 1\n", r"Row 3 .*\(3, 1\), which is outside the matrix of 2×2"),
        (COORDINATE + b"2 2 1\n0 1 1\n", r"\(0, 1\), which is outside"),
        (COORDINATE + b"2 2 1\n\n1 1.5 1\n", r"Row 4 .*\(1, 1.5\), which is outside"),
        (COORDINATE + b"2 2 1\nnan 1 1\n", r"\(nan, 1\), which is outside"),
        (COORDINATE + b"2 2 2\n1 1 1\n\n1 1 x\n", "Row 5 .*'1 1 x', where a row, a column and"),
        (COORDINATE + b"2 2 2\n1 1 1\n1 1 1_0\n", "Row 4 .*'1 1 1_0'"),
        (COORDINATE + b"2 2 2\n1 1 1,5\n1 1 1\n", "Row 3 .*'1 1 1,5'"),
        (COORDINATE + b"2 2 2\n1 1\n1 1 1 1\n", "Row 3 .*'1 1', where"),
        (COORDINATE + b"2 2 1\n1 1 1\xb7", "Row 3 .*'1 1 1·', where"),
        (COORDINATE.replace(b"general", b"symmetric") + b"2 2 1\n1 2 1\n", "above the diagonal"),
        (b"%%MatrixMarket matrix array pattern general\n2 2\n", "without numbers"),
        (COORDINATE + b"2 2 1\n1 1 -1\n", "negative"),
        (COORDINATE + b"2 2 1\n1 1 nan\n", "finite"),
        (COORDINATE + b"2 2\n", "Row 2 .*3 whole numbers"),
        (COORDINATE + b"%\n-2 2 1\n", "Row 3 .*3 whole numbers"),
        (COORDINATE, "whole numbers"),
        (COORDINATE + b"%\n" * 10_001, "no size line"),
        (b"%%MatrixMarket matrix array real general\n90000 90000\n1\n", "8,100,000,000 entries"),
        (b"%%MatrixMarket matrix array real general\n9 9\n1\n", "81 entries, but only 2 bytes"),
        (b"%%MatrixMarket matrix array real symmetric\n2 3\n1\n", "square"),
        (b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n", "'complex'"),
        (b"%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n1 1 1\n", "'hermitian'"),
        (b"%%MatrixMarket vector\n", "Row 1 of the Matrix Market file"),
    ],
)
def test_hostile_market_files_are_one_sentence(content, words):
    with pytest.raises(DataError, match=words):
        load_file(content)


def test_no_entry_is_read_before_the_header_was_believed(monkeypatch):
    monkeypatch.setattr(market, "_numbers", lambda *_: pytest.fail("was read"))
    with pytest.raises(DataError, match="cut off"):
        read(COORDINATE + b"1000 1000 1000\n1 1 1\n")


@pytest.mark.parametrize(
    ("kept", "axis"),
    [
        ({"labels_kind": np.array(["a", "b"] * 3)}, "columns"),
        ({"labels_kind": np.array(["a", "b"] * 2)}, "rows"),
        ({"image_shape": np.array([2, 2])}, "columns"),
        ({"image_shape": np.array([2, 3])}, "rows"),
        ({}, "rows"),
    ],
)
def test_labels_and_pixels_say_which_axis_holds_the_observations(kept, axis):
    content = npz(X=np.arange(24.0).reshape(4, 6), **kept)
    reading = inspect_file(content, filename="some.npz")
    assert reading.observations == axis
    assert bool(reading.doubts) == (axis == "columns" or not kept)
    assert ("Nothing in the file says" in "".join(reading.doubts)) == (not kept)
    assert load_file(content, filename="some.npz").N == (6 if axis == "columns" else 4)
