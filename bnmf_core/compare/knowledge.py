"""Feasible regions of two or three components under additional knowledge."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from bnmf_core.compare.feasible import Feasible, Region, region
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import numbered
from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")

# Directions of the sides of a triangle that are tried, what part of the room's width lies on its
# edge, and how many of the best triangles are made smaller still.
DIRECTIONS, EDGE, STARTS = 36, 0.02, 4
# Part of a component's largest entry up to which an entry counts as 0, and how far sums of weights
# may be from 1.
NEAR_ZERO, CLOSED = 0.01, 0.05
# Number of groups that are examined alone.
MOST_GROUPS = 5
# Number of places whose columns are examined together.
TOGETHER = 1024


def knowledge(
    A: np.ndarray,
    W: np.ndarray,
    called: Sequence[str] = (),
    groups: Mapping[str, np.ndarray] | None = None,
    tolerance: float = 0.0,
) -> list[tuple[str, np.ndarray]]:
    """(what is known, (R,) degrees by which each component may turn), the least knowledge first.

    A locked component does not turn. Of the smallest volume it is the angle between a component and
    its corner. NaN where the product AW does not agree with what is known.

    Parameters
    ----------
    A : (D, R). W : (R, N); R is 2 or 3. called : R names, numbers where it is empty.
    tolerance : see :class:`Feasible`.
    groups : name → (N,) bool, such as the observations of each of several matrices: what they leave
        alone.

    Raises
    ------
    SettingsError, DataError
        As :meth:`Feasible.of` does.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.knowledge import knowledge
    >>> A, W = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([[3.0, 1.0], [1.0, 3.0]])
    >>> for known, turns in knowledge(A, W)[:2]:
    ...     print(known, turns.round(1))
    no entry of A and W below 0 [18.4 18.4]
    and weights that sum to 1 [18.4 18.4]
    """
    feasible = Feasible.of(A, W, tolerance)
    free, own = region(feasible), feasible.places(np.eye(feasible.R))
    rows = []
    for name, members in (groups or {}).items():
        with suppress(DataError):  # their weights span fewer dimensions
            alone = region(Feasible.of(A, W[:, members], tolerance))
            rows.append((f"{name} alone: no entry of A and W below 0", alone.angle))
    everything = "all together: " if rows else ""
    rows.append((f"{everything}no entry of A and W below 0", free.angle))
    rows.append(_summing_to_one(feasible, free, W * A.sum(axis=0)[:, None]))
    if feasible.R == 3:
        for r, name in enumerate(called or numbered([], 3)):
            rows.append((f"and component {name} locked", region(feasible, {r: own[r]}).angle))
    at_edge = feasible.inside(free.places) <= EDGE * np.ptp(feasible.room(), axis=0).max()
    rows.append(("and an entry of 0 in each component", free.within(feasible, at_edge)))
    sparse = np.array([_as_sparse(feasible, free.places, own) for own in feasible.A.T])
    rows.append(("and as many entries near 0 as they have now", free.within(feasible, sparse)))
    smallest = smallest_simplex(feasible)
    if smallest is not None:
        cost = np.array([feasible.turned(r, smallest) for r in range(feasible.R)])
        order = optimize.linear_sum_assignment(cost)[1]
        rows.append(("and the smallest volume (angle to it)", cost[np.arange(feasible.R), order]))
    return rows


def groups_of(labels: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The observations of each value of the first label with few of them, for :func:`knowledge`.

    labels : name → (N,) strings, "" for none. The result is empty where no label has 2 to
    ``MOST_GROUPS`` values.
    """
    for label, values in labels.items():
        different = [str(value) for value in np.unique(values) if value]
        if 2 <= len(different) <= MOST_GROUPS:
            return {f"{label} {value}": np.asarray(values == value) for value in different}
    return {}


def describe_region(found: Region, called: Sequence[str], locked: int | None = None) -> str:
    """Describe the regions in two or three sentences. called : R names."""
    R = len(found.may)
    turns = ", ".join(
        f"{called[r]} can turn by up to {found.angle[r]:.0f}°" for r in range(R) if r != locked
    )
    together = " Grey places may be more than one of them." * bool((found.of == R).any())
    held = "" if locked is None else f" while {called[locked]} is locked"
    equal = (
        "Every triangle of coloured places that holds the data fits"
        if R == 3
        else "All that each component can be, whatever the other one is, fits"
    )
    return f"{equal} equally well: component {turns}{held}.{together}"


def _summing_to_one(
    feasible: Feasible, free: Region, amounts: np.ndarray
) -> tuple[str, np.ndarray]:
    """Weights can be scaled to sums of 1 where the scales solve linear equations and are positive.

    amounts : (R, N) of components that sum to 1.
    """
    scales = np.linalg.lstsq(amounts.T, np.ones(amounts.shape[1]), rcond=None)[0]
    gap = np.abs(amounts.T @ scales - 1.0).max()
    if gap > CLOSED:
        known = f"and weights that sum to 1: not this fit, whose sums miss 1 by up to {gap:.0%}"
        return known, np.full(feasible.R, np.nan)
    positive = feasible.points(free.places) @ scales > 0
    return "and weights that sum to 1", free.within(feasible, positive)


def _as_sparse(feasible: Feasible, places: np.ndarray, own: np.ndarray) -> np.ndarray:
    """(k,) bool, places whose columns have as many entries near 0 as a component (D,)."""
    blocks = np.array_split(places, len(places) // TOGETHER + 1)
    columns = [np.column_stack([own, feasible.columns(block)]) for block in blocks]
    near = [(block <= NEAR_ZERO * block.max(axis=0)).sum(axis=0) for block in columns]
    return np.concatenate([count[1:] >= count[0] for count in near])


def smallest_simplex(feasible: Feasible) -> np.ndarray | None:
    """Corners (R, R − 1) of the smallest simplex that holds the data and stays in the room.

    The sides of a triangle touch the data, so that three directions say which it is; None where
    none was found.
    """
    hull = feasible.hull
    if feasible.R == 2:
        return hull

    def corners(turned: np.ndarray) -> np.ndarray:
        """(k, 3, 2) of triangles with sides of normals at these angles (k, 3)."""
        cos, sin = np.cos(turned), np.sin(turned)
        reach = (cos[..., None] * hull[:, 0] + sin[..., None] * hull[:, 1]).max(axis=-1)
        after = [1, 2, 0]
        with np.errstate(all="ignore"):  # two sides may be parallel
            turn = cos * sin[:, after] - sin * cos[:, after]
            x = (reach * sin[:, after] - sin * reach[:, after]) / turn
            y = (cos * reach[:, after] - reach * cos[:, after]) / turn
        found = np.stack([x, y], axis=-1)
        return found

    def cost(turned: np.ndarray) -> np.ndarray:
        triangles = corners(turned)
        with np.errstate(all="ignore"):
            one, two = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
            area = 0.5 * np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])
            inside = feasible.inside(np.nan_to_num(triangles, posinf=1e9).reshape(-1, 2))
        out = np.maximum(-inside.reshape(-1, 3).min(axis=1), 0.0)
        gaps = np.diff(np.column_stack([turned, turned[:, 0] + 2 * np.pi]), axis=1)
        bounded = (gaps < np.pi).all(axis=1) & (gaps > 0).all(axis=1)
        return np.where(bounded, area + 1e3 * out, np.inf)

    angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    i, j, k = np.meshgrid(*[np.arange(DIRECTIONS)] * 3, indexing="ij")
    rising = (i < j) & (j < k)
    tried = angles[np.column_stack([i[rising], j[rising], k[rising]])]
    costs = cost(tried)
    best = None
    for start in tried[np.argsort(costs)[:STARTS]]:
        found = optimize.minimize(
            lambda turned: min(float(cost(turned[None])[0]), 1e12), start, method="Nelder-Mead"
        )
        if best is None or found.fun < best.fun:
            best = found
    if best is None:
        return None
    triangle = corners(best.x[None])[0]
    return triangle if feasible.inside(triangle).min() > -1e-3 else None
