"""How different the factorizations of each run are (paper 3, figures 21 to 26)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import RunStyle, layout

# More pairs of a run than this do not change the picture, but make it slow.
MOST_PAIRS = 4000


def pairs_within(matrix: np.ndarray, runs: np.ndarray) -> pd.DataFrame:
    """Columns run and value: a symmetric matrix (m, m) between the members of each run.

    ``runs`` (m,) names every member's run. Of more than ``MOST_PAIRS`` pairs in a run, so many,
    evenly spaced, stay.
    """
    parts = []
    for run in dict.fromkeys(runs):
        rows = np.flatnonzero(runs == run)
        values = np.asarray(matrix)[np.ix_(rows, rows)][np.triu_indices(rows.size, 1)]
        values = values[:: max(1, -(-values.size // MOST_PAIRS))]
        parts.append(pd.DataFrame({"run": run, "value": values}))
    return pd.concat(parts, ignore_index=True)


def pair_violins(
    table: pd.DataFrame, styles: Mapping[str, RunStyle], title: str, axis: str
) -> go.Figure:
    """One violin per run: the values of all its pairs, quartiles inside.

    Parameters
    ----------
    table : columns run and value, as :func:`pairs_within` makes them.
    """
    figure = Sketch()
    for run_id, style in styles.items():
        values = table.loc[table["run"] == run_id, "value"]
        figure.add_violin(
            y=values,
            name=style.label,
            line={"color": style.color},
            box={"visible": True},
            points=False,
            spanmode="hard",
            hoverinfo="y",
        )
    figure.update_yaxes(title=axis)
    return layout(figure, title, height=360, showlegend=False)
