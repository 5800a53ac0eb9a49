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

    Distances of a whole chain stand beside the published ones as well: the paper does not say that
    its tables are of the first 1,000 draws only. Columns ``problem``, ``source`` ("ours" or
    "published") and one per sampler, which holds the mean over the repetitions and, in brackets,
    the quartiles; "—" where there is no number.
    """
    told_as = WORDS["published_as"].get(quantity, quantity)
    told = {
        problem: {column: cells[told_as] for column, cells in columns.items() if told_as in cells}
        for problem, columns in published("coverage").items()
    }
    rows = study.values[study.values["quantity"] == quantity]
    return Grid().table(rows, study.labels, "problem", told)
