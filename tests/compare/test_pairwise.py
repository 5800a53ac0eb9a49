"""Distances between factorizations: published values, properties, naive references."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import linear_sum_assignment

from bnmf_core.compare.distances import DISTANCES, distances
from bnmf_core.compare.distances.assignment import assign
from bnmf_core.compare.distances.costs import angles
from bnmf_core.compare.distances.pairwise import (
    cross,
    matched_alike,
    pairwise,
    pairwise_of_several,
)
from bnmf_core.core.errors import Cancelled, DataError, NotFoundError
from tests.generated import always

EVERY_DISTANCE = pytest.mark.parametrize("distance", DISTANCES.values(), ids=list(DISTANCES))
generated = always(60)


def random_factorizations(seed, M=6, D=7, R=4, N=5):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(M, D, R)), rng.gamma(0.5, size=(M, R, N))


@st.composite
def whole_number_bases(draw, M=2, largest_R=6):
    """Bases of small whole numbers: equal costs, parallel columns and zero columns abound."""
    D = draw(st.integers(2, 6))
    R = draw(st.integers(1, largest_R))
    return draw(npst.arrays(np.float64, (M, D, R), elements=st.integers(0, 3).map(float)))


def two_solutions():
    """Paper 1, equations 6 and 7: Laurberg's problem with a = 0.5."""
    a = 0.5
    W = np.array([[a, 1, 1, a, 0, 0], [1, a, 0, 0, a, 1], [0, 0, a, 1, 1, a]])
    Q = np.array([[-1, 2, 2], [2, -1, 2], [2, 2, -1]]) / 3
    return np.stack([W.T, W.T @ Q]), np.stack([W, Q @ W])


def infinite_solutions(deltas):
    """Paper 1, equation 9, its sixth row corrected to (0, 0, 0, 0, 0, 1)."""
    A = np.zeros((len(deltas), 7, 6))
    A[:, :6] = np.eye(6)
    for k, delta in enumerate(deltas):
        A[k, 6] = 3 * [1 - delta] + 3 * [delta]
    W = np.vstack([np.kron(np.eye(3), np.ones(3)), np.tile(np.eye(3), 3)])
    return A, np.repeat(W[None], len(deltas), axis=0)


def test_two_solutions_have_the_published_distances():
    A, W = two_solutions()
    np.testing.assert_allclose(A[0] @ W[0], A[1] @ W[1], atol=1e-15)
    assert A.min() >= -1e-15
    found = {key: pairwise(A, W, DISTANCES[key])[0, 1] for key in DISTANCES}
    assert found["max_angle"] == pytest.approx(math.degrees(math.acos(0.8)), abs=1e-12)
    assert found["max_angle"] == pytest.approx(36.8699, abs=1e-4)
    assert found["l1_sum"] == pytest.approx(2.0, abs=1e-14)
    assert found["l1_max"] == pytest.approx(2 / 3, abs=1e-14)


def test_the_ends_of_the_infinite_family_have_the_published_distances():
    A, W = infinite_solutions([0.0, 1.0])
    np.testing.assert_array_equal(A[0] @ W[0], A[1] @ W[1])
    found = {key: pairwise(A, W, DISTANCES[key])[0, 1] for key in DISTANCES}
    assert found["max_angle"] == pytest.approx(45.0, abs=1e-12)
    assert found["l1_sum"] == pytest.approx(6.0, abs=1e-14)
    assert found["l1_max"] == pytest.approx(1.0, abs=1e-14)


@EVERY_DISTANCE
@given(A=whole_number_bases(M=4))
@generated
def test_zero_to_itself_symmetric_and_within_bounds(distance, A):
    W = np.ones((A.shape[0], A.shape[2], 3))
    found = pairwise(A, W, distance)
    np.testing.assert_array_equal(np.diag(found), 0.0)
    np.testing.assert_array_equal(found, found.T)
    assert found.min() >= 0.0
    assert found.max() <= distance.upper(A.shape[2]) * (1 + 1e-12)
    np.testing.assert_array_equal(np.diag(cross(A, W, A, W, distance)), 0.0)


@EVERY_DISTANCE
@given(seed=st.integers(0, 10_000))
@generated
def test_unchanged_by_column_order_and_scale(distance, seed):
    A, W = random_factorizations(seed)
    rng = np.random.default_rng(seed + 1)
    order = np.stack([rng.permutation(A.shape[2]) for _ in A])
    scale = rng.uniform(1e-3, 1e3, size=order.shape)
    if not distance.scale_free:  # a threshold between 0 and 1 goes by the entries as they are
        scale = np.ones(order.shape)
    other_A = np.take_along_axis(A, order[:, None], axis=2) * scale[:, None, :]
    other_W = np.take_along_axis(W, order[:, :, None], axis=1) / scale[:, :, None]
    np.testing.assert_allclose(other_A @ other_W, A @ W, rtol=1e-12, atol=1e-13)
    found, other = pairwise(A, W, distance), pairwise(other_A, other_W, distance)
    np.testing.assert_allclose(other, found, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.diag(cross(A, W, other_A, other_W, distance)), 0, atol=1e-9)


@pytest.mark.parametrize("key", ["max_angle", "l1_sum", "l1_max", "frobenius_A"])
@given(A=whole_number_bases(), seed=st.integers(0, 10_000))
@generated
def test_equal_totals_do_not_make_the_value_depend_on_column_order(key, A, seed):
    W = np.ones((2, A.shape[2], 2))
    rng = np.random.default_rng(seed)
    shuffled = np.stack([basis[:, rng.permutation(A.shape[2])] for basis in A])
    found = pairwise(A, W, DISTANCES[key])[0, 1]
    assert pairwise(shuffled, W, DISTANCES[key])[0, 1] == pytest.approx(found, abs=1e-9)


@EVERY_DISTANCE
@given(A=whole_number_bases())
@generated
def test_the_matching_equals_brute_force(distance, A):
    R = A.shape[2]
    W = np.random.default_rng(0).uniform(0.5, 1.5, (2, R, 4))
    left, right = distance.compared(A[:1], W[:1]), distance.compared(A[1:], W[1:])
    costs = distance.cost(left, right)[0, 0]
    # Columns of A sum to 1, then the row sums of W to 1 (paper 2, section 2).
    shares = W.sum(axis=2) * A.sum(axis=1)
    total = shares.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / R)
    every = [list(p) for p in itertools.permutations(range(R))]
    sums = np.array([costs[range(R), p].sum() for p in every])
    values = [
        distance.combine(costs[None, None, range(R), p], shares[:1, None], shares[1:, None, p])
        for p in every
    ]
    best = np.ravel(values)[sums <= sums.min() + 1e-7 * max(costs.max(), 1e-300)]
    found = pairwise(A, W, distance)[0, 1]
    assert np.abs(best - found).min() <= 1e-9 * max(1.0, found)


@given(R=st.integers(1, 12), seed=st.integers(0, 10_000), whole=st.booleans())
@generated
def test_the_compiled_assignment_equals_scipy(R, seed, whole):
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 4, (5, R, R)).astype(float) if whole else rng.random((5, R, R))
    for matrix, permutation in zip(costs, assign(costs), strict=True):
        assert sorted(permutation) == list(range(R))
        best = matrix[linear_sum_assignment(matrix)].sum()
        assert matrix[range(R), permutation].sum() == pytest.approx(best, abs=1e-7)


def test_of_equal_totals_the_even_matching_is_taken():
    # Directions in one plane at 0° and 30° against 30° and 60°: 30 + 30 = 0 + 60.
    turn = np.radians([[0.0, 30.0], [60.0, 30.0]])
    A = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    found = pairwise(A, np.ones((2, 2, 2)), DISTANCES["max_angle"])
    assert found[0, 1] == pytest.approx(30.0, abs=1e-12)


@pytest.mark.parametrize("key", [key for key in DISTANCES if DISTANCES[key].is_metric])
@given(A=whole_number_bases(M=5))
@generated
def test_metrics_obey_the_triangle_inequality(key, A):
    W = np.random.default_rng(1).random((5, A.shape[2], 3))
    found = pairwise(A, W, DISTANCES[key])
    detour = (found[:, :, None] + found[None]).min(axis=1)
    assert (found <= detour + 1e-9).all()


@pytest.mark.parametrize("key", ["max_angle", "wad"])
def test_the_angle_distances_are_not_metrics(key):
    # Slip 11: some of these triples break the triangle inequality clearly.
    A, W = random_factorizations(3, M=60, D=3, R=3)
    found = pairwise(A, W, DISTANCES[key])
    assert (found > (found[:, :, None] + found[None]).min(axis=1) + 0.1).any()


@given(seed=st.integers(0, 10_000))
@generated
def test_weighted_angle_is_at_most_the_largest(seed):
    A, W = random_factorizations(seed)
    wad = pairwise(A, W, DISTANCES["wad"])
    largest = pairwise(A, W, DISTANCES["max_angle"])
    assert (wad <= largest + 1e-12).all()


def test_weighted_angle_by_hand():
    # One component turns by 45° and makes 1/4 of the first and 3/4 of the second.
    A = np.zeros((2, 3, 2))
    A[0, :, 0], A[0, :, 1] = [1, 0, 0], [0, 0, 2]
    A[1, :, 0], A[1, :, 1] = [0, 0, 5], [3, 3, 0]
    W = np.zeros((2, 2, 2))
    W[0] = [[1, 0], [1, 0.5]]  # rows of sums 1 and 1.5, times column sums 1 and 2
    W[1] = [[0.1, 0.1], [0.25, 0.25]]  # sums 0.2 and 0.5, times 5 and 6
    found = pairwise(A, W, DISTANCES["wad"])[0, 1]
    assert found == pytest.approx(45.0 * (1 / 4 + 3 / 4) / 2, abs=1e-12)


def test_a_zero_column_counts_ninety_degrees_and_nothing_against_another():
    A = np.array([[[1.0, 0], [0, 0]], [[1.0, 0], [0, 1]], [[2.0, 0], [0, 0]]])
    W = np.ones((3, 2, 2))
    found = pairwise(A, W, DISTANCES["max_angle"])
    assert found[0, 1] == 90.0
    assert found[0, 2] == 0.0


@pytest.mark.parametrize("turn", [1e-12, 1e-9, 1e-6, 1e-3, 0.02, 0.1, 1.0, math.pi / 2])
def test_angles_are_accurate_however_small(turn):
    left = np.array([[[1.0, 0.0]]])
    right = np.array([[[math.cos(turn), math.sin(turn)]]])
    assert angles(left, right).item() == pytest.approx(math.degrees(turn), rel=1e-12)


def test_tiny_and_huge_columns_keep_their_direction():
    A, W = random_factorizations(5, M=3)
    found = pairwise(A, W, DISTANCES["max_angle"])
    np.testing.assert_allclose(pairwise(A * 1e-200, W, DISTANCES["max_angle"]), found, rtol=1e-9)
    np.testing.assert_allclose(pairwise(A * 1e200, W, DISTANCES["max_angle"]), found, rtol=1e-9)


@EVERY_DISTANCE
def test_tiles_do_not_change_the_distances(distance, monkeypatch):
    A, W = random_factorizations(7, M=11)
    whole, between = pairwise(A, W, distance), cross(A[:4], W[:4], A[4:], W[4:], distance)
    monkeypatch.setattr("bnmf_core.compare.distances.pairwise.COSTS_PER_TILE", 3**2 * 4**2)
    fractions = []
    np.testing.assert_allclose(pairwise(A, W, distance, fractions.append), whole, atol=1e-12)
    assert len(fractions) > 4
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    np.testing.assert_allclose(cross(A[:4], W[:4], A[4:], W[4:], distance), between, atol=1e-12)
    np.testing.assert_allclose(between, whole[:4, 4:], atol=1e-12)


@EVERY_DISTANCE
def test_single_precision_memory_maps_are_read_and_not_written(distance, tmp_path):
    A, W = (array.astype(np.float32) for array in random_factorizations(9))
    for name, array in (("A", A), ("W", W)):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "AW"]
    found = pairwise(*mapped, distance)
    np.testing.assert_array_equal(found, pairwise(A.astype(float), W.astype(float), distance))
    np.testing.assert_array_equal(mapped[0], A)


def test_two_threads_get_what_one_gets():
    A, W = random_factorizations(11, M=40)
    expected = pairwise(A, W, DISTANCES["wad"])
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(pairwise, A, W, DISTANCES["wad"]) for _ in range(4)]
        for job in jobs:
            np.testing.assert_array_equal(job.result(), expected)


def test_cancelling_stops_before_the_end():
    A, W = random_factorizations(13)
    with pytest.raises(Cancelled, match="cancelled"):
        pairwise(A, W, DISTANCES["max_angle"], cancel=lambda: True)


def test_particles_go_in_and_an_unknown_metric_lists_the_known_ones():
    A, W = random_factorizations(15)
    particles = SimpleNamespace(A=A, W=W)
    np.testing.assert_array_equal(
        distances(particles, "l1_sum"), pairwise(A, W, DISTANCES["l1_sum"])
    )
    with pytest.raises(NotFoundError, match="max_angle, wad, l1_sum, l1_max"):
        distances(particles, "cosine")


def test_registry_keys_are_the_distances_own():
    assert all(key == distance.key for key, distance in DISTANCES.items())


def test_what_cannot_be_compared_is_said():
    A, W = random_factorizations(17)
    with pytest.raises(DataError, match="A \\(M, D, R\\)"):
        pairwise(A, W[:, :-1], DISTANCES["wad"])
    with pytest.raises(DataError, match="same rank"):
        cross(A, W, A[:, :, :2], W[:, :2], DISTANCES["wad"])
    A[0, 0, 0] = np.nan
    with pytest.raises(DataError, match="finite"):
        pairwise(A, W, DISTANCES["max_angle"])


def test_distances_that_are_matched_alike_share_their_matching_and_stay_what_they_are():
    A, W = random_factorizations(5, M=30)
    groups = matched_alike(DISTANCES)
    assert ["max_angle", "wad"] in map(list, groups)
    assert sum(map(len, groups)) == len(DISTANCES)
    for group in groups:
        together = pairwise_of_several(A, W, list(group.values()))
        for (key, distance), found in zip(group.items(), together, strict=True):
            np.testing.assert_array_equal(found, pairwise(A, W, distance), key)
