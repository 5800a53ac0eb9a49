"""Comparison of all data sets of the atlas."""

from typing import Any

import pandas as pd

from bnmf_core.figures.atlas import STAR, restarts_elsewhere
from pages.frame import link, view
from studies.atlas import findings
from studies.atlas.sources import SOURCES
from studies.result import StudyResult


def show(study: StudyResult, measured: dict[str, list[findings.Ranked]], chosen: str) -> None:
    """How many restarts of each data set end elsewhere, at the recommended rank."""
    order = sorted(measured, key=lambda key: -measured[key][0][1]["elsewhere"])
    shares = [measured[key][0][1]["elsewhere"] for key in order]
    published = {key: cell["elsewhere"] for key, cell in findings.at_published(measured).items()}
    table = findings.tables(study)[0]
    keys = {SOURCES[key].label: key for key in measured}
    weighed = [any(mass is not None for mass in measured[key][0][1]["masses"]) for key in order]

    def choose(points: list[dict[str, Any]]) -> None:
        link.put("problem", keys[points[0]["y"].removesuffix(STAR)])

    view.chart(
        restarts_elsewhere(
            [SOURCES[key].label for key in order],
            shares,
            [*map(published.get, order)],
            weighed,
            SOURCES[chosen].label,
        ),
        findings.answer(study),
        name="atlas",
        origin="python -m studies atlas",
        table=pd.DataFrame(table["rows"], columns=list(table["columns"])),
        select=("points",),
        on_select=choose,
    )
