"""Files → Dataset: what goes in comes out, and what is hostile is one sentence."""

import csv
import dataclasses
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from bnmf_core.core.errors import DataError
from bnmf_core.core.limits import NAMED_BY
from bnmf_core.data.formats import FORMATS
from bnmf_core.data.load import load_file
from tests.data.written import AXES, MATRICES, MATRIX, mtx, npy, npz, oriented, read


@given(MATRICES, AXES, st.sampled_from([",", ";", "\t"]), st.booleans(), st.booleans())
def test_csv_round_trip(matrix, observations, delimiter, with_header, with_names):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    if with_header:
        first = ["name"] if with_names else []
        writer.writerow(first + [f"c{j}" for j in range(matrix.shape[1])])
    for i, row in enumerate(matrix):
        writer.writerow(([f"r{i}"] if with_names else []) + [repr(float(x)) for x in row])
    dataset = read(file.getvalue().encode(), observations=observations)
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
    dataset = read(npy(matrix), observations=observations)
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
    dataset = read(content, observations=observations)
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
    dataset = read(file.getvalue(), observations=observations)
    assert dataset.is_sparse
    np.testing.assert_array_equal(oriented(dataset, observations), matrix)


@given(MATRICES, AXES, st.booleans(), st.booleans())
def test_mtx_round_trip(matrix, observations, as_sparse, symmetric):
    if symmetric:
        matrix = matrix @ matrix.T
    content = mtx(
        sparse.coo_array(matrix) if as_sparse else matrix,
        symmetry="symmetric" if symmetric else "general",
    )
    dataset = read(content, observations=observations)
    assert dataset.is_sparse == as_sparse
    np.testing.assert_array_equal(oriented(dataset, observations), matrix)


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
    dataset = read(npy(MATRIX), filename="table.csv", observations="columns")
    np.testing.assert_array_equal(dataset.X, MATRIX)
    dataset = read(b"1,2\n3,4\n", filename="table.npy", observations="columns")
    np.testing.assert_array_equal(dataset.X, [[1, 2], [3, 4]])


def test_what_cannot_be_opened_is_named(tmp_path):
    for path in (tmp_path / "absent.csv", tmp_path, "nul\0.csv", "https://example.org/a.csv"):
        with pytest.raises(DataError, match="could not be opened"):
            load_file(path)
    with pytest.raises(DataError, match="binary mode"):
        load_file(io.StringIO("1,2\n3,4\n"))
    with pytest.raises(DataError, match="rows, columns"):
        load_file(b"1,2\n3,4\n", observations="diagonal")


def test_the_size_limit_holds_for_every_source(tmp_path, monkeypatch):
    content = b"1,2\n" * 100
    (tmp_path / "limits.toml").write_text("reading_megabytes = 0.0001")
    monkeypatch.setenv(NAMED_BY, str(tmp_path / "limits.toml"))
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    for source in (path, content, io.BytesIO(content)):
        with pytest.raises(DataError, match="larger than"):
            load_file(source)


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
        (b"II*\0\x08\0", "put many of one size into a zip, one page each"),
        (b"PK\x05\x06" + b"\0" * 18, "empty archive"),
        (b"\x7fELF\x00\x01", "neither text nor"),
    ],
)
def test_other_formats_are_refused_by_name(start, words):
    with pytest.raises(DataError, match=words):
        load_file(start)


def test_an_unforeseen_failure_is_still_one_sentence(monkeypatch):
    def fail(*_):
        raise RecursionError("deep")

    monkeypatch.setitem(FORMATS, "npy", dataclasses.replace(FORMATS["npy"], parts=fail))
    with pytest.raises(DataError, match="^The file could not be read as an NPY array.$"):
        read(npy(MATRIX))


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
        dataset = read(bytes(damaged), observations=observations)
    except DataError as error:
        message = str(error)
        assert message.endswith(".")
        assert "\n" not in message
    else:
        assert dataset.dense().min() >= 0 and np.isfinite(dataset.dense()).all()


@given(st.binary(max_size=200))
def test_random_bytes_give_a_dataset_or_one_sentence(content):
    try:
        dataset = read(content)
    except DataError as error:
        assert str(error)[0].isupper()
    else:
        assert dataset.D >= 2 and dataset.N >= 2


@given(st.text(alphabet="0123456789.,;-e\t\n\"ab' ", max_size=60))
def test_random_tables_give_a_dataset_or_one_sentence(text):
    try:
        dataset = read(text.encode())
    except DataError as error:
        assert "could not be read as" not in str(error)
    else:
        assert dataset.D >= 2 and dataset.N >= 2


def test_complex_numbers_are_called_so(tmp_path):
    path = tmp_path / "spectrum.mat"
    savemat(path, {"S": np.full((4, 3), 1 - 2j)})
    with pytest.raises(DataError, match="holds complex numbers; save their magnitudes"):
        load_file(path)
