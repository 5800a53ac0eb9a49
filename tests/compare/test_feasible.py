"""Regions of components: by tangents, and by trying every triangle."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

from bnmf_core import laurberg
from bnmf_core.compare.feasible import CORNERS, Feasible, region, shape_bands
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
    assert (beside.area <= free.area).all() and (beside.area[1:] < free.area[1:]).any()
    possible = {tuple(place) for place in free.places}
    assert {tuple(place) for place in beside.places} < possible


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
    assert (region(wide).area > region(exact).area).all()
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
    cell = np.ptp(feasible.room(), axis=0) / 180
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
