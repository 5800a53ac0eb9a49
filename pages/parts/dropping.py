"""Where a file of one's own is dropped: on Home and on Data."""

from typing import Any

import streamlit as st

KEY = "upload"


def ask() -> Any:
    """The file that was dropped; None without one."""
    return st.file_uploader(
        "A table (CSV, TSV, XLSX, Parquet, GCT), a matrix (NPY, NPZ, MTX, MAT, H5AD, 10x), or a "
        "zip of images or texts; up to 256 MB",
        key=KEY,
        help="What counts is the content, not the ending. Each may be compressed (.gz).",
    )
