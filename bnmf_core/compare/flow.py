"""Links of components between successive factorizations: kept, split, merged, new.

The factorizations stand side by side, of one rank or of several. Components of neighbours are
matched one to one so that the angles between their columns of A sum to least, where a component
may also stay without a partner, at the price of ``COUNTERPART`` degrees. One that has no partner
comes from, or goes into, the component of the neighbour that it is nearest to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from bnmf_core.compare.distances.costs import angles
from bnmf_core.compare.distances.scaling import component_shares, unit_l2_columns
from bnmf_core.core.errors import DataError
from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")

# Components further apart than so many degrees (a cosine below ½) are no counterparts.
COUNTERPART = 60.0
KEPT, SPLIT, MERGED = "kept", "split", "merged"
Factors = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Flow:
    """Components of factorizations side by side.

    Attributes
    ----------
    nodes : a row per component: ``column`` (place of the factorization), ``component`` (1-based,
        the largest share first), ``position`` (its column of A), ``share`` (its part of the sum of
        all entries of AW), ``identity`` (0-based; the same along links that are kept, and where a
        component comes back that was away) and
        ``place`` (0-based, from the top, so that links cross little).
    links : a row per link: ``column`` (of its left end), ``left`` and ``right`` (components),
        ``angle`` (degrees) and ``kind``: "kept" between partners, "split" to a component on the
        right without one, "merged" from one on the left without one.
    """

    nodes: pd.DataFrame
    links: pd.DataFrame


def component_flow(
    factorizations: Sequence[Factors], first_identities: np.ndarray | None = None
) -> Flow:
    """The flow of components through factorizations A (D, R), W (R, N) of the same data.

    ``first_identities`` : (R,) of the first factorization's components, the largest first; None:
    0 to R − 1. See :func:`identities_like`.

    Raises
    ------
    DataError
        When there is none, or their features are not the same.
    """
    if not factorizations or len({A.shape[0] for A, _ in factorizations}) > 1:
        raise DataError("A flow needs factorizations of the same features, at least one.")
    orders = [by_share(A, W) for A, W in factorizations]
    bases = [A[:, order] for (A, _), (order, _) in zip(factorizations, orders, strict=True)]
    shares = [share for _, share in orders]
    columns = [_first(shares[0], first_identities)]
    latest = dict(zip(columns[0]["identity"], bases[0].T, strict=True))
    links = []
    for k, (left, right) in enumerate(pairwise(bases)):
        found = links_between(left, right)
        links.append(found.assign(column=k))
        columns.append(_next(columns[-1], found, shares[k + 1], right, latest))
        latest |= dict(zip(columns[-1]["identity"], right.T, strict=True))
    for k, (column, (order, _)) in enumerate(zip(columns, orders, strict=True)):
        column.insert(0, "column", k)
        column.insert(2, "position", order)
    none = pd.DataFrame(columns=["column", "left", "right", "angle", "kind"])
    names = ["column", "left", "right", "angle", "kind"]
    joined = pd.concat(links, ignore_index=True)[names] if links else none
    return Flow(pd.concat(columns, ignore_index=True), joined)


def by_share(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of A (D, R) from the largest share of AW to the smallest, and these shares."""
    share = component_shares(A[None], W[None])[0]
    order = np.argsort(-share, kind="stable")
    return order, share[order]


def links_between(left: np.ndarray, right: np.ndarray) -> pd.DataFrame:
    """Links between the columns of two bases (D, R) and (D, S); columns as in :class:`Flow`."""
    between = angles(unit_l2_columns(left[None]), unit_l2_columns(right[None]))[0, 0]
    rows, partners = optimize.linear_sum_assignment(np.minimum(between, COUNTERPART))
    near = between[rows, partners] < COUNTERPART
    rows, partners = rows[near], partners[near]
    found = [(r, s, KEPT) for r, s in zip(rows, partners, strict=True)]
    for s in np.setdiff1d(np.arange(right.shape[1]), partners):
        found.append((int(between[:, s].argmin()), s, SPLIT))
    for r in np.setdiff1d(np.arange(left.shape[1]), rows):
        found.append((r, int(between[r].argmin()), MERGED))
    linked = [(r + 1, s + 1, between[r, s], kind) for r, s, kind in found]
    near = [link for link in linked if link[2] < COUNTERPART]
    table = pd.DataFrame(near, columns=["left", "right", "angle", "kind"])
    # Two without a partner that are nearest to each other are linked once.
    return table.drop_duplicates(["left", "right"], ignore_index=True)


def identities_like(
    A: np.ndarray, reference_A: np.ndarray, identities: np.ndarray, unused: int = 0
) -> np.ndarray:
    """Identities of the columns of A (D, R): those of their partners in a reference (D, S).

    ``identities`` : (S,) of the reference's columns. Columns without a partner have new ones, from
    ``unused`` on at least.
    """
    found = links_between(reference_A, A)
    partners = found[found["kind"] == KEPT]
    result = np.full(A.shape[1], -1)
    result[partners["right"] - 1] = identities[partners["left"] - 1]
    new = result < 0
    result[new] = max(unused, int(identities.max()) + 1) + np.arange(new.sum())
    return result


def _first(share: np.ndarray, identities: np.ndarray | None) -> pd.DataFrame:
    places = np.arange(share.size)
    return pd.DataFrame(
        {
            "component": places + 1,
            "share": share,
            "identity": places if identities is None else identities,
            "place": places,
        }
    )


def _next(
    before: pd.DataFrame,
    links: pd.DataFrame,
    share: np.ndarray,
    basis: np.ndarray,
    latest: Mapping[int, np.ndarray],
) -> pd.DataFrame:
    """The next factorization's components: partners keep identities and places."""
    identity_of = dict(zip(before["component"], before["identity"], strict=True))
    place_of = dict(zip(before["component"], before["place"], strict=True))
    incoming = {
        link.right: (link.left, link.kind) for link in links.itertuples() if link.kind != MERGED
    }
    identities, keys = np.full(share.size, -1), []
    for component in range(1, share.size + 1):
        left, kind = incoming.get(component, (0, SPLIT))
        if kind == KEPT:
            identities[component - 1] = identity_of[left]
        # What splits off stands below what it comes from; what is new, at the bottom.
        keys.append((place_of.get(left, len(before)), kind == SPLIT, component))
    new = np.flatnonzero(identities < 0)
    away = {i: column for i, column in latest.items() if i not in identities}
    identities[new] = _seen_before(basis[:, new], away, 1 + max(latest))
    places = np.argsort(np.array(sorted(range(share.size), key=keys.__getitem__)))
    components = np.arange(share.size) + 1
    return pd.DataFrame(
        {"component": components, "share": share, "identity": identities, "place": places}
    )


def _seen_before(new: np.ndarray, away: Mapping[int, np.ndarray], unused: int) -> np.ndarray:
    """Identities of columns (D, n): of partners among those that are away, else unused ones."""
    if not away or not new.shape[1]:
        return unused + np.arange(new.shape[1])
    return identities_like(new, np.column_stack(list(away.values())), np.array(list(away)), unused)
