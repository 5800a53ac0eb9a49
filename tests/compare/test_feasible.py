"""Regions of components: by tangents, and by trying every triangle."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.spatial import Delaunay
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from bnmf_core import laurberg
from bnmf_core.compare.feasible import CORNERS, GRID, Feasible, region, shape_bands
from bnmf_core.core.errors import DataError, SettingsError


def loose(seed=1, D=8, N=30):
    """A factorization of rank 3 whose components can turn."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.4, size=(D, 3)), rng.gamma(1.0, size=(3, N)) + 0.15


def around(corners, count=160):
    """Places along the sides of a polygon."""
    t = np.linspace(0, 1, count // len(corners) + 2, endpoint=False)[:, None]
    after = np.roll(corners, -1, axis=0)
    return np.concatenate([a + t * (b - a) for a, b in zip(corners, after, strict=True)])


def holds(triangles, points, slack=1e-9):
    """Whether triangles (t, 3, 2) hold all points, by barycentric coordinates."""
    edges = np.stack([triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]], -1)
    regular = np.abs(np.linalg.det(edges)) > 1e-12
    found = np.zeros(len(triangles), dtype=bool)
    to = points[None] - triangles[regular, 0][:, None]
    parts = np.linalg.solve(edges[regular][:, None], to[..., None])[..., 0]
    found[regular] = ((parts >= -slack).all(axis=(1, 2))) & (parts.sum(axis=2) <= 1 + slack).all(1)
    return found


def pairs(ends):
    i, j = np.triu_indices(len(ends), 1)
    return ends[i], ends[j]


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_place_is_possible_where_some_triangle_from_it_holds_the_data(seed):
    found = Feasible.of(*loose(seed))
    ends = around(found.room())
    second, third = pairs(ends)
    inside = Delaunay(found.room())
    rng = np.random.default_rng(0)
    low, high = found.room().min(axis=0), found.room().max(axis=0)
    tried = rng.uniform(low, high, (150, 2))
    tried = tried[inside.find_simplex(tried) >= 0]
    slack = found.slack(tried)
    clear = np.abs(slack) > 0.03  # others lie between two of the tried ends
    assert (slack[clear] > 0).sum() >= 2 and (slack[clear] < 0).sum() >= 2
    for place, here in zip(tried[clear], slack[clear], strict=True):
        corners = np.stack([np.broadcast_to(place, second.shape), second, third], axis=1)
        assert holds(corners, found.hull).any() == (here > 0)


def test_places_beside_a_locked_component_are_those_of_triangles_with_it():
    found = Feasible.of(*loose(1))
    locked = found.places(np.eye(3))[0]
    rng = np.random.default_rng(3)
    room = Delaunay(found.room())
    inner = rng.uniform(found.room().min(axis=0), found.room().max(axis=0), (4000, 2))
    inner = inner[room.find_simplex(inner) >= 0]
    tried = inner[:250]
    slack = found.slack_beside(tried, locked)
    clear = np.abs(slack) > 0.03
    assert (slack[clear] > 0).any() and (slack[clear] < 0).any()
    for place, here in zip(tried[clear], slack[clear], strict=True):
        corners = np.stack([np.broadcast_to(p, inner.shape) for p in (locked, place)], axis=1)
        triangles = np.concatenate([corners, inner[:, None]], axis=1)
        assert holds(triangles, found.hull).any() == (here > 0)


def test_locking_a_component_makes_no_region_larger_and_some_smaller():
    found = Feasible.of(*loose(1))
    free = region(found)
    beside = region(found, {0: found.places(np.eye(3))[0]})
    assert (beside.angle <= free.angle + 0.1).all() and (
        beside.angle[1:] < free.angle[1:] - 1
    ).any()
    assert (found.slack(beside.places) >= -1e-9).all()


@cache
def kinetics():
    """A fit to spectra of A → B → C: regions are strips at the edge, thinner than any grid."""
    rng, x, t = np.random.default_rng(1), np.linspace(0, 1, 40), np.linspace(0, 30, 25)
    spectra = np.exp(-0.5 * ((x[:, None] - [0.35, 0.5, 0.62]) / 0.13) ** 2)
    first = np.exp(-0.22 * t)
    second = 0.22 / (0.075 - 0.22) * (np.exp(-0.22 * t) - np.exp(-0.075 * t))
    X = spectra @ [first, second, 1 - first - second] + 0.003 * rng.normal(size=(40, 25))
    nmf = NMF(3, init="random", random_state=0, max_iter=5_000, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return nmf.fit_transform(np.maximum(X, 0.0)), nmf.components_


def by_chance(A, W, count=60_000):
    """The farthest that components turn in factorizations (A T, T⁻¹ W) drawn at random."""
    rng, unit, far = np.random.default_rng(0), A / np.linalg.norm(A, axis=0), np.zeros(A.shape[1])
    for scale in (0.01, 0.05, 0.2):
        size = (count // 3, A.shape[1], A.shape[1])
        changes = rng.normal(scale=scale, size=size) * (rng.random(size) < 0.4)
        for T in np.eye(A.shape[1]) + changes:
            other = A @ T
            if other.min() < 0 or np.linalg.solve(T, W).min() < 0:
                continue
            cosines = (unit * other / np.linalg.norm(other, axis=0)).sum(axis=0)
            far = np.maximum(far, np.degrees(np.arccos(np.minimum(cosines, 1.0))))
    return far


@pytest.mark.parametrize("make", [kinetics, loose])
def test_no_factorization_drawn_at_random_turns_farther_than_its_region(make):
    A, W = make()
    feasible = Feasible.of(A, W)
    found, far = region(feasible), by_chance(A, W)
    assert far.max() > 1.0
    assert (far <= found.angle + 0.05).all()
    # And a region is no larger than what pairs of its places make: each is a corner of a triangle.
    assert (feasible.slack(found.places) >= -1e-9).all()


def test_a_region_without_area_is_a_line_and_locking_leaves_what_is_possible():
    feasible = Feasible.of(*kinetics())
    own = feasible.places(np.eye(3))
    free = region(feasible)
    for r in range(3):
        beside = region(feasible, {r: own[r]})
        assert beside.angle[r] == 0 and (beside.angle <= free.angle + 0.1).all()


@pytest.mark.parametrize("kind", ["unique", "two"])
def test_components_of_isolated_answers_cannot_turn_and_the_other_answer_is_possible(kind):
    data = laurberg(kind)
    found = Feasible.of(data.truth[0].A, data.truth[0].W)
    assert region(found).angle.max() < 1e-3
    for truth in data.truth:
        columns = truth.A / truth.A.sum(axis=0)
        points = np.linalg.lstsq(found.A, columns, rcond=None)[0].T
        assert np.abs(found.slack(found.places(points))).max() < 1e-9
        np.testing.assert_allclose(found.places_of(7 * truth.A), found.places(points), atol=1e-12)
    # A column that is no mixture of these has no place.
    assert found.places_of(np.eye(6)[:, :3] + 0.01) is None


def test_intervals_of_two_components_end_where_an_entry_or_a_weight_is_zero():
    rng = np.random.default_rng(4)
    A, W = rng.gamma(1.0, size=(6, 2)), rng.gamma(1.0, size=(2, 9))
    found = Feasible.of(A, W)
    first, second = found.intervals
    for (outer, inner), other in ((first, 1), (second[::-1], 0)):
        for s, bound in ((outer, "entry"), (inner, "weight")):
            T = np.eye(2)
            T[:, 1 - other] = found.points(np.array([[s]]))[0]
            scaled = W * A.sum(axis=0)[:, None]
            moved_A, moved_W = found.A @ T, np.linalg.solve(T, scaled)
            assert np.allclose(moved_A @ moved_W, A @ W)
            least_A, least_W = moved_A.min(), moved_W.min()
            assert min(least_A, least_W) == pytest.approx(0, abs=1e-12)
            assert (least_A if bound == "entry" else least_W) == pytest.approx(0, abs=1e-12)


def test_a_tolerance_widens_regions_and_entries_are_that_little_below_zero():
    A, W = loose(1)
    exact, wide = Feasible.of(A, W), Feasible.of(A, W, 0.05)
    assert (region(wide).angle > region(exact).angle).all()
    mean = exact.A @ exact.centre
    lowest = (wide.columns(wide.room()) / mean[:, None]).min()
    assert lowest == pytest.approx(-0.05 / 0.95)


@pytest.mark.parametrize("R", [2, 3])
def test_bands_of_shapes_are_reached_and_hold_every_factorization_that_fits(R):
    A, W = (part[..., :R] if part.shape[1] == 3 else part[:R] for part in loose(1))
    feasible = Feasible.of(A, W)
    found = region(feasible)
    lower, upper = shape_bands(feasible, found)
    assert (lower <= feasible.A).all() and (feasible.A <= upper).all()
    for r in range(R):
        columns = np.column_stack([feasible.A[:, r], feasible.columns(found.places[found.may[r]])])
        np.testing.assert_allclose(lower[:, r], columns.min(axis=1), atol=1e-12)
        np.testing.assert_allclose(upper[:, r], columns.max(axis=1), atol=1e-12)
    # Other factorizations (A T, T⁻¹ W) by chance: their columns lie in the bands, up to the grid.
    rng, tried = np.random.default_rng(0), 0
    cell = np.ptp(feasible.room(), axis=0) / (GRID - 1)
    slopes = feasible.A[:, 1:] - feasible.A[:, :1] if R == 2 else feasible.A @ CORNERS / 1.5
    step = (np.abs(slopes) @ cell)[:, None] * (R == 3) + 1e-9  # intervals are exact
    for T in np.eye(R) + rng.normal(scale=0.08, size=(20_000, R, R)):
        other, weights = A @ T, np.linalg.solve(T, W)
        if other.min() < 0 or weights.min() < 0:
            continue
        tried += 1
        shares = other / other.sum(axis=0)
        assert (shares >= lower - step).all() and (shares <= upper + step).all()
    assert tried > 20


def test_what_has_no_region_says_so():
    A, W = loose(1)
    with pytest.raises(SettingsError, match="2 or 3 components; this factorization has 4"):
        Feasible.of(np.ones((5, 4)), np.ones((4, 5)))
    with pytest.raises(SettingsError, match="tolerance is 1"):
        Feasible.of(A, W, 1.0)
    with pytest.raises(DataError, match="span fewer than 3 dimensions"):
        Feasible.of(np.column_stack([A[:, :2], A[:, 0] + A[:, 1]]), W)
    with pytest.raises(SettingsError, match="One of three components is locked"):
        region(Feasible.of(A, W), {0: np.zeros(2), 1: np.ones(2)})
    with pytest.raises(SettingsError, match="One of three components is locked"):
        region(Feasible.of(A[:, :2], W[:2]), {0: np.zeros(1)})
