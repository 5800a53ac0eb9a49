"""H5AD: cells (rows) by genes (columns) with what is known of them, as scanpy keeps it."""

from collections.abc import Mapping
from typing import Any

from bnmf_core.core.errors import DataError
from bnmf_core.data.formats.hdf5 import inside, numbers, open_hdf5, words
from bnmf_core.data.formats.named import Found, named_format, pick
from bnmf_core.data.orientation import Side

SIDE = Side("rows", "the rows of an H5AD file are observations (obs)")
MOST_LABELS = 24
HDF5 = b"\x89HDF"


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
        return Found(
            numbers(file, path),
            _names(file, "obs"),
            _names(file, genes),
            _labels(file),
            side=SIDE,
            settings={"matrix": path},
            offers={"matrix": tuple(offered)},
        )


def _names(file: Any, group: str) -> list[str] | None:
    found = inside(file, group)
    if found is None:
        return None
    index = found.attrs.get("_index", "_index")
    return words(file, f"{group}/{index}")


def _labels(file: Any) -> dict[str, list[str]]:
    found = inside(file, "obs")
    if found is None:
        return {}
    index = found.attrs.get("_index", "_index")
    labels = {}
    for name in list(found)[: 10 * MOST_LABELS]:
        values = None if name in (index, "__categories") else words(file, f"obs/{name}")
        # Numbers of their own for each cell, such as counts of reads, are no classes.
        if values is not None and len({*values} - {""}) <= max(2, len(values) // 2):
            labels[name] = values
    return dict(list(labels.items())[:MOST_LABELS])


def _recognises(content: bytes, _: str) -> bool:
    return content.startswith(HDF5)


FORMAT = named_format("h5ad", "an H5AD file", _recognises, _find, "genes")
