"""Biplot of observations and features, in a fold."""

from typing import Any

import pandas as pd
import streamlit as st

from bnmf_core.analysis.described import of_a_sample
from bnmf_core.compare.biplot import biplot
from bnmf_core.figures.biplot import describe_biplot, sample_biplot
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.samples_parts.grouping import Grouping

# Most observations before points hide each other.
MANY = 2_000
HELP = "A grid instead of points: darker cells contain more observations."


def show(
    look: Lens, found: Grouping, classes: list[str] | None, called: list[str], sample: int | None
) -> None:
    """The biplot of a factorization; nothing for one component."""
    if len(found.W) < 2:
        return
    fold = st.expander("Observations and features in one plane", key="biplot", on_change="rerun")
    if not view.is_open(fold):
        return
    dataset, placed = look.analysis.seen_dataset, biplot(found.A, found.W)

    def clicked(points: list[Any]) -> None:
        """Highlight a clicked observation; ignore features."""
        if observed := [point for point in points if point.get("customdata") is not None]:
            focusing.sample_clicked(dataset.observations, observed)

    def table() -> pd.DataFrame:
        parts = {"observation": (dataset.observations, placed.samples)}
        parts["feature"] = (dataset.features, placed.features)
        parts["component"] = ([str(r + 1) for r in range(len(found.W))], placed.corners)
        rows = [
            pd.DataFrame({"what": what, "name": list(names), "x": at[:, 0], "y": at[:, 1]})
            for what, (names, at) in parts.items()
        ]
        return pd.concat(rows, ignore_index=True)

    many, density = dataset.N > MANY, False
    sampled = of_a_sample(look.analysis.dataset)
    with fold:
        if many:
            density = st.toggle("Show how many lie where", key="biplot_density", help=HELP)
        view.chart(
            sample_biplot(
                placed,
                found.groups,
                dataset.observations,
                dataset.features,
                classes,
                called,
                sample,
                density,
            ),
            f"{describe_biplot(placed)} {sampled}".rstrip(),
            name="biplot",
            origin=look.origin,
            table=table,
            select=("points",),
            on_select=clicked,
        )
