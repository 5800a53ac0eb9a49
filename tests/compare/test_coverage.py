"""Covering numbers against definitions, bounds and a naive greedy cover."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import pdist, squareform

from bnmf_core.compare.coverage import (
    covering_balls,
    covering_numbers,
    largest_distance,
    mean_distance,
    persistence,
)
from bnmf_core.core.errors import DataError, SettingsError
from tests.generated import always

generated = always(40)


@st.composite
def point_distances(draw, most=14):
    """Distances between points of a small grid, so that duplicates and ties occur."""
    M = draw(st.integers(1, most))
    seed = draw(st.integers(0, 10_000))
    points = np.random.default_rng(seed).integers(0, 5, size=(M, 2)).astype(float)
    return np.zeros((1, 1)) if M == 1 else squareform(pdist(points))


def naive_greedy(distances, epsilon):
    uncovered, centres = set(range(len(distances))), 0
    while uncovered:
        gains = [sum(row[j] <= epsilon for j in uncovered) for row in distances]
        centre = gains.index(max(gains))
        uncovered -= {j for j in uncovered if distances[centre, j] <= epsilon}
        centres += 1
    return centres


def smallest_cover(distances, epsilon):
    M = len(distances)
    for size in range(1, M + 1):
        for centres in itertools.combinations(range(M), size):
            if (distances[list(centres)] <= epsilon).any(axis=0).all():
                return size


@pytest.mark.parametrize("method", ["greedy", "published", "exact"])
@given(distances=point_distances())
@generated
def test_ends_of_the_curve(method, distances):
    distinct = len(np.unique(distances, axis=0))
    epsilons, covering = persistence(distances, count=5, method=method)
    assert covering[0] == distinct
    assert covering[-1] == 1
    assert epsilons[0] == 0 and epsilons[-1] == distances.max()


@given(distances=point_distances(most=9))
@generated
def test_exact_equals_enumeration_and_never_rises(distances):
    epsilons = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.5])
    exact = covering_numbers(distances, epsilons, "exact")
    assert exact.tolist() == [smallest_cover(distances, epsilon) for epsilon in epsilons]
    assert (np.diff(exact) <= 0).all()


@given(distances=point_distances(most=30))
@generated
def test_greedy_equals_the_naive_greedy(distances):
    epsilons = np.array([2.0, 0.0, 1.0, 3.5])
    expected = [naive_greedy(distances, epsilon) for epsilon in epsilons]
    assert covering_numbers(distances, epsilons, "published").tolist() == expected


@given(distances=point_distances(most=30), seed=st.integers(0, 1000))
@generated
def test_the_curve_cannot_rise_and_lies_between_exact_and_published(distances, seed):
    epsilons = np.random.default_rng(seed).permutation(np.linspace(0, 5, 21))
    exact, ours, published = (
        covering_numbers(distances, epsilons, method) for method in ("exact", "greedy", "published")
    )
    assert (exact <= ours).all() and (ours <= published).all()
    assert (published <= (1 + np.log(len(distances))) * exact).all()
    assert (np.diff(ours[np.argsort(epsilons)]) <= 0).all()
    # Of all curves that do so and stay below the published one, the highest.
    for epsilon, number in zip(epsilons, ours, strict=True):
        assert number == published[epsilons <= epsilon].min()


def test_a_published_curve_that_rises_does_not():
    """A larger ball may tempt the greedy choice to a worse cover."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        points = rng.integers(0, 40, 24).astype(float)
        line = np.abs(np.subtract.outer(points, points))
        radii = np.arange(20.0)
        if (np.diff(covering_numbers(line, radii, "published")) > 0).any():
            break
    else:
        pytest.fail("No line of 24 points makes the published curve rise.")
    assert (np.diff(covering_numbers(line, radii)) <= 0).all()


@given(distances=point_distances(most=30), seed=st.integers(0, 1000))
@generated
def test_exact_is_unchanged_by_order_and_bounds_greedy(distances, seed):
    epsilons = np.array([0.5, 1.0, 2.0, 3.0])
    exact = covering_numbers(distances, epsilons, "exact")
    order = np.random.default_rng(seed).permutation(len(distances))
    shuffled = distances[np.ix_(order, order)]
    np.testing.assert_array_equal(covering_numbers(shuffled, epsilons, "exact"), exact)
    greedy = covering_numbers(distances, epsilons)
    assert (exact <= greedy).all()
    assert (greedy <= (1 + np.log(len(distances))) * exact).all()


@pytest.mark.parametrize("seed", [16, 20, 25, 39])
def test_exact_is_as_small_as_the_linear_relaxation_proves_possible(seed):
    """Fractions of balls give a lower bound; a solver that stops short of it is not exact."""
    distances = squareform(pdist(np.random.default_rng(seed).random((80, 2))))
    epsilon = float(np.quantile(distances, 0.1))
    near = (distances <= epsilon).astype(float)
    relaxed = linprog(np.ones(80), A_ub=-near, b_ub=-np.ones(80), bounds=(0, 1)).fun
    (exact,) = covering_numbers(distances, [epsilon], "exact")
    assert exact == np.ceil(relaxed - 1e-6)


def test_two_far_groups_persist_at_two():
    points = np.array([0.0, 0.1, 0.2, 10.0, 10.1])[:, None]
    distances = squareform(pdist(points))
    covering = covering_numbers(distances, [0.05, 0.1, 5.0, 9.9, 10.1])
    assert covering.tolist() == [5, 2, 2, 1, 1]


def test_diameter_and_mean_over_ordered_pairs():
    # Slip 5: the zero diagonal counts, so two points at distance 3 have mean 1.5.
    distances = np.array([[0.0, 3.0], [3.0, 0.0]])
    assert largest_distance(distances) == 3.0
    assert mean_distance(distances) == 1.5


def test_identical_points_are_one_ball_everywhere():
    epsilons, covering = persistence(np.zeros((4, 4)), count=3)
    assert epsilons.tolist() == [0, 0, 0] and covering.tolist() == [1, 1, 1]


def test_a_given_upper_radius_is_the_last():
    epsilons, covering = persistence(np.array([[0.0, 3.0], [3.0, 0.0]]), count=4, upper=6.0)
    assert epsilons.tolist() == [0, 2, 4, 6] and covering.tolist() == [2, 2, 1, 1]


def test_what_cannot_be_covered_is_said():
    line = np.abs(np.subtract.outer(np.arange(201.0), np.arange(201.0)))
    with pytest.raises(SettingsError, match="200"):
        covering_numbers(line, [1.0], "exact")
    with pytest.raises(SettingsError, match="greedy, published, exact"):
        covering_numbers(line, [1.0], "fast")
    with pytest.raises(SettingsError, match="≥ 0"):
        covering_numbers(line, [-1.0])
    with pytest.raises(DataError, match="symmetric"):
        covering_numbers(np.array([[0.0, 1.0], [2.0, 0.0]]), [1.0])
    with pytest.raises(DataError, match="finite"):
        covering_numbers(np.array([[0.0, np.nan], [np.nan, 0.0]]), [1.0])
    with pytest.raises(DataError, match="M×M"):
        mean_distance(np.zeros((2, 3)))


@given(distances=point_distances(10))
@generated
def test_the_fewest_balls_hold_every_sample_and_are_as_few_as_can_be(distances):
    for epsilon in (0.0, 1.0, 2.5):
        centres = covering_balls(distances, epsilon)
        assert (distances[centres] <= epsilon).any(axis=0).all()
        assert len(centres) == smallest_cover(distances, epsilon)


def test_too_many_samples_or_a_radius_below_zero_are_refused():
    for distances, epsilon in ((np.zeros((201, 201)), 1.0), (np.zeros((2, 2)), -1.0)):
        with pytest.raises(SettingsError, match="fewest balls"):
            covering_balls(distances, epsilon)
