"""Distances between factorizations: one engine for all of them.

A distance says three things: what is compared (rows free of scale, one per component), what
it costs to match a component of one factorization with a component of the other, and how the
costs of the best matching combine into one number. Column order is removed by the matching,
which each distance finds for its own costs (paper 1, section 3.1: the permutation for angles
is not the one for ℓ1).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from bnmf_core.compare.distances.assignment import assign
from bnmf_core.compare.distances.costs import Cost, reused_memory
from bnmf_core.compare.distances.scaling import component_shares
from bnmf_core.core.errors import DataError
from bnmf_core.numerics.memory import aligned
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import one_blas_thread

# A tile of the distance matrix holds at most this many costs, so that they stay in the cache,
# and takes at most this many elementary operations, so that progress and cancelling answer
# within about a second.
COSTS_PER_TILE = 200_000
OPERATIONS_PER_TILE = 1_000_000_000
# Bytes of prepared rows that are cached for later tiles.
PREPARED = 64_000_000


@dataclass(frozen=True)
class Distance:
    """A distance between factorizations (A, W) and (A', W').

    Attributes
    ----------
    key, label : registry key and name on screen.
    unit : unit of the value, "°" or "".
    upper : R → the largest value possible at rank R, ``inf`` when there is no bound.
    compared : (A (M, D, R), W (M, R, N)) → (M, R, P) rows, one per component, free of scale.
    cost : (left (K, R, P), right (L, R, P)) → (K, L, R, R) costs of matching two components;
        the permutation with the smallest sum of costs is taken.
    combine : (matched costs (K, L, R), shares (K, 1, R), shares (K, L, R)) → (K, L). The
        shares are those of the matched components, None when not ``weighted``.
    weighted : whether ``combine`` needs the components' shares of the reconstruction.
    is_metric : whether the triangle inequality always holds.
    summary : one sentence for the screen. reference : where it was published.
    scale_free : whether a component's scale, moved from A to W, leaves the value as it is.
    different : the part of ``upper`` from which on two factorizations tell different stories.
    """

    key: str
    label: str
    unit: str
    upper: Callable[[int], float]
    compared: Callable[[np.ndarray, np.ndarray], np.ndarray]
    cost: Cost
    combine: Callable[..., np.ndarray]
    is_metric: bool
    summary: str
    reference: str
    weighted: bool = False
    scale_free: bool = True
    different: float = 1 / 6

    @property
    def unit_behind(self) -> str:
        """The unit as it stands behind a number: with a space before it, if it is a word."""
        return self.unit if self.unit == "°" else f" {self.unit}".rstrip()

    def resolution(self, R: int) -> float | None:
        """From where on two factorizations of rank R count as different, if nothing else tells.

        None when the distance has no bound.
        """
        largest = self.upper(R)
        return self.different * largest if math.isfinite(largest) else None


def pairwise(
    A: np.ndarray,
    W: np.ndarray,
    distance: Distance,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> np.ndarray:
    """Distances between all pairs of M factorizations.

    Parameters
    ----------
    A : (M, D, R) and W : (M, R, N), float32 or float64, possibly read-only memory maps.
    on_progress : called with the fraction done, 0 to 1. cancel : checked between tiles.

    Returns
    -------
    (M, M) float64, in the distance's unit: symmetric, with an exactly zero diagonal.

    Raises
    ------
    DataError
        When the shapes do not fit or an entry is not finite.
    Cancelled
        When ``cancel()`` returned True.
    """
    return pairwise_of_several(A, W, [distance], on_progress, cancel)[0]


def pairwise_of_several(
    A: np.ndarray,
    W: np.ndarray,
    alike: Sequence[Distance],
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    executor: Executor | None = None,
) -> list[np.ndarray]:
    """Like :func:`pairwise`, for several distances that are :func:`matched_alike`: (M, M) each.

    Their components are matched once for all of them. ``executor`` : where tiles are measured, as
    of ``open_executor``; None: in threads here.
    """
    _check_shapes(A, W)
    M = A.shape[0]
    results = [np.zeros((M, M)) for _ in alike]
    tiles = _tiles(A, W)
    pairs = [(rows, columns) for i, rows in enumerate(tiles) for columns in tiles[i:]]

    def place(rows: slice, columns: slice, blocks: list[np.ndarray]) -> None:
        for result, block in zip(results, blocks, strict=True):
            if columns is rows:
                upper_half = np.triu(block, 1)
                result[rows, rows] = upper_half + upper_half.T
            else:
                result[rows, columns] = block
                result[columns, rows] = block.T

    side = _Side(A, W, tuple(alike), tuple(tiles))
    _measure(Sides(side), pairs, place, on_progress, cancel, executor)
    return results


def matched_alike(distances: Mapping[str, Distance]) -> list[dict[str, Distance]]:
    """The distances in groups that compare the same at the same costs: one matching serves all."""
    groups: dict[tuple[object, object], dict[str, Distance]] = {}
    for key, distance in distances.items():
        groups.setdefault((distance.compared, distance.cost), {})[key] = distance
    return list(groups.values())


def cross(
    A1: np.ndarray,
    W1: np.ndarray,
    A2: np.ndarray,
    W2: np.ndarray,
    distance: Distance,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> np.ndarray:
    """Distances between the factorizations of two collections of the same matrix and rank.

    Parameters
    ----------
    A1 : (M1, D, R), W1 : (M1, R, N), A2 : (M2, D, R), W2 : (M2, R, N).

    Returns
    -------
    (M1, M2) float64, in the distance's unit.

    Raises
    ------
    DataError
        When the shapes do not fit or an entry is not finite.
    Cancelled
        When ``cancel()`` returned True.
    """
    _check_shapes(A1, W1)
    _check_shapes(A2, W2)
    if A1.shape[1:] != A2.shape[1:] or W1.shape[1:] != W2.shape[1:]:
        raise DataError(
            f"The first collection holds {_size(A1, W1)}, the second {_size(A2, W2)}; distances "
            "need the same matrix and the same rank."
        )
    result = np.zeros((A1.shape[0], A2.shape[0]))
    tiles, others = _tiles(A1, W1), _tiles(A2, W2)

    def place(rows: slice, columns: slice, blocks: list[np.ndarray]) -> None:
        result[rows, columns] = blocks[0]

    sides = Sides(
        _Side(A1, W1, (distance,), tuple(tiles)), _Side(A2, W2, (distance,), tuple(others))
    )
    pairs = [(rows, columns) for rows in tiles for columns in others]
    _measure(sides, pairs, place, on_progress, cancel, None)
    return result


@dataclass(frozen=True)
class _Prepared:
    rows: np.ndarray
    shares: np.ndarray | None


@dataclass(frozen=True, eq=False)
class _Side:
    """Factorizations, A (M, D, R) and W (M, R, N), cut into tiles."""

    A: np.ndarray
    W: np.ndarray
    alike: tuple[Distance, ...]
    tiles: tuple[slice, ...]

    @cached_property
    def prepared(self) -> Callable[[int], _Prepared]:
        """Prepared rows of the tile that starts there; the latest are cached."""
        stops = {tile.start: tile.stop for tile in self.tiles}
        size = max((stop - start for start, stop in stops.items()), default=1)
        row = 8 * size * self.A.shape[2] * max(self.A.shape[1], self.W.shape[2])

        @lru_cache(maxsize=max(2, PREPARED // row))
        def of_tile(start: int) -> _Prepared:
            part = slice(start, stops[start])
            return _prepare(self.A[part], self.W[part], self.alike)

        return of_tile


@dataclass(frozen=True, eq=False)
class Sides:
    """The factorizations to compare, passed once to each worker that measures tiles.

    others : None where the factorizations are compared with each other.
    """

    ours: _Side
    others: _Side | None = None


def _measure(
    sides: Sides,
    pairs: list[tuple[slice, slice]],
    place: Callable[[slice, slice, list[np.ndarray]], None],
    on_progress: Callable[[float], None] | None,
    cancel: Callable[[], bool] | None,
    executor: Executor | None,
) -> None:
    """Measure all pairs of tiles, and ``place`` what is found."""
    what = f"the distances ({', '.join(distance.label for distance in sides.ours.alike)})"
    placed = iter(pairs)
    # The kernels and the products release the interpreter, so threads share the tiles.
    with one_blas_thread(), Tasks(executor, cancel, on_progress, len(pairs), what) as tasks:
        tasks.hand_over(
            _tile,
            [(sides, rows.start, columns.start) for rows, columns in pairs],
            lambda blocks: place(*next(placed), blocks),
        )


def _prepare(A: np.ndarray, W: np.ndarray, alike: Sequence[Distance]) -> _Prepared:
    compared = alike[0].compared(A, W)
    rows = aligned(compared.shape, compared.dtype)
    rows[:] = compared
    weighted = any(distance.weighted for distance in alike)
    shares = component_shares(A, W) if weighted else None
    # A cost that is not a number would send the matching astray without a trace.
    if not np.isfinite(rows).all() or (shares is not None and not np.isfinite(shares).all()):
        raise DataError(
            "A factorization holds an entry that is not a finite number; leave it out before "
            "measuring distances."
        )
    return _Prepared(rows, shares)


def _tile(sides: Sides, row: int, column: int) -> list[np.ndarray]:
    """The distances between the tiles that start there, of each that is measured."""
    alike = sides.ours.alike
    left, right = sides.ours.prepared(row), (sides.others or sides.ours).prepared(column)
    with reused_memory():
        costs = alike[0].cost(left.rows, right.rows)
        K, L, R, _ = costs.shape
        permutation = assign(costs.reshape(K * L, R, R)).reshape(K, L, R)
        matched = np.take_along_axis(costs, permutation[..., None], axis=3)[..., 0]
    shares: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    if left.shares is not None and right.shares is not None:
        places = permutation + R * np.arange(L)[:, None]
        shares = left.shares[:, None, :], right.shares.reshape(-1).take(places)
    return [
        distance.combine(matched, *(shares if distance.weighted else (None, None)))
        for distance in alike
    ]


def _tiles(A: np.ndarray, W: np.ndarray) -> list[slice]:
    M, D, R = A.shape
    length = max(D, W.shape[2])
    costs = min(COSTS_PER_TILE, OPERATIONS_PER_TILE / length)
    size = max(1, int(math.sqrt(costs) / R))
    return [slice(start, min(start + size, M)) for start in range(0, M, size)]


def _check_shapes(A: np.ndarray, W: np.ndarray) -> None:
    fits = A.ndim == 3 and W.ndim == 3 and A.shape[0] == W.shape[0] and A.shape[2] == W.shape[1]
    if not fits or 0 in A.shape[1:]:
        raise DataError(
            f"A has shape {A.shape} and W {W.shape}; M factorizations of rank R are given as "
            "A (M, D, R) and W (M, R, N)."
        )


def _size(A: np.ndarray, W: np.ndarray) -> str:
    return f"rank-{A.shape[2]} factorizations of a {A.shape[1]}×{W.shape[2]} matrix"
