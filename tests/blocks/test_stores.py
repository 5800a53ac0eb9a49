"""What single kinds of store have of their own: documents, chunks, links and codecs."""

import json
import pickle
import sys

import dask.array
import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from scipy import sparse

from bnmf_core.blocks.offered import stores_in
from bnmf_core.blocks.source import Blocks
from bnmf_core.blocks.stores import open_source
from bnmf_core.blocks.stores.dask_array import of_dask
from bnmf_core.core.errors import DataError
from bnmf_core.numerics.matrix import dense
from tests.blocks.stored import (
    FEATURES,
    FULL,
    D,
    N,
    X,
    blocks_of,
    same,
    write_anndata,
    write_long,
    write_wide,
    write_zarr,
    write_zarr_2,
)


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


@pytest.mark.parametrize("write", [write_wide, write_long])
def test_a_folder_of_parquet_is_read_like_one_file(tmp_path, write):
    one = write(tmp_path)
    table, folder = parquet.read_table(one), tmp_path / "cells"
    (folder / "more").mkdir(parents=True)
    # Documents go on from one file to the next, whose name comes later as a number.
    at = [0, 25, 26, 90, table.num_rows] if write is write_long else [0, 7, 8, 30, table.num_rows]
    names = ("cells-2.parquet", "cells-10.parquet", "cells-11.parquet", "more/cells-1.parquet")
    for name, first, stop in zip(names, at, at[1:], strict=False):
        parquet.write_table(table.slice(first, stop - first), folder / name, row_group_size=11)
    (folder / "_SUCCESS").touch()
    source, whole = open_source(folder), open_source(one)
    assert (source.D, source.N, source.features) == (whole.D, whole.N, whole.features)
    blocks = Blocks.of(source, most_bytes=500)
    same(pickle.loads(pickle.dumps(blocks)), dense(whole.read(0, N)))
    assert blocks.names(np.arange(N)) == Blocks.of(whole).names(np.arange(N))
    parquet.write_table(table.slice(0, 1), folder / "more" / "cells-2.parquet")
    with pytest.raises(DataError, match="changed after it was opened"):
        blocks.read(0)
    other = pa.table({"cell": ["a"], "another": [1.0]})
    parquet.write_table(other, folder / "more" / "cells-2.parquet")
    with pytest.raises(DataError, match=r"cells-2\.parquet has other columns"):
        open_source(folder)


def test_a_folder_of_parquet_is_offered_instead_of_its_parts(tmp_path):
    for name in ("baskets/part-1", "baskets/part-10", "several/cells", "several/genes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.parquet").touch()
    found = [path.removeprefix(f"{tmp_path}/") for path in stores_in([tmp_path])]
    assert found == ["baskets", "several/cells.parquet", "several/genes.parquet"]


def test_links_in_a_folder_of_parquet_are_not_followed(tmp_path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "x.parquet").symlink_to(write_wide(tmp_path))
    with pytest.raises(DataError, match="of no kind that is read by blocks"):
        open_source(tmp_path / "cells")


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
