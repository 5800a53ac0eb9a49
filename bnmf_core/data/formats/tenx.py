"""10x Genomics: genes (rows) by cells (columns), as one HDF5 file or three files in an archive."""

import io
import re
import tarfile
from collections.abc import Mapping
from typing import Any

from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.data.formats.format import Found, named_format
from bnmf_core.data.formats.hdf5 import HDF5, described, numbers, open_hdf5, words
from bnmf_core.data.formats.market import read_mtx
from bnmf_core.data.limits import MAX_MEMBERS, ZIP, archive_names, member, open_archive, unpacked
from bnmf_core.data.orientation import Side
from bnmf_core.data.text import find_encoding

SIDE = Side("columns", "the columns of a 10x matrix are cells (barcodes)")
MATRIX, BARCODES, FEATURES = "matrix.mtx", "barcodes.tsv", ("features.tsv", "genes.tsv")
TAR_AT, TAR = 257, b"ustar"


def _find(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    if content.startswith(HDF5):
        with open_hdf5(content) as file:
            matrix = numbers(file, "matrix")
            names = words(file, "matrix/features/name") or words(file, "matrix/gene_names")
            cells = words(file, "matrix/barcodes")
            fields = {
                "id": words(file, "matrix/features/id") or words(file, "matrix/genes"),
                "type": words(file, "matrix/features/feature_type"),
            }
        if matrix is None:
            raise DataError("The HDF5 file holds no matrix as 10x Genomics has it.")
        return Found(matrix, names, cells, described(fields), side=SIDE)
    if _is_tar(content):
        files = _from_tar(content, limit_bytes)
    else:
        with open_archive(content, limit_bytes) as archive:
            entries = [entry for entry in archive.infolist() if _wanted(entry.filename)]
            files = {entry.filename.split("/")[-1]: member(archive, entry) for entry in entries}
    found = {name.removesuffix(".gz"): unpacked(data, limit_bytes) for name, data in files.items()}
    features = next((name for name in FEATURES if name in found), None)
    for name, exists in ((MATRIX, MATRIX in found), (BARCODES, BARCODES in found)):
        if not exists:
            raise DataError(f"The archive lacks {name!r}, one of the three files of a 10x matrix.")
    if features is None:
        raise DataError("The archive lacks 'features.tsv', one of the three files of a 10x matrix.")
    matrix = sparse.csc_array(read_mtx(found[MATRIX]))
    genes, barcodes = _lines(found[features]), _lines(found[BARCODES])
    for what, count, wanted in (
        (features, len(genes), matrix.shape[0]),
        (BARCODES, len(barcodes), matrix.shape[1]),
    ):
        if count != wanted:
            raise DataError(f"{what!r} has {count:,} rows, but the matrix needs {wanted:,}.")
    # Columns: identifier, name, kind.
    names = [row[1] if len(row) > 1 else row[0] for row in genes]
    columns = {"id": 0, "type": 2}
    fields = {
        key: [row[at] if len(row) > at else "" for row in genes] for key, at in columns.items()
    }
    return Found(matrix, names, [row[0] for row in barcodes], described(fields), side=SIDE)


def _from_tar(content: bytes, limit_bytes: int) -> dict[str, bytes]:
    files, total = {}, 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for count, entry in enumerate(archive):
                total += entry.size
                if count > MAX_MEMBERS or total > limit_bytes:
                    raise DataError("The archive is too large for a 10x matrix.")
                if entry.isfile() and _wanted(entry.name) and (file := archive.extractfile(entry)):
                    files[entry.name.split("/")[-1]] = file.read()
    except tarfile.TarError as error:
        raise DataError("The archive is damaged and cannot be opened.") from error
    return files


def _wanted(name: str) -> bool:
    return name.rsplit("/", maxsplit=1)[-1].removesuffix(".gz") in (MATRIX, BARCODES, *FEATURES)


def _lines(content: bytes) -> list[list[str]]:
    text = content.decode(find_encoding(content)[0])
    return [line.split("\t") for line in text.splitlines() if line.strip()]


def _is_tar(content: bytes) -> bool:
    return content[TAR_AT : TAR_AT + len(TAR)] == TAR


def _recognises(content: bytes, _: str) -> bool:
    if content.startswith(ZIP):
        return any(map(_wanted, archive_names(content)))
    # The first blocks of a 10x file have its group "matrix"; an H5AD file has "obs", and may have
    # "csr_matrix".
    start = content[:10_000]
    group = re.search(rb"(?<![\w])matrix(?![\w])", start)
    hdf5 = content.startswith(HDF5) and bool(group) and b"obs\0" not in start
    return hdf5 or _is_tar(content)


FORMAT = named_format("10x", "a matrix of 10x Genomics", _recognises, _find, "genes")
