"""How far each piece of knowledge narrows the components of an exact factorization of rank 3."""

from collections.abc import Sequence

import numpy as np

from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")

# Directions of the sides of a triangle that are tried, what part of the room's width lies on its
# edge, and how many of the best triangles are made smaller still.
DIRECTIONS, EDGE, STARTS = 36, 0.02, 4


def knowledge(
    feasible: Feasible, called: Sequence[str] = ("1", "2", "3")
) -> list[tuple[str, np.ndarray]]:
    """(what is known, (3,) degrees by which each component may turn), the least knowledge first.

    A component that is locked, or that the smallest triangle puts somewhere, does not turn; of the
    latter the angle to the factorization's own component is given.
    """
    free = region(feasible)
    rows = [("no entry of A and W below 0", free.angle)]
    own = feasible.places(np.eye(3))
    for r in range(3):
        rows.append((f"and component {called[r]} locked", region(feasible, {r: own[r]}).angle))
    places = np.stack(np.meshgrid(free.x, free.y), axis=-1)
    span = np.ptp(feasible.room(), axis=0).max()
    at_edge = feasible.inside(places.reshape(-1, 2)).reshape(free.of.shape) <= EDGE * span
    angles = np.zeros(3)
    for r in range(3):
        chosen = at_edge & ((free.of == r) | (free.of == 3))
        if chosen.any():
            angles[r] = feasible.turned(r, places[chosen]).max()
    rows.append(("and an entry of 0 in each component", angles))
    smallest = smallest_triangle(feasible)
    if smallest is not None:
        cost = np.array([feasible.turned(r, smallest) for r in range(3)])
        order = optimize.linear_sum_assignment(cost)[1]
        rows.append(("and the smallest volume (angle to it)", cost[np.arange(3), order]))
    return rows


def smallest_triangle(feasible: Feasible) -> np.ndarray | None:
    """Corners (3, 2) of the triangle of least area that holds the data and stays in the room.

    Its sides touch the data, so that three directions say which it is; None where none was found.
    """
    hull = feasible.hull

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
