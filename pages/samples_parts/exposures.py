"""Bars of the page Samples: shares or totals of each observation, and their order."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from bnmf_core.compare.samples import by_total, reconstruction_cosines, sample_amounts
from bnmf_core.core.dataset import Dataset
from bnmf_core.data.channels import channels
from pages.samples_parts.grouping import Grouping

# A reconstruction with this cosine similarity is a good one.
WELL = 0.9
GROUPED = (
    "Observations are grouped by the component with their largest share. In each group larger "
    "shares come first."
)


@dataclass(frozen=True, eq=False)
class Bars:
    """``amounts`` (R, N), None for shares; ``order`` (N,) of observations; reading help."""

    amounts: np.ndarray | None
    order: np.ndarray
    reading: str


def ask(dataset: Dataset, found: Grouping) -> Bars:
    """Options in the panel."""
    shown = st.segmented_control(
        "Bars",
        ["Shares", "Totals"],
        default="Shares",
        required=True,
        key="samples_bars",
        help="Shares of each observation sum to 100 %. Totals are in the unit of the data, of "
        "counts the number that each component accounts for: exposures, for signatures.",
    )
    sorted_by = st.segmented_control(
        "Order",
        ["Largest component", "Total", "File order"],
        default="Largest component",
        required=True,
        key="samples_order",
        help="Observations by the component with their largest share, the largest share first; by "
        "their total, the largest first; or as in the file.",
    )
    amounts = sample_amounts(found.A, found.W)
    order, reading = {
        "Total": (by_total(amounts), "Observations are sorted by total, the largest first."),
        "File order": (np.arange(dataset.N), "Observations stand in the order of the file."),
    }.get(sorted_by, (found.order, GROUPED))
    what = "totals" if shown == "Totals" else "shares"
    return Bars(
        amounts if shown == "Totals" else None,
        order,
        f"{reading} Dark is much of a component; below are {what} of each observation."
        f"{_reconstructed(dataset, found)}",
    )


def _reconstructed(dataset: Dataset, found: Grouping) -> str:
    """Cosine similarity of reconstructed samples, as in SigProfiler; "" for other data."""
    if not channels(dataset.features).complete:
        return ""
    cosines = reconstruction_cosines(dataset, found.A, found.W)
    least = int(cosines.argmin())
    return (
        f" Reconstructions have a cosine similarity of at least {WELL:g} in "
        f"{(cosines >= WELL).sum():,} of {cosines.size:,} samples; the least is "
        f"{cosines[least]:.2f}, of {dataset.observations[least]}."
    )
