"""The first factorization as two tables: components that sum to 1, and their amounts."""

import io

import numpy as np
import streamlit as st

from bnmf_core.data.channels import channels
from bnmf_core.share.anndata_file import MOST_MODES, facts_of, write_anndata
from bnmf_core.share.profiles import activities_table, signatures_table, written
from pages.frame.lens import Lens
from pages.frame.words import plain


def show(look: Lens, row: int, name: str) -> None:
    """Downloads of both tables, and with the data; a click makes the file."""
    dataset = look.analysis.seen_dataset
    mutations = channels(dataset.features).complete

    def factors() -> tuple[np.ndarray, np.ndarray]:
        A, W = look.aligned_factors(np.array([row]))
        return A[0].astype(np.float64), W[0].astype(np.float64)

    def with_data() -> bytes:
        other = [member for member in look.modes.representative if member != row][: MOST_MODES - 1]
        rows = np.array([row, *other])
        names = [look.mode_names[k] for k in look.modes.labels[rows]]
        A, W = look.aligned_factors(rows)
        facts = facts_of(look.analysis, A, W, [name, *names[1:]])
        file = io.BytesIO()
        write_anndata(file, dataset, *factors(), facts, look.notes.components(A[0]))
        return file.getvalue()

    def signatures() -> bytes:
        return written(signatures_table(dataset.features, factors()[0]))

    def activities() -> bytes:
        return written(activities_table(dataset.features, dataset.observations, *factors()))

    kinds = {
        "Signatures" if mutations else "Components": (
            signatures,
            "signatures.txt" if mutations else "components.txt",
            f"A of {name}: each column sums to 1. Tab-separated, in the layout of SigProfiler.",
        ),
        "Activities" if mutations else "Weights": (
            activities,
            "activities.txt" if mutations else "weights.txt",
            f"W of {name} times the column sums of A, in the unit of the data and not rounded. "
            "Both tables multiplied are A W.",
        ),
        "AnnData": (
            with_data,
            "factorization.h5ad",
            f"The data with {name} as obsm “X_nmf” and varm “NMF”, all modes in uns “nmf”.",
        ),
    }
    with st.container(horizontal=True):
        for label, (make, file_name, words) in kinds.items():
            st.download_button(
                plain(f"{label} ({file_name.rpartition('.')[2].upper()})"),
                make,
                file_name,
                "text/plain" if file_name.endswith("txt") else "application/x-hdf5",
                key=f"profiles_{file_name}",
                help=plain(words),
                on_click="ignore",
            )
