"""Quality of factorizations: convergence, density, error on observed and held-out entries."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bnmf_core.analysis import chains, quality
from bnmf_core.figures.quality import hidden_plot, quality_plot
from bnmf_core.findings.facts import say
from bnmf_core.findings.modes import draws_beside_optima
from bnmf_core.findings.sources import convergence
from bnmf_core.registry import model_of
from pages.frame import focusing, panel, view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.quality_parts.pictures import LOGARITHMIC, pictures_of

HIDDEN = (
    "Masked entries. If this error is far above that on seen entries, the factorization overfits. "
    "Compare it with the mean of each feature as the baseline."
)


def show() -> None:
    """Pictures with a point for each factorization."""
    look = panel.look(quality.STAGE)
    found = quality.STAGE.of(look.analysis)
    table = found.table(look.metric)
    verdicts = chains.STAGE.perhaps(look.analysis)
    facts = (*convergence(look.analysis), *draws_beside_optima(look.analysis, verdicts))
    for fact in facts:
        st.markdown(plain(say(fact)))
    columns = st.columns(2)
    pictures = [*_of_each(look, table)]
    if "hidden" in table:
        figure = hidden_plot(
            table,
            look.styles,
            look.focus,
            found.hidden_by_means,
            (look.analysis.measure_axis, look.analysis.fit.loss.axis),
        )
        pictures.append(("hidden", figure, HIDDEN))
    for number, (key, figure, reading) in enumerate(pictures):
        with columns[number % 2]:
            view.chart(
                figure,
                look.reading(reading),
                name=f"quality_{key}",
                origin=look.origin,
                table=look.named(table)[list(dict.fromkeys(("run", "particle", "error", key)))],
                select=view.MARKS,
                on_select=focusing.selected(look.modes),
            )
    if "held_out" not in table:
        st.caption("Hold out observations before a run to see the error on unseen ones as well.")
    if "hidden" not in table:
        st.caption("Mask entries on the Data page to see how well factorizations predict them.")


def _of_each(look: Lens, table: pd.DataFrame) -> Iterator[tuple[str, go.Figure, str]]:
    """Key, figure and reading help of each available quantity."""
    for key, (title, axis, reading) in pictures_of(look.distance, look.analysis).items():
        if key in table and table[key].notna().any():
            logarithmic = key in LOGARITHMIC
            threshold = _threshold(look) if key == "error" else None
            yield (
                key,
                quality_plot(
                    table,
                    look.styles,
                    key,
                    title,
                    axis,
                    look.focus,
                    threshold,
                    logarithmic=logarithmic,
                ),
                reading,
            )


def _threshold(look: Lens) -> Any:
    """The error threshold of the runs' model, and its name; None without one."""
    model, settings = model_of(look.analysis.particles[0])
    if model.threshold is None:
        return None
    level = model.threshold.relative_error(settings, look.analysis.seen_squared_norm)
    return None if level is None else (level, "threshold ε of the model")
