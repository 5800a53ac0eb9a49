"""One factorization as two tables in the layout of SigProfiler: signatures, and activities.

Signatures have a row for each feature, first column "Type", and columns that sum to 1. Activities
have a row for each observation, first column "Samples": the part of the total that each component
makes, W times the column sums of A. They are not rounded, so that signatures times activities are
A W to the last digit; SigProfiler rounds its own to whole mutations.
"""

import string
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnmf_core.compare.samples import sample_amounts
from bnmf_core.core.names import no_formula
from bnmf_core.data.channels import channels

LETTERS = [
    *string.ascii_uppercase,
    *(a + b for a in string.ascii_uppercase for b in string.ascii_uppercase),
]


def profile_names(features: Sequence[str], rank: int) -> list[str]:
    """Names of components: SBS96A, SBS96B, … of the 96 channels, else with their numbers.

    >>> profile_names(["moon", "goal"], 2)
    ['component 1', 'component 2']
    """
    if channels(features).complete and rank <= len(LETTERS):
        return [f"SBS96{letter}" for letter in LETTERS[:rank]]
    return [f"component {r + 1}" for r in range(rank)]


def signatures_table(features: Sequence[str], A: np.ndarray) -> pd.DataFrame:
    """Columns of A (D, R) scaled to sum to 1; an empty one stays zero.

    The 96 channels have the order and spelling of COSMIC's files; other features are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.share.profiles import signatures_table
    >>> signatures_table(["moon", "goal"], np.array([[3.0, 0.0], [1.0, 2.0]]))
       Type  component 1  component 2
    0  moon         0.75          0.0
    1  goal         0.25          1.0
    """
    found, rows = channels(features), list(range(len(features)))
    names = [no_formula(name) for name in features]
    if found.complete:
        rows = found.file_order
        names = [one.name if one else "" for one in found.found]
    sums = A.sum(axis=0)
    shares = np.divide(A, sums, out=np.zeros_like(A, dtype=float), where=sums > 0)
    table = pd.DataFrame(shares[rows], columns=profile_names(features, A.shape[1]))
    table.insert(0, "Type", [names[d] for d in rows])
    return table


def activities_table(
    features: Sequence[str], observations: Sequence[str], A: np.ndarray, W: np.ndarray
) -> pd.DataFrame:
    """The contribution of each component to the total of each of N observations.

    A (D, R), W (R, N). For counts these are counts, not rounded.
    """
    amounts = sample_amounts(A, W)
    table = pd.DataFrame(amounts.T, columns=profile_names(features, len(W)))
    table.insert(0, "Samples", [no_formula(name) for name in observations])
    return table


def written(table: pd.DataFrame) -> bytes:
    """Tab-separated text for SigProfiler."""
    return table.to_csv(sep="\t", index=False, lineterminator="\n").encode()
