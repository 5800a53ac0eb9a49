"""H5AD files of scanpy, and functions that HDF5 formats share.

External links are refused, and declared sizes are checked first.
"""

import io
from collections.abc import Mapping
from typing import Any

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, listed
from bnmf_core.data import cells
from bnmf_core.data.formats.arrays import checked_sparse
from bnmf_core.data.formats.format import Found, named_format, pick
from bnmf_core.data.limits import MAX_ENTRIES, check_entries, check_side
from bnmf_core.data.orientation import Side
from bnmf_core.lazy import lazy

h5py = lazy("h5py")
HDF5 = b"\x89HDF"
SIDE = Side("rows", "the rows of an H5AD file are observations (obs)")
MOST_LABELS = 24


def open_hdf5(content: bytes) -> Any:
    """Open a file for reading; the caller closes it. DataError when it is damaged."""
    try:
        return h5py.File(io.BytesIO(content), "r")
    except OSError as error:
        raise DataError("The HDF5 file is damaged and cannot be opened.") from error


def inside(file: Any, path: str) -> Any:
    """The group or dataset at this path; None if it is missing.

    DataError when it is in another file.
    """
    node = file
    for name in path.split("/"):
        if not isinstance(node, h5py.Group) or node.get(name, getlink=True) is None:
            return None
        outside = isinstance(node.get(name, getlink=True), h5py.ExternalLink)
        node = None if outside else node.get(name)
        if outside or (isinstance(node, h5py.Dataset) and (node.external or node.is_virtual)):
            raise DataError(
                f"{clean_name(path, 60)!r} lies in another file, which is never opened; save one "
                "file with all of it."
            )
    return node


def numbers(file: Any, path: str, look: bool = False) -> Any:
    """A dense or sparse matrix, or only its shape; None if it is no matrix.

    A group has the layout of scipy (data, indices, indptr and a shape) or of MATLAB.
    """
    found = inside(file, path)
    if isinstance(found, h5py.Dataset):
        if found.ndim != 2 or found.dtype.kind not in "buif" or min(found.shape) < 2:
            return None
        if look:
            return found.shape
        check_side(*found.shape)
        check_entries(*found.shape)
        return found[()]
    return None if found is None else _sparse(file, path, found, look)


def _sparse(file: Any, path: str, group: Any, look: bool) -> Any:
    matlab = "MATLAB_sparse" in group.attrs
    names = ("data", "ir", "jc") if matlab else ("data", "indices", "indptr")
    arrays = [inside(file, f"{path}/{name}") for name in names]
    if not all(isinstance(array, h5py.Dataset) for array in arrays):
        return None
    lines = arrays[2].size - 1
    if matlab:
        # Column-major, as every matrix of that version.
        shape, by_rows = (lines, int(group.attrs["MATLAB_sparse"])), True
    else:
        size = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
        if size is None and (held := inside(file, f"{path}/shape")) is not None:
            size = held[()]
        if size is None or len(size) != 2:
            return None
        shape = (int(size[0]), int(size[1]))
        kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "csc_matrix"))
        by_rows = str(kind).startswith("csr")
    if look:
        return shape
    check_side(*shape)
    if arrays[0].size > MAX_ENTRIES:
        raise DataError(
            f"The matrix {clean_name(path, 40)!r} stores {arrays[0].size:,} entries; at most "
            f"{MAX_ENTRIES:,} can be read."
        )
    try:
        return checked_sparse("csr" if by_rows else "csc", [one[()] for one in arrays], shape)
    except ValueError as error:
        raise DataError(f"The indices of {clean_name(path, 40)!r} do not fit its shape.") from error


def words(file: Any, path: str) -> list[str] | None:
    """A list of words, or the decoded words of a categorical column; None otherwise."""
    found = inside(file, path)
    if isinstance(found, h5py.Group):
        codes, names = inside(file, f"{path}/codes"), words(file, f"{path}/categories")
        if codes is None or names is None:
            return None
        check_side(codes.size, 1)
        return [names[code] if 0 <= code < len(names) else "" for code in codes[()].tolist()]
    if not isinstance(found, h5py.Dataset) or found.ndim != 1:
        return None
    check_side(found.size, 1)
    if h5py.check_string_dtype(found.dtype) is not None or found.dtype.kind in "SU":
        return [str(word) for word in found.asstr()[()]]
    if found.dtype.kind in "bui":
        return [str(word) for word in found[()].tolist()]
    return None


def _find(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    with open_hdf5(content) as file:
        layers = inside(file, "layers")
        paths = ["X", *(f"layers/{name}" for name in layers or ()), "raw/X"]
        offered = [path for path in paths if numbers(file, path, look=True) is not None]
        if not offered:
            raise DataError(
                "The HDF5 file holds no matrix X as H5AD has it; save the matrix as NPZ or MTX."
            )
        path = pick(settings, "matrix", offered, "matrix")
        genes = "raw/var" if path == "raw/X" else "var"
        labels = _labels(file)
        about = described({name: words(file, f"{genes}/{name}") for name in _columns(file, genes)})
        doubts = [
            f"{what} {listed(map(repr, found))}."
            for what, found in (("The labels are", labels), ("Features are described by", about))
            if found
        ]
        return Found(
            numbers(file, path),
            words(file, f"obs/{index_of(file, 'obs')}"),
            words(file, f"{genes}/{index_of(file, genes)}"),
            labels,
            about,
            side=SIDE,
            doubts=tuple(doubts),
            settings={"matrix": path},
            offers={"matrix": tuple(offered)},
        )


def index_of(file: Any, group: str) -> str:
    """The index column of a group of AnnData."""
    found = inside(file, group)
    return "_index" if found is None else found.attrs.get("_index", "_index")


def _columns(file: Any, group: str) -> list[str]:
    named = (index_of(file, group), "__categories")
    return [name for name in inside(file, group) or () if name not in named][: 10 * MOST_LABELS]


def described(found: Mapping[str, list[str] | None]) -> dict[str, list[str]]:
    """Columns about features with varying words: no numbers, no yes and no."""
    varied = {
        name: words
        for name, words in found.items()
        if words is not None
        and len(set(words)) > 1
        and not all(cells.is_number(word) or word.lower() in cells.TRUTH for word in words)
    }
    return dict(list(varied.items())[:MOST_LABELS])


def _labels(file: Any) -> dict[str, list[str]]:
    labels = {}
    for name in _columns(file, "obs"):
        values = words(file, f"obs/{name}")
        # Distinct numbers for each cell, such as counts of reads, are no classes.
        if values is not None and len({*values} - {""}) <= max(2, len(values) // 2):
            labels[name] = values
    return dict(list(labels.items())[:MOST_LABELS])


H5AD = named_format(
    "h5ad", "an H5AD file", lambda content, _: content.startswith(HDF5), _find, "genes"
)
