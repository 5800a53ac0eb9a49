"""A run's factorizations and scores as files."""

import io
from collections.abc import Callable

import streamlit as st

from bnmf_core.nouns.particles import Particles
from bnmf_core.store.records import RunRecord
from pages.frame import view
from pages.frame.services import store
from pages.frame.words import plain


def show(run: RunRecord) -> None:
    """A download for each format; a file is made when it is asked for."""
    formats = {
        "NumPy (NPZ)": ("npz", lambda: _bytes(run, lambda p, file: p.save(file))),
        "NetCDF": ("nc", lambda: _bytes(run, lambda p, file: p.to_netcdf(file))),
        "Scores (CSV)": ("csv", lambda: view.csv(store().particles(run.id).scores())),
    }
    for label, (ending, make) in formats.items():
        st.download_button(
            plain(label),
            make,
            f"run-{run.id}.{ending}",
            key=f"export_{ending}_{run.id}",
            on_click="ignore",
        )


def _bytes(run: RunRecord, write: Callable[[Particles, io.BytesIO], None]) -> bytes:
    buffer = io.BytesIO()
    write(store().particles(run.id), buffer)
    return buffer.getvalue()
