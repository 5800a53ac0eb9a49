"""Points run by run: which runs have a row, and where their medians are."""

import numpy as np
import pandas as pd

from bnmf_core.figures.quality import quality_plot
from bnmf_core.figures.style import run_styles

STYLES = run_styles([("a", "gibbs", "Draws"), ("b", "random_restarts", "Optima")])


def test_only_runs_with_the_quantity_have_a_row():
    table = pd.DataFrame(
        {
            "run": ["a", "a", "b", "b", "b"],
            "converged": True,
            "movement": [np.nan, np.nan, 1.0, 4.0, 2.0],
        }
    )
    focus = np.ones(5, dtype=bool)
    figure = quality_plot(table, STYLES, "movement", "Title", "axis", focus)
    assert [trace.name for trace in figure.data] == ["Optima"]
    assert figure.layout.yaxis.ticktext == ("Optima",)
    (middle,) = figure.layout.shapes
    assert (middle.x0, middle.x1) == (2.0, 2.0)
