"""The strongest features of each component as a table and as a GMT file."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnmf_core.compare.topics import aligned_words
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import no_formula


def gene_lists(
    dataset: Dataset,
    A: np.ndarray,
    modes: Sequence[str],
    components: Sequence[str],
    count: int,
    relevance: float,
) -> pd.DataFrame:
    """A row for each of the strongest features of each component in each mode, the best first.

    Parameters
    ----------
    A : (K, D, R) aligned bases. modes : K names. components : R names. count, relevance : as of
        :func:`bnmf_core.compare.topics.aligned_words`.

    Returns
    -------
    ``mode``, ``component``, ``rank``, ``feature``, a column for each description of features, and
    ``share``, the feature's part of the component's sum.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.share.gene_lists import gene_lists, gmt
    >>> A = np.array([[[3.0, 0.0], [1.0, 2.0]]])
    >>> data = Dataset.from_array(A[0], features=["MYC", "TP53"], name="cells")
    >>> found = gene_lists(data, A, ["mode 1"], ["1", "2"], 1, 1.0)
    >>> print(gmt(found, "cells").decode().replace("\\t", " | "), end="")
    component 1, mode 1 | 1 strongest of cells | MYC
    component 2, mode 1 | 1 strongest of cells | TP53
    """
    found = aligned_words(A, [str(d) for d in range(dataset.D)], count, relevance)
    order = found.sort_values(["component", "factorization", "rank"], kind="stable")
    d = order["word"].to_numpy().astype(np.int64)
    return pd.DataFrame(
        {
            "mode": np.array(modes, dtype=object)[order["factorization"]],
            "component": np.array(components, dtype=object)[order["component"]],
            "rank": order["rank"].to_numpy(),
            "feature": np.array(dataset.features, dtype=object)[d],
            **{key: words.astype(object)[d] for key, words in dataset.descriptions.items()},
            "share": order["probability"].to_numpy(),
        }
    )


def gmt(lists: pd.DataFrame, name: str) -> bytes:
    """A line for each component in each mode: its name, a description, its features.

    ``lists`` : of :func:`gene_lists`. ``name`` : of the data.
    """
    lines = [
        [f"component {component}, {mode}", f"{len(some)} strongest of {name}", *some["feature"]]
        for (component, mode), some in lists.groupby(["component", "mode"], sort=False)
    ]
    return "".join("\t".join(map(no_formula, line)) + "\n" for line in lines).encode()
