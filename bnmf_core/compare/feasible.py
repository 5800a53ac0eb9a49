"""Where the components of an exact factorization may lie: the area of feasible solutions.

All factorizations of one product AW of rank R are (A T)(T⁻¹ W). Scaled to sum 1, the columns of A T
lie in a space of R − 1 dimensions: a line for two components, a plane for three. They are the
corners of a simplex that holds all columns of AW and leaves the room of non-negative vectors
nowhere. For two components both ends have an interval each (Lawton & Sylvestre 1971); for three,
a point is a corner of such a triangle exactly when the triangle between its two tangents to the
data, cut off where they leave the room, holds the data (Borgen & Kowalski 1985; Rajkó & István
2005). Points have barycentric coordinates: (1, 0, 0) is the first component of the factorization.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from bnmf_core.compare.alignment import component_angles
from bnmf_core.compare.distances.scaling import component_shares
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.lazy import lazy

spatial = lazy("scipy.spatial")
sparse = lazy("scipy.sparse")

# Where the corners of the triangle of three components are drawn; (0, 0) is its middle.
CORNERS = np.array([[0.0, 1.0], [-np.sqrt(0.75), -0.5], [np.sqrt(0.75), -0.5]])
# Slack of a condition that counts as met: what rounding leaves.
ROUNDING = 1e-9
# Sine of the angle between tangents that is 180° but for rounding.
FLAT = 1e-6
# Degrees between a column and its foot in the space of the components.
BESIDE = 5.0
# Points along each side of the grid that a region is drawn and measured on; how often a small
# region gets one of its own, and what part of the grid's step connects two places.
GRID, ZOOMS, LINKED = 121, 3, 1.05
# Number of sides of the data searched for regions without area.
MOST_SIDES = 40


@dataclass(frozen=True, eq=False)
class Feasible:
    """The regions of the components of a factorization of rank 2 or 3, in barycentric coordinates.

    Attributes
    ----------
    A : (D, R), columns that sum to 1. data : (N, R) barycentric coordinates of the columns of AW.
    tolerance : entries of A may be below 0 by this part of the mean column of AW, and weights by
        about this part of the mean ones.
    """

    A: np.ndarray
    data: np.ndarray
    centre: np.ndarray
    tolerance: float

    @classmethod
    def of(cls, A: np.ndarray, W: np.ndarray, tolerance: float = 0.0) -> "Feasible":
        """The regions of A (D, R), W (R, N).

        Raises
        ------
        SettingsError
            When R is not 2 or 3, or the tolerance not from 0 to below 1.
        DataError
            When A or W has a smaller rank than R: then the components are not determined at all.

        Examples
        --------
        >>> import numpy as np
        >>> from bnmf_core.compare.feasible import Feasible
        >>> A, W = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([[3.0, 1.0], [1.0, 3.0]])
        >>> Feasible.of(A, W).intervals.round(2)  # of the second one's part: outer and inner ends
        array([[-0.5 ,  0.25],
               [ 0.75,  1.5 ]])
        """
        R = A.shape[1]
        if R not in (2, 3):
            raise SettingsError(
                f"A region is drawn for 2 or 3 components; this factorization has {R}. Bands of "
                "contributions are there for any number."
            )
        if not 0.0 <= tolerance < 1.0:
            raise SettingsError(f"The tolerance is {tolerance:g}; it goes from 0 to below 1.")
        A, W = np.asarray(A, dtype=np.float64), np.asarray(W, dtype=np.float64)
        if min(np.linalg.matrix_rank(A), np.linalg.matrix_rank(W)) < R:
            raise DataError(
                f"The {R} components span fewer than {R} dimensions: one of them is a mixture of "
                "the others, or their weights are."
            )
        amounts = W * A.sum(axis=0)[:, None]
        seen = amounts[:, amounts.sum(axis=0) > 0]
        return cls(
            A=A / A.sum(axis=0),
            data=(seen / seen.sum(axis=0)).T,
            centre=component_shares(A[None], W[None])[0],
            tolerance=tolerance,
        )

    @property
    def R(self) -> int:
        """Number of components."""
        return self.A.shape[1]

    @cached_property
    def _room(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals (F, R − 1) and offsets (F,): normal · y + offset ≥ 0 is the room of A ≥ 0."""
        used = self.A @ self.centre
        rows = self.A[used > 0]
        # Each entry over that of the mean column, at the places (1, 0, …), (0, 1, …) and so on.
        heights = rows / used[used > 0, None] + self.tolerance / (1.0 - self.tolerance)
        normals, offsets = _planes(heights, self.places(np.eye(self.R)))
        if self.R == 3:  # the few that are sides of it
            sides = np.unique(self._corners(normals, offsets).dual_vertices)
            normals, offsets = normals[sides], offsets[sides]
        return normals, offsets

    def _corners(self, normals: np.ndarray, offsets: np.ndarray) -> Any:
        """Intersection of half planes around the middle of the data, by Qhull."""
        middle = self.places(self.centre[None])[0]
        return spatial.HalfspaceIntersection(np.column_stack([-normals, -offsets]), middle)

    @cached_property
    def hull(self) -> np.ndarray:
        """(H, R − 1) corners of the data in their order, drawn to the mean by the tolerance."""
        drawn = self.centre + (1.0 - self.tolerance) * (self.data - self.centre)
        places = self.places(drawn)
        if self.R == 2:
            return np.array([places.min(axis=0), places.max(axis=0)])
        return np.asarray(places[spatial.ConvexHull(places).vertices])

    def places(self, points: np.ndarray) -> np.ndarray:
        """Positions (k, R − 1) of points (k, R) in barycentric coordinates."""
        return points[:, 1:] if self.R == 2 else points @ CORNERS

    def points(self, places: np.ndarray) -> np.ndarray:
        """Barycentric coordinates (k, R) of places (k, R − 1)."""
        if self.R == 2:
            return np.column_stack([1.0 - places[:, 0], places[:, 0]])
        return np.asarray(np.full((len(places), 3), 1 / 3) + places @ CORNERS.T / 1.5)

    def columns(self, places: np.ndarray) -> np.ndarray:
        """The columns (D, k) at places, scaled to sum 1."""
        return self.A @ self.points(places).T

    def places_of(self, A: np.ndarray) -> np.ndarray | None:
        """Positions of the columns of another basis (D, R), (R, R − 1).

        None where one of them is more than ``BESIDE`` degrees beside the space of these.
        """
        points = np.linalg.lstsq(self.A, A / A.sum(axis=0), rcond=None)[0].T
        if component_angles((self.A @ points.T)[None], A).max() > BESIDE:
            return None
        return self.places(points / points.sum(axis=1, keepdims=True))

    def turned(self, component: int, places: np.ndarray) -> np.ndarray:
        """Degrees (k,) between a component and the columns at places (k, R − 1)."""
        # The triangular factor has the angles of A, in R dimensions instead of D.
        small = np.asarray(np.linalg.qr(self.A, mode="r"))
        columns = self.points(places) @ small.T
        return component_angles(columns[:, :, None], small[:, [component]])[:, 0]

    def room(self) -> np.ndarray:
        """Corners (k, R − 1) of the room of non-negative columns, in their order."""
        normals, offsets = self._room
        if self.R == 2:
            ends = -offsets / normals[:, 0]
            return np.array([[ends[normals[:, 0] > 0].max()], [ends[normals[:, 0] < 0].min()]])
        found = self._corners(normals, offsets).intersections
        return np.asarray(found[spatial.ConvexHull(found).vertices])

    @cached_property
    def intervals(self) -> np.ndarray:
        """(2, 2) for two components: from where to where each of them may lie.

        In parts of the second component, which is at 1; the first one is at 0.
        """
        (least,), (most,) = self.room()
        (first,), (last,) = self.hull
        return np.array([[least, first], [last, most]])

    def slack(self, places: np.ndarray) -> np.ndarray:
        """(k,) at least 0 where a component may lie, of three components; how far it is from that.

        places : (k, 2).
        """
        hull = self.hull
        first, second = self._tangents(places)
        ends = [self._leaves(places, towards) for towards in (first, second)]
        across = ends[1] - ends[0]
        length = np.maximum(np.linalg.norm(across, axis=1), ROUNDING)
        heights = _cross(across[:, None], hull - ends[0][:, None]) / length[:, None]
        own = np.sign(_cross(across, places - ends[0]))
        third = (heights * own[:, None]).min(axis=1)
        # A place on a side of the data is no corner: both its tangents lie in one line.
        flat = (_cross(first, second) < FLAT) & ((first * second).sum(axis=1) < 0)
        third = np.where(flat, -np.abs(heights).max(axis=1), third)
        return np.minimum(np.minimum(self.inside(places), self._outside(places)), third)

    def slack_beside(self, places: np.ndarray, locked: np.ndarray) -> np.ndarray:
        """As :meth:`slack`, of the other components when one lies at ``locked`` (2,).

        The third one of the smallest triangle is where the other tangent of the locked one meets
        that of the place; it has to be in the room.
        """
        hull, away = self.hull, self._outside(places)
        mine = self._tangents(locked[None])
        best = np.full(len(places), -np.inf)
        for turn, other in enumerate(mine[::-1]):
            sign = 1.0 - 2.0 * turn
            # The place is beyond the tangent, so that the edge to it leaves all data on one side.
            edge = places - locked
            long = np.maximum(np.linalg.norm(edge, axis=1), ROUNDING)
            beyond = (sign * _cross(edge[:, None], hull - locked)).min(axis=1) / long
            ahead = sign * _cross(edge, other[0])
            far = self._tangents(places)[turn]
            crossing = _cross(other[0], far)
            t = _cross(places - locked, far) / np.where(crossing == 0.0, ROUNDING, crossing)
            third = locked + t[:, None] * other[0]
            # A third one at the locked one makes no triangle.
            apart = np.where((ahead > 0) & (t > FLAT), t, -1.0)
            ok = np.minimum(np.minimum(beyond, self.inside(third)), apart)
            best = np.maximum(best, ok)
        return np.minimum(np.minimum(self.inside(places), away), best)

    def inside(self, places: np.ndarray) -> np.ndarray:
        """(k,) distance to the nearest side of the room, below 0 outside."""
        normals, offsets = self._room
        return np.asarray((places @ normals.T + offsets).min(axis=1))

    def _outside(self, places: np.ndarray) -> np.ndarray:
        """(k,) distance to the farthest of the lines along the data, below 0 inside of them."""
        hull = self.hull
        sides = np.roll(hull, -1, axis=0) - hull
        length = np.linalg.norm(sides, axis=1)
        return np.asarray((_cross(places[:, None] - hull, sides) / length).max(axis=1))

    def _tangents(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Directions (k, 2) of length 1 from places to both sides of the data: right and left."""
        ahead = self.places(self.centre[None])[0] - places
        to = self.hull - places[:, None]
        angles = np.arctan2(_cross(ahead[:, None], to), (ahead[:, None] * to).sum(axis=2))
        # A place that is a corner of the data sees nothing of itself.
        angles[np.abs(to).max(axis=2) < ROUNDING] = 0.0
        every = np.arange(len(places))
        found = []
        for chosen in (angles.argmin(axis=1), angles.argmax(axis=1)):
            towards = to[every, chosen]
            found.append(towards / np.maximum(np.linalg.norm(towards, axis=1), ROUNDING)[:, None])
        return found[0], found[1]

    def _leaves(self, places: np.ndarray, towards: np.ndarray) -> np.ndarray:
        """Points where rays (k, 2) leave the polygon."""
        normals, offsets = self._room
        falls = towards @ normals.T
        heights = places @ normals.T + offsets
        t = np.divide(heights, -falls, out=np.full_like(falls, np.inf), where=falls < -ROUNDING)
        return np.asarray(places + np.maximum(t.min(axis=1), 0.0)[:, None] * towards)


@dataclass(frozen=True, eq=False)
class Region:
    """Where each of two or three components may lie, as places on a grid.

    Attributes
    ----------
    places : (k, R − 1), those that are possible. may : (R, k) bool, for which components: several
        where their regions have grown together, none of them for one that cannot move.
    angle : (R,) the largest angle, in degrees, between a component and a column of its region.
    """

    places: np.ndarray
    may: np.ndarray
    angle: np.ndarray

    @property
    def of(self) -> np.ndarray:
        """(k,) the component that a place belongs to, R where it can be several."""
        return np.where(self.may.sum(axis=0) > 1, len(self.may), self.may.argmax(axis=0))

    def within(self, feasible: Feasible, chosen: np.ndarray) -> np.ndarray:
        """(R,) as ``angle``, of the chosen places alone: (k,) bool, or (R, k)."""
        return _turned(feasible, self.places, self.may & chosen)


def region(feasible: Feasible, locked: Mapping[int, np.ndarray] | None = None) -> Region:
    """The regions of the components; of the others where one of three is locked.

    locked : its number and place (2,). Of two components each has its interval, wherever the other
    one is.

    Raises
    ------
    SettingsError
        When several components are locked, or one of two.
    """
    locked = locked or {}
    if len(locked) > (feasible.R == 3):
        raise SettingsError(
            "One of three components is locked at a time; the two others stay free."
        )
    if feasible.R == 2:
        least, most = feasible.intervals.T
        places = np.linspace(least, most, GRID, axis=1).reshape(-1, 1)
        may = np.repeat(np.eye(2, dtype=bool), GRID, axis=1)
        return Region(places, may, _turned(feasible, places, may))
    lines, own = _lines(feasible, locked), feasible.places(np.eye(3))

    def possible(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float]:
        """Places in a box, on a grid, along lines and at the components; and the grid's step."""
        tried, step = _tried(low, high, lines)
        tried = np.concatenate([tried, own])
        with np.errstate(all="ignore"):
            slack = (
                feasible.slack_beside(tried, next(iter(locked.values())))
                if locked
                else feasible.slack(tried)
            )
        return tried[np.nan_to_num(slack, nan=-1.0, neginf=-1.0) >= -ROUNDING], step

    corners = feasible.room()
    places, step = possible(corners.min(axis=0), corners.max(axis=0))
    pieces = {}
    for r in np.setdiff1d(np.arange(3), list(locked)).tolist():
        piece, fine = _piece(places, step, own[r]), step
        for _ in range(ZOOMS if len(piece) else 0):
            low, high = piece.min(axis=0) - fine, piece.max(axis=0) + fine
            if 2 * (high - low).max() > GRID * fine or np.ptp(piece, axis=0).max() < FLAT:
                break
            nearer, fine = possible(low, high)
            piece = _piece(nearer, fine, own[r])
        pieces[r] = piece, fine
    places = np.concatenate([np.empty((0, 2)), *(piece for piece, _ in pieces.values())])
    owner = np.repeat(list(pieces), [len(piece) for piece, _ in pieces.values()]).astype(int)
    may = owner == np.arange(3)[:, None]
    for r, q in combinations(pieces, 2):  # regions that have grown together are of both
        piece, fine = pieces[r]
        if len(piece) and np.linalg.norm(piece - own[q], axis=1).min() <= fine:
            may[[r, q]] = may[[r, q]].any(axis=0)
    return Region(places, may, _turned(feasible, places, may))


def _lines(feasible: Feasible, locked: Mapping[int, np.ndarray]) -> list[np.ndarray]:
    """Ends (2, 2) of lines along which a region may lie that has no area, and lies on no grid.

    Sides of the room, sides of the data on to the sides of the room, and the tangents of a locked
    component.
    """
    room, hull = feasible.room(), feasible.hull
    lines = [np.stack(ends) for ends in zip(room, np.roll(room, -1, axis=0), strict=True)]
    towards = np.roll(hull, -1, axis=0) - hull
    longest = np.argsort(-np.linalg.norm(towards, axis=1))[:MOST_SIDES]
    starts, ways = [hull[longest]] * 2, [towards[longest], -towards[longest]]
    for place in locked.values():
        starts += [place[None]] * 2
        ways += feasible._tangents(place[None])
    start, way = np.concatenate(starts), np.concatenate(ways)
    way = way / np.maximum(np.linalg.norm(way, axis=1), ROUNDING)[:, None]
    return lines + list(np.stack([start, feasible._leaves(start, way)], axis=1))


def _tried(low: np.ndarray, high: np.ndarray, lines: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """A grid in a box, and places along lines there as close to each other; and its step."""
    x, y = (np.linspace(start, end, GRID) for start, end in zip(low, high, strict=True))
    step = float(np.hypot(x[1] - x[0], y[1] - y[0]))
    places = [np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)]
    for one, other in lines:
        # The part of the line that is in the box.
        with np.errstate(all="ignore"):
            ends = np.sort(np.stack([low - one, high - one]) / (other - one), axis=0)
        first, last = np.fmax.reduce(ends[0], initial=0.0), np.fmin.reduce(ends[1], initial=1.0)
        if first <= last:
            count = int(2 * (last - first) * np.linalg.norm(other - one) / step) + 2
            t = np.linspace(first, last, count)[:, None]
            places.append(one + t * (other - one))
    return np.concatenate(places), step


def _piece(places: np.ndarray, step: float, start: np.ndarray) -> np.ndarray:
    """The places connected by steps with the one nearest to the start; none if that is far."""
    if not len(places):
        return places
    tree = spatial.cKDTree(places)
    far, nearest = tree.query(start)
    if far > step:
        return places[:0]
    near = tree.query_pairs(LINKED * step, output_type="ndarray")
    graph = sparse.coo_array((np.ones(len(near), bool), near.T), shape=(len(places),) * 2)
    label = sparse.csgraph.connected_components(graph, directed=False)[1]
    return places[label == label[nearest]]


def shape_bands(feasible: Feasible, found: Region) -> tuple[np.ndarray, np.ndarray]:
    """(D, R) the smallest and the largest each entry of a component can be within its region.

    Columns sum to 1. An entry is linear in the place, so that corners of the region are enough.
    """
    lower, upper = feasible.A.copy(), feasible.A.copy()
    for r, may in enumerate(found.may):
        places = found.places[may]
        area = np.linalg.matrix_rank(places - places[:1], tol=ROUNDING) == 2
        ends = places[spatial.ConvexHull(places).vertices] if area else places
        columns = np.column_stack([feasible.A[:, r], feasible.columns(ends)])
        lower[:, r], upper[:, r] = columns.min(axis=1), columns.max(axis=1)
    return lower, upper


def _turned(feasible: Feasible, places: np.ndarray, may: np.ndarray) -> np.ndarray:
    """(R,) the largest angle of each component's places, 0 where there are none."""
    return np.array(
        [feasible.turned(r, places[mine]).max(initial=0.0) for r, mine in enumerate(may)]
    )


def _planes(heights: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Affine functions with these values (F, R) at the corners (R, R − 1): normals of length 1."""
    homogeneous = np.column_stack([corners, np.ones(len(corners))])
    found = np.linalg.solve(homogeneous, heights.T).T
    size = np.linalg.norm(found[:, :-1], axis=1)
    sloped = size > ROUNDING  # others hold everywhere
    found = found[sloped] / size[sloped, None]
    return found[:, :-1], found[:, -1]


def _cross(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The last coordinate of the cross product of vectors in the plane."""
    return np.asarray(first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0])
