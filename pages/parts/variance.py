"""The picture of the noise of counts."""

import pandas as pd

from bnmf_core.evidence.variation import Variation
from bnmf_core.figures.noise import variance_by_mean
from pages.frame import view


def chart(found: Variation, origin: str) -> None:
    """Residuals beside the lines of the models."""
    mean, variance = found.binned()
    view.chart(
        variance_by_mean(mean, variance, found.dispersion, found.constant),
        "Each point is a bin of entries with similar fitted means. A model is suitable if its "
        "line passes through the points.",
        name="variance",
        origin=origin,
        table=lambda: pd.DataFrame({"fitted mean": mean, "variance of the residuals": variance}),
    )
