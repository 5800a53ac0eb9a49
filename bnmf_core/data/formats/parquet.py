"""Parquet: a table of typed columns, as pandas and databases write it."""

import io
import json
from collections.abc import Mapping
from typing import Any

from bnmf_core.data.arrays import check_entries, check_side
from bnmf_core.data.formats.rows import Found, row_format, written
from bnmf_core.lazy import lazy

parquet = lazy("pyarrow.parquet")


def _rows(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    file = parquet.ParquetFile(io.BytesIO(content))
    said = file.metadata
    check_side(said.num_rows, said.num_columns)
    check_entries(said.num_rows, said.num_columns)
    table = file.read(use_threads=False)
    index = _index(table.schema.metadata or {})
    names = [*index, *(name for name in table.column_names if name not in index)]
    columns = [[written(value) for value in table[name].to_pylist()] for name in names]
    # What pandas calls an index without a name.
    head = ["" if name.startswith("__index_level_") else name for name in names]
    return Found([head, *map(list, zip(*columns, strict=True))], {}, {})


def _index(metadata: Mapping[bytes, bytes]) -> list[str]:
    """Columns that were the index of a frame of pandas."""
    said = json.loads(metadata.get(b"pandas", b"{}"))
    return [name for name in said.get("index_columns", []) if isinstance(name, str)]


FORMAT = row_format(
    "parquet",
    "a Parquet file",
    lambda content, _: content.startswith(b"PAR1"),
    _rows,
    known={"header_row": 1},
)
