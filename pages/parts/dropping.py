"""Upload of a user's file, on Home and on Data."""

from typing import Any

import streamlit as st

KEY = "upload"


def ask() -> Any:
    """The uploaded file; None without one."""
    return st.file_uploader(
        "Drop a table, a matrix, or a zip of images or texts",
        key=KEY,
        help="CSV, TSV, XLSX, Parquet, GCT, NPY, NPZ, MTX, MAT, H5AD, 10x; up to 256 MB; also "
        "compressed (.gz). The content counts, not the extension.",
    )
