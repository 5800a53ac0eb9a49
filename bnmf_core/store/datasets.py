"""Datasets on disk: one folder each, named by the content's hash."""

import zlib
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import DamagedError, StoreError
from bnmf_core.core.texts import MOST_BYTES, Texts
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import Matrix, is_sparse
from bnmf_core.store import files, integrity

# What reads files stands above what keeps them.
blocks_of: Any = lazy("bnmf_core.blocks.whole")
META, TEXTS = "meta.json", "texts.npz"
# Bytes of X that are read within about a second.
SOON_READ = 2_000_000_000


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Write a dataset; ``META`` comes last and makes it complete."""
    arrays: dict[str, np.ndarray] = {
        "features": np.array(dataset.features),
        "observations": np.array(dataset.observations),
    }
    X = dataset.X
    if is_sparse(X):
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    else:
        files.write_array(folder / "X.npy", X)
    if dataset.mask is not None:
        arrays["mask"] = dataset.mask
    if dataset.hidden is not None:
        arrays["hidden"] = dataset.hidden
    keys = list(dataset.labels)
    arrays |= {f"label_{i}": dataset.labels[key] for i, key in enumerate(keys)}
    told = list(dataset.descriptions)
    arrays |= {f"description_{i}": dataset.descriptions[key] for i, key in enumerate(told)}
    for i, truth in enumerate(dataset.truth):
        arrays |= {f"truth_A_{i}": truth.A, f"truth_W_{i}": truth.W}
    if dataset.whole is not None:
        if not dataset.whole.can_be_stored:
            raise StoreError(
                f"The blocks of {dataset.name!r} lie in no file, so they cannot be opened again; "
                "write them to a store (Zarr, for example) and open that."
            )
        arrays["sample"] = dataset.whole.sample
    files.write_arrays(folder / "arrays.npz", arrays)
    if dataset.texts is not None:
        _write_texts(folder / TEXTS, dataset.texts)
    meta = {
        "name": dataset.name,
        "shape": dataset.X.shape,
        "sparse": dataset.is_sparse,
        "labels": keys,
        "descriptions": told,
        "truth": [truth.name for truth in dataset.truth],
        "image_shape": dataset.image_shape,
        "map_shape": dataset.map_shape,
        "unit": dataset.unit,
        "features_are": dataset.features_are,
        "source": dataset.source,
        "texts": dataset.texts is not None,
        "whole": None if dataset.whole is None else dataset.whole.described(),
        "missing": dataset.missing,
        "stored_entries": dataset.stored_entries,
        # The other arrays have theirs, as NPZ files do.
        "sum": None if is_sparse(X) else _sum(X),
        "dtype": X.dtype.str,
    }
    files.write_json(folder / META, meta)


def read_dataset(folder: Path) -> Dataset:
    """Read a dataset back; a dense X is memory-mapped.

    Raises
    ------
    DamagedError
        When a file is missing, torn or damaged; of an X larger than 2 GB, :func:`verify` tells.
    """
    meta = read_meta(folder)
    try:
        arrays = files.read_arrays(folder / "arrays.npz")
        for array in arrays.values():
            array.flags.writeable = False
        if meta["sparse"]:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            D, N = meta["shape"]
            X: Matrix = sparse.csc_array(parts, shape=(D, N))
        else:
            X = files.read_array(folder / "X.npy", mapped=True)
        image_shape, map_shape = meta["image_shape"], meta["map_shape"]
        found = Dataset(
            X=X,
            name=meta["name"],
            features=tuple(arrays["features"].tolist()),
            observations=tuple(arrays["observations"].tolist()),
            labels={key: arrays[f"label_{i}"] for i, key in enumerate(meta["labels"])},
            descriptions={
                # Data that were stored before there were any have none.
                key: arrays[f"description_{i}"]
                for i, key in enumerate(meta.get("descriptions", ()))
            },
            mask=arrays.get("mask"),
            hidden=arrays.get("hidden"),
            image_shape=None if image_shape is None else tuple(image_shape),
            map_shape=None if map_shape is None else tuple(map_shape),
            unit=meta["unit"],
            features_are=meta["features_are"],
            source=meta["source"],
            truth=tuple(
                Truth(name, arrays[f"truth_A_{i}"], arrays[f"truth_W_{i}"])
                for i, name in enumerate(meta["truth"])
            ),
            # Data of before this version have none.
            texts=Texts(
                partial(read_texts, folder / TEXTS),
                np.arange(meta["shape"][1]),
                partial(_read_counts, folder / TEXTS),
            )
            if meta.get("texts")
            else None,
            whole=blocks_of.reopened(meta["whole"], arrays["sample"])
            if meta.get("whole")
            else None,
        )
    except (StoreError, KeyError, TypeError, ValueError) as error:
        raise _damaged(meta, error) from error
    if isinstance(found.X, np.ndarray) and found.X.nbytes <= SOON_READ:
        _verify(found.X, meta)
    return found


def is_kept(folder: Path, dataset: Dataset) -> bool:
    """Whether a dataset is there, undamaged, and its blocks where they are now."""
    if not (folder / META).exists():
        return False
    whole = None if dataset.whole is None else dataset.whole.described()
    try:
        if whole is not None and whole["path"] and read_meta(folder).get("whole") != whole:
            return False
        read_dataset(folder)
        verify(folder)
    except DamagedError:
        return False
    return True


def verify(folder: Path) -> None:
    """Hold a dense X of any size, and texts, against what was written.

    Raises
    ------
    DamagedError
        When it is damaged.
    """
    meta = read_meta(folder)
    if not meta["sparse"]:
        try:
            X = files.read_array(folder / "X.npy", mapped=True)
        except StoreError as error:
            raise _damaged(meta, error) from error
        _verify(X, meta)
    if meta.get("texts"):
        read_texts(folder / TEXTS)


def _write_texts(path: Path, texts: Texts) -> None:
    """Texts, and in how many of them each word stands, which takes seconds to count."""
    words = texts.documents()
    arrays = {"documents": np.array(list(words.values()), dtype=np.int64)}
    files.write_arrays(path, arrays | _packed("texts", texts) | _packed("words", list(words)))


def _packed(name: str, held: Sequence[str]) -> dict[str, np.ndarray]:
    """Packed by us: arrays of a store are not, so that none can swell when it is read."""
    pieces = [text.encode() for text in held]
    packed = np.frombuffer(zlib.compress(b"".join(pieces)), np.uint8)
    return {name: packed, f"{name}_lengths": np.array([len(one) for one in pieces], np.int64)}


# Those of the data that are looked at; a page asks for a few at a time.
@lru_cache(maxsize=2)
def read_texts(path: Path) -> tuple[str, ...]:
    """All texts of a stored dataset.

    Raises
    ------
    DamagedError
        When the file is missing or damaged, or holds more than may be kept.
    """
    return _unpacked(path, "texts")[0]


def _read_counts(path: Path) -> dict[str, int]:
    words, documents = _unpacked(path, "words")
    return dict(zip(words, documents.tolist(), strict=True))


def _unpacked(path: Path, name: str) -> tuple[tuple[str, ...], np.ndarray]:
    """What :func:`_packed` made, and the numbers of documents."""
    try:
        arrays = files.read_arrays(path)
        whole = zlib.decompressobj().decompress(arrays[name].tobytes(), MOST_BYTES + 1)
        ends = list(accumulate(arrays[f"{name}_lengths"].tolist(), initial=0))
        if len(whole) != ends[-1] or len(whole) > MOST_BYTES:
            raise ValueError("it is not as long as it says")
        found = tuple(whole[begin:end].decode() for begin, end in pairwise(ends))
        return found, arrays["documents"]
    except (StoreError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise DamagedError(
            "The texts of these data are damaged on the disk. Import the data again from their "
            "file."
        ) from error


def read_meta(folder: Path) -> dict[str, Any]:
    """What is kept of a dataset beside its arrays.

    Raises
    ------
    DamagedError
        When it is missing or damaged.
    """
    try:
        meta: dict[str, Any] = files.read_json(folder / META)
    except StoreError as error:
        raise DamagedError(
            f"The data in the folder {folder.name} are damaged on the disk: what is kept of their "
            "names and labels is not what was stored. Import them again from their file."
        ) from error
    return meta


def _sum(X: np.ndarray) -> int:
    """The checksum of X as it lies in its file, by columns or by rows: nothing is copied."""
    return integrity.checksum(X.T if X.flags.f_contiguous else X)


def _verify(X: np.ndarray, meta: dict[str, Any]) -> None:
    if _sum(X) != meta.get("sum") or X.dtype.str != meta.get("dtype"):
        raise _damaged(meta)


def _damaged(meta: dict[str, Any], why: Exception | None = None) -> DamagedError:
    reason = "they are not what was stored" if why is None else str(why).rstrip(".")
    return DamagedError(
        f"The data {meta['name']!r} are damaged on the disk: {reason}. Import them again from "
        "their file."
    )
