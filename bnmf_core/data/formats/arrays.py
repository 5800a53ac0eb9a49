"""NPY and NPZ: NumPy arrays, read without unpickling and with validated headers."""

import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np
from scipy import sparse

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data.formats.format import array_format
from bnmf_core.data.limits import MAX_MEMBERS, ZIP, check_entries, check_side, member, open_archive

_SPARSE_KEYS = {"format", "shape", "data", "indices", "indptr", "row", "col", "_is_array"}
_NAMED_KEYS = {"X", "features", "observations", "image_shape", "mask"}
_LABELS = "labels_"


@dataclass(frozen=True)
class Header:
    """The header of an NPY array, and the offset of its values."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def npy_header(file: BinaryIO, room: int | None, where: str) -> Header:
    """Read the header at the current position of a file.

    room : bytes of the array from here; None for the rest of the file.

    DataError when it is damaged, does not fit the number of bytes, or declares Python objects.
    """
    began = file.tell()
    if room is None:
        room = file.seek(0, 2) - began
        file.seek(began)
    try:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, dtype = read_header(file)
    except Exception as error:
        # A foreign header is Python text that can fail in any way.
        raise DataError(f"{where} has a damaged NPY header; save it again.") from error
    if dtype.hasobject:
        raise DataError(
            f"{where} holds Python objects, which are never opened; save plain numbers, or "
            "fixed-length text for names."
        )
    found = Header(shape, by_columns, dtype, file.tell())
    follow = room - (found.start - began)
    if min(shape, default=0) < 0 or found.size != follow:
        raise DataError(
            f"{where} claims the shape {shape} with {found.size:,} bytes, but {follow:,} bytes "
            "follow; it is cut off or damaged, so save it again."
        )
    return found


def read_npy(content: bytes) -> np.ndarray:
    """The matrix in a .npy file."""
    return _matrix(_array(content, "The file"), "The array")


def read_npz(content: bytes, limit_bytes: int) -> Parts:
    """The arguments of ``Dataset.from_array`` for a .npz file, X and mask oriented as in the file.

    Three layouts: one array; a matrix stored by ``scipy.sparse.save_npz``; or arrays called
    X, features, observations, image_shape, mask and labels_<name>, all but X optional. The
    names of the third may also accompany a sparse matrix.
    """
    arrays = members(content, limit_bytes)
    if {"format", "shape", "data"} <= set(arrays):
        X: Any = _sparse_matrix(arrays)
        known = _SPARSE_KEYS | _NAMED_KEYS - {"X", "mask"}
    elif "X" in arrays:
        X = _matrix(arrays["X"], "The array 'X'")
        known = _NAMED_KEYS
    elif len(arrays) == 1:
        (key,) = arrays
        X = _matrix(arrays[key], f"The array {key!r}")
        known = {key}
    else:
        names = ", ".join(repr(clean_name(name, 40)) for name in list(arrays)[:5])
        raise DataError(
            f"The archive holds {len(arrays)} arrays and none is called 'X'; call the matrix "
            f"'X' (found: {names}{' …' if len(arrays) > 5 else ''})."
        )
    foreign = [key for key in arrays if key not in known and not key.startswith(_LABELS)]
    if foreign:
        raise DataError(
            f"The archive holds an array called {foreign[0]!r}; beside the matrix only "
            "features, observations, image_shape, mask and labels_<name> are read."
        )
    parts: dict[str, Any] = {"X": X}
    if "mask" in arrays:
        mask = arrays["mask"]
        if mask.ndim != 2 or mask.dtype.kind not in "bui":
            raise DataError("The array 'mask' must be a matrix of true and false.")
        parts["mask"] = mask.astype(bool)
    if "image_shape" in arrays:
        parts["image_shape"] = _two_counts(arrays["image_shape"], "image_shape")
    for side in ("features", "observations"):
        if side in arrays:
            parts[side] = clean_names(_words(arrays[side], side), side[:-1])
    parts["labels"] = {
        clean_name(key[len(_LABELS) :]) or "label": list(map(clean_name, _words(array, key)))
        for key, array in arrays.items()
        if key.startswith(_LABELS)
    }
    return cast(Parts, parts)


def _array(content: bytes, where: str) -> np.ndarray:
    """The array in the bytes of a .npy file; a view, so nothing is allocated for it."""
    header = npy_header(io.BytesIO(content), None, where)
    shape, dtype = header.shape, header.dtype
    if dtype.kind not in "buifcSU":
        raise DataError(f"{where} holds values of type {dtype}; numbers are needed.")
    if header.size == 0:
        raise DataError(f"{where} has the shape {shape} and holds no values.")
    flat = np.frombuffer(content, dtype=dtype, count=math.prod(shape), offset=header.start)
    return flat.reshape(shape, order="F" if header.by_columns else "C")


def _matrix(array: np.ndarray, where: str) -> np.ndarray:
    if array.ndim != 2:
        raise DataError(f"{where} has {array.ndim} dimensions; a matrix needs two.")
    if array.dtype.kind in "SU":
        raise DataError(f"{where} holds text; numbers are needed.")
    check_side(*array.shape)
    check_entries(*array.shape)
    return array


def members(content: bytes, limit_bytes: int) -> dict[str, np.ndarray]:
    """The arrays of an NPZ archive by name, after validation.

    DataError when it is no such archive, is damaged, or would grow beyond the limit.
    """
    with open_archive(content, limit_bytes, MAX_MEMBERS) as archive:
        entries = archive.infolist()
        _check_members(entries)
        return {
            entry.filename.removesuffix(".npy"): _array(
                member(archive, entry), f"The array {clean_name(entry.filename, 60)[:-4]!r}"
            )
            for entry in entries
        }


def _check_members(entries: list[zipfile.ZipInfo]) -> None:
    names = [entry.filename for entry in entries]
    if "[Content_Types].xml" in names:
        raise DataError(
            "The file is an Office document; of those, only sheets of Excel (XLSX) are read."
        )
    if not entries:
        raise DataError(f"The archive holds 0 files; an NPZ file has 1 to {MAX_MEMBERS}.")
    if len(set(names)) < len(names):
        raise DataError("The archive holds two files of the same name.")
    for entry in entries:
        name = entry.filename
        shown = clean_name(name, 60)
        if "/" in name or ".." in name or not name.isprintable():
            raise DataError(f"The archive holds a file with a forbidden name, {shown!r}.")
        if not name.endswith(".npy"):
            raise DataError(f"The archive holds {shown!r}; only arrays (.npy) are read.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                f"The file {shown!r} in the archive is compressed in an unusual way; use "
                "numpy.savez_compressed."
            )


def _sparse_matrix(arrays: dict[str, np.ndarray]) -> Any:
    """A matrix in the layout of ``scipy.sparse.save_npz``, every index checked."""
    if arrays["format"].shape != () or arrays["format"].dtype.kind not in "SU":
        raise DataError("The array 'format' of the sparse matrix must be one word.")
    kind = str(arrays["format"].astype(str)).encode("ascii", "replace").decode()
    if kind not in ("csr", "csc", "coo"):
        raise DataError(f"The sparse matrix has the format {kind!r}; csr, csc and coo can be read.")
    names = ("data", "row", "col") if kind == "coo" else ("data", "indices", "indptr")
    for name in names:
        if name not in arrays:
            raise DataError(f"The sparse matrix lacks the array {name!r}.")
        allowed = "buif" if name == "data" else "ui"
        if arrays[name].ndim != 1 or arrays[name].dtype.kind not in allowed:
            raise DataError(f"The array {name!r} of the sparse matrix is not a list of numbers.")
    shape = _two_counts(arrays["shape"], "shape")
    check_side(*shape)
    try:
        return checked_sparse(kind, [arrays[name] for name in names], shape)
    except ValueError as error:
        raise DataError(
            f"The indices of the sparse matrix do not fit its shape {shape[0]}×{shape[1]}."
        ) from error


def checked_sparse(kind: str, arrays: Sequence[np.ndarray], shape: tuple[int, int]) -> Any:
    """Build a sparse matrix from data and two arrays of indices; ValueError if these do not fit.

    kind : "csr", "csc" or "coo". arrays : data, indices, indptr; of "coo": data, rows, columns.
    """
    # Duplicate entries are added, which may overflow small integers. Unsigned
    # 64-bit indices beyond the signed range turn negative and are then refused.
    data, first, second = arrays[0].astype(np.float64), *(a.astype(np.int64) for a in arrays[1:])
    if kind == "coo":
        return sparse.coo_array((data, (first, second)), shape=shape)
    layout = sparse.csr_array if kind == "csr" else sparse.csc_array
    matrix = layout((data, first, second), shape=shape)
    # Without the full check, an index outside the shape would read foreign memory.
    matrix.check_format(full_check=True)
    return matrix


def _two_counts(array: np.ndarray, name: str) -> tuple[int, int]:
    if array.shape != (2,) or array.dtype.kind not in "ui" or (array < 1).any():
        raise DataError(f"The array {name!r} must hold two whole numbers of 1 or more.")
    return int(array[0]), int(array[1])


def _words(array: np.ndarray, name: str) -> list[str]:
    if array.ndim != 1 or array.dtype.kind not in "SUbuif":
        raise DataError(f"The array {name!r} must be a list of words or numbers.")
    check_side(len(array), 1)
    words = array.tolist()
    return [w.decode("utf-8", "replace") if isinstance(w, bytes) else str(w) for w in words]


NPY = array_format(
    "npy",
    "an NPY array",
    lambda content, _: content.startswith(b"\x93NUMPY"),
    lambda content, _: {"X": read_npy(content)},
)
NPZ = array_format("npz", "an NPZ archive", lambda content, _: content.startswith(ZIP), read_npz)
