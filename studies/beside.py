"""A study's tables in the paper's layout: ours, and the published numbers below."""

import math

import pandas as pd

from studies.published import published
from studies.result import StudyResult, number


def beside(study: StudyResult, quantity: str) -> pd.DataFrame:
    """One row per problem and source, in words.

    Columns ``problem``, ``source`` ("ours" or "published") and one per sampler, which holds the
    mean over the repetitions and, in brackets, the quartiles; "—" where there is no number.
    """
    table = study.table(quantity)
    columns = list(dict.fromkeys(table.columns.get_level_values(0)))
    rows = []
    for problem in table.index:
        ours = [_cell(*table.loc[problem, column]) for column in columns]
        rows.append([study.labels[problem], "ours", *ours])
        told = published().get(problem, {})
        cells = [told.get(column, {}).get(quantity) for column in columns]
        if any(cells):
            printed = [_cell(cell["mean"], *cell["quartiles"]) if cell else "—" for cell in cells]
            rows.append([study.labels[problem], "published", *printed])
    names = ["problem", "source", *(study.labels[column] for column in columns)]
    return pd.DataFrame(rows, columns=names)


def _cell(mean: float, *quartiles: float) -> str:
    if math.isnan(mean):
        return "—"
    return f"{number(mean)} ({', '.join(number(q) for q in quartiles)})"
