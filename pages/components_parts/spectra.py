"""Components along the axis of their features, such as wavelengths."""

import numpy as np

from bnmf_core.compare.alignment import without_counterpart
from bnmf_core.figures.bases import named_table
from bnmf_core.figures.spectra import spectra
from pages.frame import view
from pages.frame.lens import Lens


def show(look: Lens, rows: np.ndarray, names: list[str], chosen: int | None) -> None:
    """A line for each component, those of further factorizations dashed."""
    dataset, A = look.analysis.dataset, look.aligned(rows)
    if dataset.axis is None:
        return
    called = look.notes.components(A[0])
    others = " Dashed: the other factorizations shown, where they have a partner." * (len(rows) > 1)
    view.chart(
        spectra(dataset.axis, A, names, called, chosen, without_counterpart(A)),
        f"Each component is divided by its sum.{others}",
        name="spectra",
        origin=look.origin,
        table=lambda: named_table(dataset.features, A, names, called),
    )
