"""Every store gives the matrix that was written, block by block, and says what is wrong with it."""

import os
import pickle

import h5py
import numpy as np
import pytest
from scipy import sparse

from bnmf_core.blocks.source import Blocks
from bnmf_core.blocks.stores import open_source
from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.numerics.matrix import dense
from tests.blocks.stored import (
    CELLS,
    FEATURES,
    NAMED,
    ROWS,
    WRITERS,
    X,
    blocks_of,
    same,
    write_csr,
    write_h5ad,
    write_h5ad_dense,
)


@pytest.fixture(params=list(WRITERS))
def kind(request):
    return request.param


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
