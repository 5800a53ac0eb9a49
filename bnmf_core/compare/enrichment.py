"""Sets of genes among the strongest of each component: hypergeometric tests, mode by mode."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.core.names import listed
from bnmf_core.lazy import lazy

stats = lazy("scipy.stats")

# The false discovery rate below which a set is reported.
LEVEL = 0.05
# Number of components that a sentence lists.
MOST_LISTED = 3


@dataclass(frozen=True, eq=False)
class Enrichment:
    """Tests of S sets in R components of K modes.

    Attributes
    ----------
    hits : (K, R, S) genes of a set among the strongest of a component. drawn : (K, R) strongest
        genes. sizes : (S,) genes of each set in the data. p : (K, R, S) probabilities of as many
        hits or more. fdr : (K, R, S) p adjusted over all K R S tests together.
    """

    hits: np.ndarray
    drawn: np.ndarray
    sizes: np.ndarray
    p: np.ndarray
    fdr: np.ndarray


def enrichment(top: np.ndarray, members: np.ndarray, gene_of: np.ndarray) -> Enrichment:
    """Test whether a component's strongest features hold more genes of a set than a random draw.

    The probability is that of a hypergeometric draw of as many genes from those of the data
    (Fisher's exact test, one-sided). It is adjusted by Benjamini and Hochberg (1995), Controlling
    the false discovery rate, JRSS B 57, over components, modes and sets together: of all sets
    below 5 %, at most 5 % are expected to be false, where tests are independent or positively
    dependent, as those of overlapping sets and of similar modes are. Genes are exchangeable under
    the hypothesis, which genes that vary together are not.

    Parameters
    ----------
    top : (K, R, n) features, −1 where a component has fewer, as
        :func:`bnmf_core.compare.topics.top_indices` gives them. members, gene_of : of
        :class:`bnmf_core.data.gene_sets.MatchedSets`.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.enrichment import enrichment
    >>> members = np.array([[True, True, False, False], [False, True, True, False]])
    >>> found = enrichment(np.array([[[0, 1]]]), members, np.arange(4))
    >>> found.hits.tolist(), found.p.round(3).tolist()
    ([[[2, 1]]], [[[0.167, 0.833]]])
    """
    K, R, _ = top.shape
    drawn = np.zeros((K, R, members.shape[1]), dtype=bool)
    for k, r, place in np.argwhere(top >= 0):
        drawn[k, r, gene_of[top[k, r, place]]] = True
    hits = drawn.astype(np.float64) @ members.T.astype(np.float64)
    count, sizes = drawn.sum(axis=2), members.sum(axis=1)
    p = stats.hypergeom.sf(hits - 1, members.shape[1], sizes, count[..., None])
    p = np.clip(p, 0.0, 1.0)
    fdr = stats.false_discovery_control(p.ravel()).reshape(p.shape)
    return Enrichment(hits.astype(np.int64), count, sizes, p, fdr)


def enrichment_table(
    found: Enrichment,
    sets: Sequence[str],
    modes: Sequence[str],
    components: Sequence[str],
) -> pd.DataFrame:
    """A row for each test, those of the smallest FDR first; K modes, R components and S sets."""
    k, r, s = np.indices(found.p.shape).reshape(3, -1)
    table = pd.DataFrame(
        {
            "set": np.array(sets, dtype=object)[s],
            "component": np.array(components, dtype=object)[r],
            "mode": np.array(modes, dtype=object)[k],
            "FDR": found.fdr.ravel(),
            "p": found.p.ravel(),
            "genes": found.hits.ravel(),
            "of set": found.sizes[s],
            "of component": found.drawn[k, r],
        }
    )
    return table.sort_values(["FDR", "p"], kind="stable", ignore_index=True)


def best_sets(found: Enrichment) -> np.ndarray:
    """(K, R) the set of the smallest p of each component in each mode; −1 where FDR is 5 % or more.

    Of equal ones the one with more genes.
    """
    order = np.lexsort((-found.hits, found.p), axis=2)
    best = order[..., 0]
    fdr = np.take_along_axis(found.fdr, best[..., None], axis=2)[..., 0]
    return np.where(fdr < LEVEL, best, -1)


def describe_enrichment(
    found: Enrichment, sets: Sequence[str], modes: Sequence[str], components: Sequence[str]
) -> str:
    """Whether the best set of a component depends on the mode, and what is controlled.

    modes : K names. components : R names.
    """
    best = best_sets(found)
    tests = (
        f"FDR by Benjamini–Hochberg over all {found.p.size:,} tests: {len(sets):,} sets, "
        f"{len(components)} components, {len(modes)} mode{'s' * (len(modes) > 1)}."
    )
    if (best < 0).all():
        return f"No set is below {100 * LEVEL:g} % FDR in any component. {tests}"
    differing = np.flatnonzero((best != best[0]).any(axis=0))
    if not differing.size:
        texts = [
            f"{components[r]}: {sets[s]} (FDR {found.fdr[:, r, s].max():.2g})"
            for r, s in enumerate(best[0])
            if s >= 0
        ]
        same = f"Best sets, the same in all {len(modes)} modes" if len(modes) > 1 else "Best sets"
        return f"{same}, by component: {listed(texts)}. {tests}"
    # Those first whose best set of one mode is least enriched in another.
    strength = -np.log10(np.maximum(found.fdr, 1e-300))
    apart = [max(np.ptp(strength[:, r, s]) for s in best[:, r] if s >= 0) for r in differing]
    order = differing[np.argsort(-np.array(apart), kind="stable")]
    texts = [
        f"component {components[r]}: {_by_mode(found, best, r, sets, modes)}"
        for r in order[:MOST_LISTED]
    ]
    return (
        f"The best set depends on the mode for {differing.size} of {len(components)} components: "
        f"{'. '.join(texts)}. {tests}"
    )


def _by_mode(
    found: Enrichment, best: np.ndarray, r: int, sets: Sequence[str], modes: Sequence[str]
) -> str:
    """The best set of a component in each mode, modes of the same set together."""
    groups: dict[int, list[int]] = {}
    for k, s in enumerate(best[:, r].tolist()):
        groups.setdefault(s, []).append(k)
    return "; ".join(
        f"no set below {100 * LEVEL:g} % in {where}"
        if s < 0
        else f"{sets[s]}, FDR {found.fdr[some, r, s].max():.2g} in {where}"
        for s, some in groups.items()
        for where in (listed(modes[k] for k in some),)
    )
