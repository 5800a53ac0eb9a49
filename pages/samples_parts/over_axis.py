"""Weights as lines, for observations on an axis, such as time."""

import pandas as pd

from bnmf_core.compare.samples import sample_amounts
from bnmf_core.core.axis import axis_of
from bnmf_core.core.names import numbered
from bnmf_core.figures.spectra import weight_courses
from pages.frame import view
from pages.frame.lens import Lens
from pages.samples_parts.grouping import Grouping


def show(look: Lens, found: Grouping, called: list[str], chosen: int | None) -> None:
    """A fold for observations with an axis: a line for each component."""
    observations = look.analysis.seen_dataset.observations
    axis = axis_of(observations)
    if axis is None:
        return

    def draw() -> None:
        amounts = sample_amounts(found.A, found.W)
        columns = [f"component {name}" for name in numbered(called, len(amounts))]
        view.chart(
            weight_courses(axis, amounts, called, chosen),
            "Components are scaled to sum to 1, so weights are totals in the unit of the data.",
            name="courses",
            origin=look.origin,
            table=pd.DataFrame(amounts.T, columns=columns).assign(observation=observations),
        )

    view.fold(f"Weights along {axis.unit or 'the observations'}", "courses_fold", draw)
