"""Files → Dataset: what goes in comes out, and what is hostile is one sentence."""

import csv
import dataclasses
import io
import struct
import zipfile

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from bnmf_core.data import arrays, market, text
from bnmf_core.data.formats import FORMATS
from bnmf_core.data.load import inspect_file, load_file
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name, clean_names

AXES = st.sampled_from(["rows", "columns"])
VALUES = st.just(0.0) | st.floats(1e-6, 1e6)
MATRICES = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=VALUES
).filter(lambda matrix: matrix.any())
MATRIX = np.arange(6.0).reshape(2, 3)


def oriented(dataset, observations):
    """X as it stood in the file."""
    X = dataset.dense()
    return X.T if observations == "rows" else X


def npy(array, **named):
    file = io.BytesIO()
    np.save(file, array, **named)
    return file.getvalue()


def npz(compressed=True, **named):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **named)
    return file.getvalue()


def archive(members, **named):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **named) as writer:
        for name, content in members.items():
            writer.writestr(name, content)
    return file.getvalue()


def header(text):
    """A .npy file with a header of our own and no body."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")


def mtx(matrix, **named):
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, precision=17, **named)
    return file.getvalue()


# --- round trips ---------------------------------------------------------------------------


@given(MATRICES, AXES, st.sampled_from([",", ";", "\t"]), st.booleans(), st.booleans())
def test_csv_round_trip(matrix, observations, delimiter, with_header, with_names):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    if with_header:
        first = ["name"] if with_names else []
        writer.writerow(first + [f"c{j}" for j in range(matrix.shape[1])])
    for i, row in enumerate(matrix):
        writer.writerow(([f"r{i}"] if with_names else []) + [repr(float(x)) for x in row])
    dataset = load_file(file.getvalue().encode(), observations=observations)
    np.testing.assert_array_equal(oriented(dataset, observations), matrix)
    rows, columns = dataset.observations, dataset.features
    if observations == "columns":
        rows, columns = columns, rows
    if with_header:
        assert columns == tuple(f"c{j}" for j in range(matrix.shape[1]))
    if with_names:
        assert rows == tuple(f"r{i}" for i in range(matrix.shape[0]))


@given(
    MATRICES,
    AXES,
    st.sampled_from(["<f8", ">f8", "<f4", "<i4", ">u2", "|b1"]),
    st.sampled_from("CF"),
)
def test_npy_round_trip(matrix, observations, dtype, order):
    matrix = np.asarray(np.clip(matrix, 0, 60_000), dtype=dtype, order=order)
    matrix[0, 0] = 1
    dataset = load_file(npy(matrix), observations=observations)
    np.testing.assert_array_equal(oriented(dataset, observations), matrix.astype(float))


@given(MATRICES, AXES, st.booleans())
def test_npz_round_trip_with_everything_named(matrix, observations, compressed):
    rows, columns = matrix.shape
    mask = matrix > 0
    D, N = (columns, rows) if observations == "rows" else (rows, columns)
    content = npz(
        compressed,
        X=matrix,
        mask=mask,
        features=np.array([f"f{i}" for i in range(D)]),
        observations=np.array([f"o{i}" for i in range(N)]),
        image_shape=np.array([D, 1]),
        labels_group=np.arange(N) % 2,
    )
    dataset = load_file(content, observations=observations)
    np.testing.assert_array_equal(oriented(dataset, observations), matrix)
    assert dataset.missing == (~mask).sum()
    assert dataset.features == tuple(f"f{i}" for i in range(D))
    assert dataset.observations == tuple(f"o{i}" for i in range(N))
    assert dataset.labels["group"].tolist() == [str(i % 2) for i in range(N)]
    assert dataset.image_shape == (D, 1)


@given(MATRICES, AXES, st.sampled_from(["csr", "csc", "coo"]))
def test_sparse_npz_round_trip(matrix, observations, layout):
    file = io.BytesIO()
    sparse.save_npz(file, sparse.coo_array(matrix).asformat(layout))
    dataset = load_file(file.getvalue(), observations=observations)
    assert dataset.is_sparse
    np.testing.assert_array_equal(oriented(dataset, observations), matrix)


@given(MATRICES, AXES, st.booleans(), st.booleans(), st.sampled_from([1, 2**18]))
def test_mtx_round_trip(matrix, observations, as_sparse, symmetric, piece):
    if symmetric:
        matrix = matrix @ matrix.T
    content = mtx(
        sparse.coo_array(matrix) if as_sparse else matrix,
        symmetry="symmetric" if symmetric else "general",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(market, "PIECE_BYTES", piece)
        dataset = load_file(content, observations=observations)
    assert dataset.is_sparse == as_sparse
    np.testing.assert_array_equal(oriented(dataset, observations), matrix)


# --- ways to hand a file over --------------------------------------------------------------


def test_a_path_its_bytes_and_an_open_file_are_the_same(tmp_path):
    path = tmp_path / "my matrix.csv"
    path.write_bytes(b"1,2\n3,4\n")
    by_path = load_file(path)
    assert by_path.name == "my matrix"
    assert load_file(str(path)).hash == by_path.hash
    assert load_file(path.read_bytes(), filename="my matrix.csv").hash == by_path.hash
    with open(path, "rb") as file:
        assert load_file(file, filename="../../my matrix.csv").hash == by_path.hash


def test_content_decides_not_the_extension():
    dataset = load_file(npy(MATRIX), filename="table.csv", observations="columns")
    np.testing.assert_array_equal(dataset.X, MATRIX)
    dataset = load_file(b"1,2\n3,4\n", filename="table.npy", observations="columns")
    np.testing.assert_array_equal(dataset.X, [[1, 2], [3, 4]])


def test_what_cannot_be_opened_is_named(tmp_path):
    for path in (tmp_path / "absent.csv", tmp_path, "nul\0.csv", "https://example.org/a.csv"):
        with pytest.raises(DataError, match="could not be opened"):
            load_file(path)
    with pytest.raises(DataError, match="binary mode"):
        load_file(io.StringIO("1,2\n3,4\n"))
    with pytest.raises(DataError, match="rows, columns"):
        load_file(b"1,2\n3,4\n", observations="diagonal")


def test_the_size_limit_holds_for_every_source(tmp_path):
    content = b"1,2\n" * 100
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    for source in (path, content, io.BytesIO(content)):
        with pytest.raises(DataError, match="larger than"):
            load_file(source, limit_bytes=100)


@pytest.mark.parametrize(
    "start, words",
    [
        (b"", "empty"),
        (b" \n \n", "empty"),
        (b"\x1f\x8b\x08", "gzip file is cut off"),
        (b"\x89HDF\r\n\x1a\n", "HDF5 file is damaged"),
        (b"MATLAB 5.0 MAT-file", "could not be read as a MATLAB file"),
        (b"\x80\x04\x95", "pickle"),
        (b"\x89PNG\r\n", "one picture"),
        (b"PK\x05\x06" + b"\0" * 18, "empty archive"),
        (b"\x7fELF\x00\x01", "neither text nor"),
    ],
)
def test_other_formats_are_refused_by_name(start, words):
    with pytest.raises(DataError, match=words):
        load_file(start)


# --- tables --------------------------------------------------------------------------------


def test_labels_names_and_missing_cells():
    content = b"id,age,group,height\np1,1,x,NA\np2,,y,2.5\np3,3,x,nan\np4,4,,4\n"
    dataset = load_file(content)
    assert dataset.observations == ("p1", "p2", "p3", "p4")
    assert dataset.features == ("age", "height")
    assert dataset.labels["group"].tolist() == ["x", "y", "x", ""]
    assert dataset.missing == 3
    np.testing.assert_array_equal(dataset.X, [[1, 0, 3, 4], [0, 2.5, 0, 4]])


def test_a_first_column_with_repeats_is_a_label_when_rows_are_observations():
    content = b"species,a,b\ncat,1,2\ndog,3,4\ncat,5,6\n"
    dataset = load_file(content)
    assert dataset.labels["species"].tolist() == ["cat", "dog", "cat"]
    genes = load_file(content, observations="columns")
    assert genes.features == ("cat", "dog", "cat (2)")
    assert genes.observations == ("a", "b")


@pytest.mark.parametrize(
    "content, names",
    [
        (b",0,1,2\n0,5,6,7\n1,8,9,1\n", ("0", "1")),
        (b',"a","b","c"\n"x",5,6,7\n"y",8,9,1\n', ("x", "y")),
        (b'"a"\t"b"\n"x"\t5\t6\n"y"\t8\t9\n', ("x", "y")),
        (b",2001,2002\nx,5,6\ny,8,9\n", ("x", "y")),
    ],
)
def test_row_names_as_other_programs_write_them(content, names):
    dataset = load_file(content)
    assert dataset.observations == names
    assert dataset.X[0].tolist() == [5, 8]


def test_an_unnamed_column_of_numbers_that_repeat_holds_names_and_is_data_if_asked():
    content = b",b,c\n1,2,3\n1,5,4\n"
    dataset = load_file(content)
    assert dataset.features == ("b", "c") and dataset.observations == ("1", "1 (2)")
    assert "has no header and repeats itself" in dataset.source
    dataset = load_file(content, reading=inspect_file(content, chosen={"names_column": None}))
    assert dataset.features == ("column 1", "b", "c")
    np.testing.assert_array_equal(dataset.X, [[1, 1], [2, 5], [3, 4]])


def test_double_headers_get_numbers():
    dataset = load_file(b"a,a,,a (2)\n1,2,3,4\n5,6,7,8\n")
    assert dataset.features == ("a", "a (2)", "column 3", "a (2) (2)")


def test_decimal_commas_where_they_are_unambiguous():
    dataset = load_file(b"a;b\n1,5;2\n3;4,25\n")
    np.testing.assert_array_equal(dataset.X, [[1.5, 3], [2, 4.25]])
    later = b"a;b\n" + b"1,5;2\n" * 1000 + b"3;4.5\n"
    with pytest.raises(DataError, match=r"Row 1002, column 2 \('b'\) holds '4.5'.*a comma"):
        load_file(later)


@pytest.mark.parametrize("content", [b"a;b\n1,5;2\n3;4.5\n", b"a\tb\n1,234\t2\n3\t4\n"])
def test_commas_that_may_mean_two_things_are_refused(content):
    with pytest.raises(DataError, match="Row 2, column 1 .* Write decimals with a point"):
        load_file(content)


@pytest.mark.parametrize(
    "content",
    [
        "é,b\n1,2\n3,4\n".encode(),
        b"\xef\xbb\xbf" + "é,b\n1,2\n3,4\n".encode(),
        "é,b\n1,2\n3,4\n".encode("latin-1"),
        "é,b\r\n1,2\r\n3,4\r\n".encode("utf-16"),
        "é,b\r1,2\r3,4\r".encode(),
        "\n\né,b\n\n1,2\n,\n3,4\n\n".encode(),
    ],
)
def test_encodings_line_ends_and_blank_lines(content):
    dataset = load_file(content)
    assert dataset.features == ("é", "b")
    np.testing.assert_array_equal(dataset.X, [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    "content, words",
    [
        (b"a,b\n1,2\n3,x\n5,6\n", r"Row 3, column 2 \('b'\) holds 'x'"),
        (b"1,2,z\n3,4,5\n6,7,8\n", "Row 1, column 3 holds 'z'"),
        (b'a,b\n1,2\n3,"4,5"\n6,7\n', "Row 3, column 2 .*'4,5'.*decimals"),
        (b"a,b\n1,2\n3,1_000\n6,7\n", "Row 3, column 2 .*'1_000'"),
        (b"a,b\n1,2\n\n3,4,5\n", "Row 4 has 3 cells, but row 2 has 2"),
        (b"1,2,3\n4,5\n", "Row 2 has 2 cells, but row 1 has 3"),
        (b"1,2\n3,4,5\n6,7,8\n", "Row 2 has 3 cells, but row 1 has 2"),
        (b"a,b\n1,2\n3,-4\n", r"Row 3, column 2 \('b'\) holds -4, which is negative"),
        (b"a,b\n1,inf\n3,4\n", r"Row 2, column 2 \('b'\) holds inf, which is not finite"),
        (b"a,b\n1,1e999\n3,4\n", "Row 2, column 2 .*not finite"),
        (b"a,b\nx,y\nz,w\n", "no column of numbers"),
        (b"1\n2\n3\n", "Only one column"),
        (b"one word\nand two more\n", "Only one column"),
        (b"1,2\n", "fewer than two rows"),
        (b",,\n,,\n", "Only one column"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "Row 3 cannot be cut.*quotation"),
        (b'a,b\n1,2\n"3"x,4\n', "Row 3 cannot be cut.*quotation"),
        (b"a,b\n1,2\n" + b"x" * 10_001 + b",4\n", "Row 3, column 1 holds more than 10,000"),
        (b"a,b\n1,2\n" + b"x" * 200_000 + b",4\n", "Row 3 cannot be cut"),
        (b"1," * 200_001 + b"1\n", "200,000 cells"),
        (b"\xff\xfe1\x00,\x002\x00\n\x00\x00\xd8", "UTF-16 text but is damaged"),
        (b"0,0\n0,0\n", "zero"),
    ],
)
def test_faults_of_tables_are_located(content, words):
    with pytest.raises(DataError, match=words):
        load_file(content)


def test_words_beside_numbers_when_columns_are_observations_are_left_out_and_said():
    content = b"gene,about,a,b\ng1,x,1,2\ng2,y,3,4\n"
    dataset = load_file(content, observations="columns")
    assert dataset.observations == ("a", "b") and dataset.features == ("g1", "g2")
    assert "Column 2 ('about') holds words" in dataset.source


def test_the_number_of_rows_is_capped(monkeypatch):
    monkeypatch.setattr(text, "MAX_ROWS", 10)
    with pytest.raises(DataError, match="more than 10 rows"):
        load_file(b"1,2\n" * 11)
    with pytest.raises(DataError, match="more than 10 rows"):
        load_file(b"1,2\n" + b"\n" * 11)


def test_an_empty_last_column_is_dropped():
    np.testing.assert_array_equal(load_file(b"1,2,\n3,4,\n").X, [[1, 3], [2, 4]])


def test_names_from_outside_are_made_safe():
    hostile = "\u202e<script>\x00\x07\tevil\u200b"
    dataset = load_file(
        f"{hostile.replace(chr(0), '')},b\n1,2\n3,4\n".encode(), filename="a\x1b.csv"
    )
    assert dataset.features[0] == "<script> evil"
    assert dataset.name == "a"
    assert clean_name(hostile) == "<script> evil"
    assert clean_name("x" * 10**6) == "x" * 199 + "…"
    assert clean_names(["a", "", "a", "a (2)"], "item") == ["a", "item 2", "a (2)", "a (2) (2)"]


@given(st.text(max_size=300), st.integers(1, 50))
def test_clean_names_are_short_visible_and_stay_clean(text, limit):
    clean = clean_name(text, limit)
    assert len(clean) <= limit
    assert clean.isprintable() or any(not c.isprintable() for c in text)
    assert not any(ord(c) < 32 or 0x202A <= ord(c) <= 0x202E for c in clean)
    assert clean_name(clean, limit) == clean


@given(st.lists(st.text(max_size=5), max_size=30))
def test_clean_names_differ(texts):
    names = clean_names(texts, "item")
    assert len(set(names)) == len(names) == len(texts)
    assert all(names)


# --- arrays --------------------------------------------------------------------------------


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
        (header("{'descr':'<f8','fortran_order':False,'shape':(-2,-2)}"), "negative length"),
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
        (npy(-np.ones((2, 2))), "feature 1 .*negative"),
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
            load_file(bomb)
        with pytest.raises(DataError, match="grow to 30.52 MB; at most 1 MB"):
            load_file(bomb, limit_bytes=2**20)
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
    monkeypatch.setattr(arrays, "MAX_ENTRIES", 8)
    for content in (npy(np.ones((3, 3))), b"1,2,3\n" * 3, mtx(np.ones((3, 3)))):
        with pytest.raises(DataError, match="9 entries; at most 8"):
            load_file(content)


# --- Matrix Market -------------------------------------------------------------------------

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
        load_file(COORDINATE + b"1000 1000 1000\n1 1 1\n")


# --- whatever else -------------------------------------------------------------------------


def test_an_unforeseen_failure_is_still_one_sentence(monkeypatch):
    def fail(*_):
        raise RecursionError("deep")

    monkeypatch.setitem(FORMATS, "npy", dataclasses.replace(FORMATS["npy"], parts=fail))
    with pytest.raises(DataError, match="^The file could not be read as an NPY array.$"):
        load_file(npy(MATRIX))


SEEDS = [
    npy(MATRIX),
    npz(X=MATRIX, labels_a=np.array(["x", "y"])),
    mtx(sparse.coo_array(MATRIX)),
    b"id,a,b,g\np,1,2,x\nq,3,4,x\n",
    b"a;b\n1,5;2\n3;4\n",
]


@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    AXES,
)
def test_damaged_files_give_a_dataset_or_one_sentence(content, changes, observations):
    damaged = bytearray(content)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    try:
        dataset = load_file(bytes(damaged), observations=observations)
    except DataError as error:
        message = str(error)
        assert message.endswith(".")
        assert "\n" not in message
    else:
        assert dataset.dense().min() >= 0 and np.isfinite(dataset.dense()).all()


@given(st.binary(max_size=200))
def test_random_bytes_give_a_dataset_or_one_sentence(content):
    try:
        dataset = load_file(content)
    except DataError as error:
        assert str(error)[0].isupper()
    else:
        assert dataset.D >= 2 and dataset.N >= 2


@given(st.text(alphabet="0123456789.,;-e\t\n\"ab' ", max_size=60))
def test_random_tables_give_a_dataset_or_one_sentence(text):
    try:
        dataset = load_file(text.encode())
    except DataError as error:
        assert "could not be read as" not in str(error)
    else:
        assert dataset.D >= 2 and dataset.N >= 2
