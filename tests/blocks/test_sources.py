"""Every store gives the matrix that was written, block by block, and says what is wrong with it."""

import json
import os
import pickle
import shutil
import sys

import dask.array
import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from scipy import sparse

from bnmf_core.blocks.source import Blocks
from bnmf_core.blocks.stores import open_source
from bnmf_core.blocks.stores.dask_array import of_dask
from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.numerics.matrix import dense, is_sparse

D, N = 7, 50
X = np.random.default_rng(0).poisson(0.6, size=(D, N)).astype(float)
ROWS = sparse.csr_array(X.T)
FEATURES = tuple(f"gene {d}" for d in range(D))
CELLS = tuple(f"cell {n}" for n in range(N))


def write_npy(path, values=X):
    np.save(path / "x.npy", values.T)
    return path / "x.npy"


def write_csr(path, values=X):
    sparse.save_npz(path / "x.npz", sparse.csr_array(values.T), compressed=False)
    return path / "x.npz"


def write_h5ad(path, values=X, kind="csr_matrix"):
    with h5py.File(path / "x.h5ad", "w") as file:
        if kind == "array":
            file.create_dataset("X", data=values.T, chunks=(8, D))
        else:
            rows = sparse.csr_array(values.T)
            group = file.create_group("X")
            group.attrs.update({"encoding-type": kind, "shape": rows.shape})
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(rows, name)
        for name, words in (("obs", CELLS), ("var", FEATURES)):
            group = file.create_group(name)
            group.attrs["_index"] = "index"
            group["index"] = list(words)
    return path / "x.h5ad"


def write_h5ad_dense(path, values=X):
    return write_h5ad(path, values, "array")


def write_zarr(path, values=X, version=3):
    shutil.rmtree(path / "x.zarr", ignore_errors=True)
    told = {"shape": (N, D), "chunks": (8, D), "dtype": "f4", "zarr_format": version}
    zarr.create_array(path / "x.zarr", **told)[:] = values.T
    return path / "x.zarr"


def write_zarr_2(path, values=X):
    return write_zarr(path, values, 2)


def write_anndata(path, values=X, version=3, kind="csr_matrix"):
    shutil.rmtree(path / "x.zarr", ignore_errors=True)
    root = zarr.open_group(path / "x.zarr", mode="w", zarr_format=version)
    if kind == "array":
        root.create_array("X", data=values.T, chunks=(8, 3))
    else:
        rows = sparse.csr_array(values.T)
        group = root.create_group("X", attributes={"encoding-type": kind, "shape": [N, D]})
        for name in ("data", "indices", "indptr"):
            group.create_array(name, data=getattr(rows, name), chunks=(20,))
    for name, words in (("obs", CELLS), ("var", FEATURES)):
        group = root.create_group(name, attributes={"_index": "index"})
        group.create_array("index", shape=(len(words),), dtype=str)[:] = np.array(words, dtype="T")
    return path / "x.zarr"


def write_anndata_2(path, values=X):
    return write_anndata(path, values, 2)


def write_anndata_dense(path, values=X):
    return write_anndata(path, values, kind="array")


def write_wide(path, values=X):
    table = pa.table({"cell": CELLS, **dict(zip(FEATURES, values, strict=True))})
    parquet.write_table(table, path / "x.parquet", row_group_size=8)
    return path / "x.parquet"


# A document of a long table has at least one term.
FULL = X.copy()
FULL[0] += FULL.sum(axis=0) == 0


def write_long(path, values=FULL, named=True, rows=13):
    n, d = np.nonzero(values.T)
    counts = values[d, n]
    words, cells = np.array(FEATURES), np.array([f"cell {i:02}" for i in range(N)])
    told = {"document": cells[n] if named else n + 5, "term": words[d] if named else d + 1}
    table = pa.table(told | {"count": counts})
    parquet.write_table(table, path / "x.parquet", row_group_size=rows)
    return path / "x.parquet"


WRITERS = {
    "npy": write_npy,
    "csr": write_csr,
    "h5ad": write_h5ad,
    "h5ad dense": write_h5ad_dense,
    "zarr": write_zarr,
    "zarr 2": write_zarr_2,
    "anndata": write_anndata,
    "anndata 2": write_anndata_2,
    "anndata dense": write_anndata_dense,
    "wide": write_wide,
}
NAMED = ("h5ad", "h5ad dense", "anndata", "anndata 2", "anndata dense", "wide")


@pytest.fixture(params=list(WRITERS))
def kind(request):
    return request.param


def blocks_of(path, **told):
    return Blocks.of(open_source(path, **told), most_bytes=900)


def same(blocks, values=X):
    assert blocks.count > 2
    assert (blocks.D, blocks.N) == values.shape
    for i in range(blocks.count):
        block = blocks.read(i)
        assert is_sparse(block) == blocks.source.sparse
        assert block.dtype == np.float64
        np.testing.assert_array_equal(
            dense(block), values[:, blocks.bounds[i] : blocks.bounds[i + 1]]
        )
        if is_sparse(block):
            assert block.has_canonical_format
        else:
            assert block.flags.f_contiguous
    np.testing.assert_array_equal(dense(blocks.source.read(3, 29)), values[:, 3:29])


def test_every_store_is_the_matrix_block_by_block(tmp_path, kind):
    blocks = blocks_of(WRITERS[kind](tmp_path))
    same(blocks)
    assert blocks.source.label == "x"
    assert blocks.source.features == (FEATURES if kind in NAMED else None)
    assert blocks.names(np.array([0, 20, 49])) == (
        (CELLS[0], CELLS[20], CELLS[49]) if kind in NAMED else None
    )


def test_a_source_is_pickled_small_and_read_again(tmp_path, kind):
    blocks = blocks_of(WRITERS[kind](tmp_path))
    blocks.read(0)
    sent = pickle.dumps(blocks)
    assert len(sent) < 1500
    again = pickle.loads(sent)
    assert again == blocks
    same(again)
    assert again.hash == blocks.hash


def test_observations_may_be_columns(tmp_path):
    np.save(tmp_path / "x.npy", X)
    same(blocks_of(tmp_path / "x.npy", observations="columns"))
    np.save(tmp_path / "x.npy", np.asfortranarray(X, dtype=np.float32))
    same(blocks_of(tmp_path / "x.npy", observations="columns"))


def test_a_sample_is_without_replacement_and_skips_blocks(tmp_path, kind, monkeypatch):
    blocks = blocks_of(WRITERS[kind](tmp_path))
    indices, drawn = blocks.sample(20, np.random.default_rng(1))
    assert len(set(indices.tolist())) == 20
    assert (np.diff(indices) > 0).all()
    np.testing.assert_array_equal(dense(drawn), X[:, indices])
    read, seen = Blocks.read, []
    monkeypatch.setattr(Blocks, "read", lambda self, i: seen.append(i) or read(self, i))
    blocks.sample(1, np.random.default_rng(2))
    assert len(seen) == 1
    with pytest.raises(DataError, match="choose from 1 to 50"):
        blocks.sample(51, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, "not a number"), (np.inf, "infinite"), (-1.0, "negative")],
)
def test_a_fault_names_block_observations_and_place(tmp_path, kind, value, words):
    wrong = X.copy()
    wrong[2, 30] = value
    blocks = blocks_of(WRITERS[kind](tmp_path, wrong))
    i = int(np.searchsorted(blocks.bounds, 30, side="right")) - 1
    first, stop = blocks.bounds[i], blocks.bounds[i + 1]
    with pytest.raises(DataError, match=words) as caught:
        blocks.read(i)
    said = str(caught.value)
    assert said.startswith(f"Block {i + 1} (observations {first + 1} to {stop}) of ")
    assert "feature 3 and observation 31" in said
    blocks.read(0)


def rewritten(path):
    metadata = (path / name for name in ("zarr.json", ".zarray", ".zgroup"))
    there = next(one for one in metadata if one.exists()) if path.is_dir() else path
    os.utime(there, ns=(1, there.stat().st_mtime_ns + 1_000_000))


def test_a_store_that_is_written_again_is_refused(tmp_path, kind, monkeypatch):
    path = WRITERS[kind](tmp_path)
    blocks, before = blocks_of(path), blocks_of(path).hash
    read = type(blocks.source).read

    def changed_meanwhile(self, first, stop):
        found = read(self, first, stop)
        rewritten(path)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(type(blocks.source), "read", changed_meanwhile)
        with pytest.raises(DataError, match="changed after it was opened"):
            blocks.read(0)
    with pytest.raises(DataError, match=r"Block 2 .* changed after it was opened"):
        blocks.read(1)
    assert blocks_of(path).hash != before
    WRITERS[kind](tmp_path, 2 * X)
    same(blocks_of(path), 2 * X)


@pytest.mark.parametrize("kind", ["npy", "csr", "h5ad", "h5ad dense", "wide"])
def test_a_torn_file_is_refused(tmp_path, kind):
    path = WRITERS[kind](tmp_path)
    blocks = blocks_of(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="cut off or damaged"):
        open_source(path)
    with pytest.raises(DataError, match="changed after it was opened"):
        blocks.read(1)
    path.unlink()
    with pytest.raises(DataError, match="no longer there"):
        blocks.read(1)


def test_indices_outside_the_matrix_are_refused(tmp_path):
    wrong = sparse.csr_array(X.T)
    wrong.indices[-1] = 4000
    sparse.save_npz(tmp_path / "x.npz", wrong, compressed=False)
    blocks = blocks_of(tmp_path / "x.npz")
    with pytest.raises(DataError, match="cannot be read: its indices do not fit the shape"):
        blocks.read(blocks.count - 1)


def test_what_cannot_be_read_by_blocks_says_what_to_do(tmp_path):
    sparse.save_npz(tmp_path / "small.npz", ROWS)
    sparse.save_npz(tmp_path / "csc.npz", sparse.csc_array(X.T), compressed=False)
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    for name, words in (
        ("small.npz", "compressed=False"),
        ("csc.npz", "only csr"),
        ("cube.npy", "3 dimensions"),
        ("objects.npy", "never opened"),
        ("words.npy", "real numbers"),
        ("text.csv", "allowed are NPY, CSR of scipy"),
    ):
        with pytest.raises(DataError, match=words):
            open_source(tmp_path / name)
    with pytest.raises(DataError, match="store it by rows"):
        open_source(write_h5ad(tmp_path, kind="csc_matrix"))
    with pytest.raises(DataError, match="'rows' or 'columns'"):
        open_source(tmp_path / "cube.npy", observations="both")
    with pytest.raises(DataError, match="rows only"):
        open_source(write_csr(tmp_path), observations="columns")
    with pytest.raises(NotFoundError):
        open_source(tmp_path / "nothing.npy")


def test_no_link_leads_out_of_an_hdf5_file(tmp_path):
    inner = write_h5ad_dense(tmp_path).rename(tmp_path / "inner.h5ad")
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(inner), "X")
    with pytest.raises(DataError, match="lies in another file"):
        open_source(tmp_path / "x.h5ad")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("rows", [13, 1, 10_000])
def test_a_long_table_is_cut_between_documents(tmp_path, named, rows):
    source = open_source(write_long(tmp_path, named=named, rows=rows))
    assert (source.D, source.N, source.stored_entries) == (D, N, np.count_nonzero(FULL))
    assert source.features == (FEATURES if named else tuple("1234567"))
    blocks = Blocks.of(source, most_bytes=500)
    if rows != 10_000:
        same(pickle.loads(pickle.dumps(blocks)), FULL)
    np.testing.assert_array_equal(dense(source.read(0, N)), FULL)
    wanted = ("cell 03", "cell 41") if named else ("8", "46")
    assert blocks.names(np.array([3, 41])) == wanted


def test_a_long_table_that_cannot_be_read_says_why(tmp_path):
    for documents, terms, words in (
        (["b", "a"], [0, 1], "not sorted by document"),
        (["a", None], [0, 1], "a row without a document"),
        (["a", "b"], [0, 10**9], "number them from 0 or 1"),
        (["a", "b"], [0.5, 1.0], "whole numbers or words"),
    ):
        told = {"document": documents, "term": terms, "count": [1, 2]}
        parquet.write_table(pa.table(told), tmp_path / "x.parquet", row_group_size=1)
        with pytest.raises(DataError, match=words):
            open_source(tmp_path / "x.parquet")
    parquet.write_table(pa.table({"a": [1], "b": ["word"]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="column 'b' of type string"):
        open_source(tmp_path / "x.parquet")


def test_a_missing_cell_of_a_table_is_not_a_number(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None], "b": [3, 4]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="not a number, of feature 1 and observation 2"):
        Blocks.of(open_source(tmp_path / "x.parquet")).read(0)


def test_a_torn_chunk_of_zarr_is_refused(tmp_path):
    path = write_zarr(tmp_path)
    chunk = path / "c" / "2" / "0"
    chunk.write_bytes(chunk.read_bytes()[:9])
    blocks = blocks_of(path)
    blocks.read(0)
    i = blocks.bounds.index(16)
    with pytest.raises(DataError, match="cannot be read: the store is torn or damaged"):
        blocks.read(i)
    (path / "zarr.json").write_text("{")
    with pytest.raises(DataError, match="cut off or damaged"):
        open_source(path)


def test_a_new_chunk_of_zarr_is_noticed(tmp_path):
    path = write_zarr(tmp_path)
    blocks = blocks_of(path)
    blocks.read(0)
    zarr.open_array(path, mode="r+")[0:8] = 3
    with pytest.raises(DataError, match="changed after it was opened"):
        blocks.read(0)


def test_a_folder_of_zarr_has_no_links_and_runs_no_code(tmp_path, monkeypatch):
    path = write_zarr_2(tmp_path)
    told = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(told | {"filters": [{"id": "pickle"}]}))
    with pytest.raises(DataError, match="codec 'pickle', which is not opened"):
        open_source(path)
    path = write_zarr(tmp_path)
    (path / "c" / "9").symlink_to("/etc")
    with pytest.raises(DataError, match="holds a link"):
        open_source(path)
    with pytest.raises(DataError, match="store it by rows"):
        open_source(write_anndata(tmp_path, kind="csc_matrix"))
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(DataError, match="pip install"):
        open_source(path)


def test_arrays_of_dask_are_read_by_chunks():
    array = dask.array.from_array(X.T, chunks=(8, D))
    of_rows = array.map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0)))
    blocks = Blocks.of(of_dask(array), most_bytes=900)
    same(blocks)
    for source in (of_dask(array.T, "columns"), of_dask(of_rows)):
        same(pickle.loads(pickle.dumps(Blocks.of(source, most_bytes=400))))
    assert pickle.loads(pickle.dumps(blocks)) == blocks
    assert 0 < of_dask(of_rows).stored_entries < D * N
    _, drawn = Blocks.of(of_dask(of_rows)).sample(9, np.random.default_rng(0))
    assert drawn.shape == (D, 9)


def test_a_wrong_chunk_of_dask_is_named():
    def cut(block, block_info=None):
        at = block_info[0]["chunk-location"][0]
        return block[:, :-1] if at == 2 else block[:-1] if at == 3 else block / (at != 4)

    array = dask.array.from_array(X.T + 1, chunks=(8, D))
    wrong = array.map_blocks(cut, dtype=float, chunks=array.chunks)
    blocks = Blocks.of(of_dask(wrong, label="cells"), most_bytes=500)
    blocks.read(1)
    with pytest.raises(
        DataError, match=r"Block 3 \(observations 17 to 24\) of cells has 6 features"
    ):
        blocks.read(2)
    with pytest.raises(DataError, match="Block 4 .* has 7 observations, but 8 were expected"):
        blocks.read(3)
    joined = Blocks.of(of_dask(wrong), most_bytes=1000)
    with pytest.raises(DataError, match="its chunks have 6 and 7 features"):
        joined.read(1)
    with pytest.raises(DataError, match="2 chunks along the features"):
        of_dask(array.rechunk({1: 4}))
    with pytest.raises(DataError, match="unknown length"):
        of_dask(array[array.sum(axis=1) > 9])
