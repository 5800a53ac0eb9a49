"""A run's factorizations and scores as files."""

import io

import streamlit as st

from bnmf_core.share import formats
from bnmf_core.store.records import RunRecord
from pages.frame.services import store
from pages.frame.words import plain


def show(run: RunRecord) -> None:
    """A download for each format; a click makes the file."""
    for ending, kind in formats.FORMATS.items():
        st.download_button(
            plain(kind.label),
            lambda ending=ending: _bytes(run.id, ending),
            f"run-{run.id}.{ending}",
            key=f"export_{ending}_{run.id}",
            on_click="ignore",
        )


def _bytes(run_id: str, ending: str) -> bytes:
    buffer = io.BytesIO()
    formats.write(store(), run_id, ending, buffer)
    return buffer.getvalue()
