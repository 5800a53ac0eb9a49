"""A coverage study's tables in the paper's layout: ours, and the published numbers below."""

import pandas as pd

from studies.result import Grid, StudyResult, published
from studies.words import words

WORDS = words("coverage")
# Key → title, and the tables of the paper that show it, in their order.
QUANTITIES: dict[str, tuple[str, str]] = WORDS["quantities"]
DIFFERENCES: list[str] = WORDS["differences"]


def beside(study: StudyResult, quantity: str) -> pd.DataFrame:
    """One row per problem and source, in words.

    Columns ``problem``, ``source`` ("ours" or "published") and one per sampler, which holds the
    mean over the repetitions and, in brackets, the quartiles; "—" where there is no number.
    """
    told = {
        problem: {column: cells[quantity] for column, cells in columns.items() if quantity in cells}
        for problem, columns in published("coverage").items()
    }
    rows = study.values[study.values["quantity"] == quantity]
    return Grid().table(rows, study.labels, "problem", told)
