"""A small matrix in every kind of store, and what reading it must give."""

import shutil

import h5py
import numpy as np
import pyarrow as pa
import zarr
from pyarrow import parquet
from scipy import sparse

from bnmf_core.blocks.source import Blocks
from bnmf_core.blocks.stores import open_source
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
