"""A coverage study's tables in the paper's layout: ours, and the published numbers below."""

import pandas as pd

from studies.result import Grid, StudyResult, published
from studies.words import words

WORDS = words("coverage")
# Key → title and tables of the paper, in order.
QUANTITIES: dict[str, tuple[str, str]] = WORDS["quantities"]
# Problem and column whose chains drift, and may be far from their start only at their end.
WANDERER = ("infinite_small", "hmc")


def differences(study: StudyResult) -> list[str]:
    """Differences from the publication, with reasons."""
    found = study.values[study.values["quantity"] == "max_angle_whole_largest"]
    here = (found["problem"] == WANDERER[0]) & (found["column"] == WANDERER[1])
    values = found[here]["value"]
    reference = published("coverage")[WANDERER[0]][WANDERER[1]]["max_angle_largest"]
    numbers = {
        "mean": values.mean(),
        "angles": ", ".join(f"{value:.3g}°" for value in values),
        "told": reference["mean"],
        "lower": reference["quartiles"][0],
        "upper": reference["quartiles"][-1],
    }
    wandering = [WORDS["wandering"].format_map(numbers)] if len(values) else []
    return [*WORDS["differences"], *wandering]


def beside(study: StudyResult, quantity: str) -> pd.DataFrame:
    """One row per problem and source, in words.

    Distances of a whole chain are also compared with published ones: the paper does not say that
    its tables are of the first 1,000 draws only. Columns ``problem``, ``source`` ("ours" or
    "published") and one per sampler, which holds the mean over the repetitions and, in brackets,
    the quartiles; "—" where there is no number.
    """
    name = WORDS["published_as"].get(quantity, quantity)
    reference = {
        problem: {column: cells[name] for column, cells in columns.items() if name in cells}
        for problem, columns in published("coverage").items()
    }
    rows = study.values[study.values["quantity"] == quantity]
    return Grid().table(rows, study.labels, "problem", reference)
