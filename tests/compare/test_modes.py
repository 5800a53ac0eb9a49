"""Modes: planted groups are found, and every promise about a mode holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.modes import find_modes, linkage, suggest_threshold
from bnmf_core.core.errors import DataError, SettingsError
from tests.generated import always

generated = always(50)


def points_at(*groups, seed=0, width=0.5):
    """Distances of points around given places, ``groups`` pairs of (place, count)."""
    rng = np.random.default_rng(seed)
    points = np.concatenate([place + width * rng.random((count, 2)) for place, count in groups])
    return squareform(pdist(points))


def test_two_far_groups_are_found_largest_first():
    distances = points_at((0.0, 4), (20.0, 9))
    modes = find_modes(distances, suggest_threshold(distances))
    assert modes.labels.tolist() == [1] * 4 + [0] * 9
    assert modes.size.tolist() == [9, 4]
    np.testing.assert_allclose(modes.share, [9 / 13, 4 / 13])
    assert modes.separation[0, 1] == distances[tuple(modes.representative)]
    assert modes.separation[0, 1] > 20
    assert modes.spread_max.max() < 1
    assert modes.members(1).tolist() == [0, 1, 2, 3]


@given(
    seed=st.integers(0, 10_000),
    M=st.integers(1, 25),
    threshold=st.floats(0, 8),
)
@generated
def test_promises(seed, M, threshold):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (M, 2)).astype(float)
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    weights = rng.random(M) * (rng.random(M) < 0.8)
    weights[0] += 0.1
    modes = find_modes(distances, threshold, weights)
    assert modes.share.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(modes.share) <= 1e-12).all()
    assert modes.size.sum() == M and modes.size.min() >= 1
    for k in range(modes.count):
        members = modes.members(k)
        inside = distances[np.ix_(members, members)]
        assert inside.max() <= threshold
        mass = weights[members] if weights[members].sum() > 0 else np.ones(len(members))
        average = inside @ mass / mass.sum()
        chosen = members.tolist().index(modes.representative[k])
        assert average[chosen] == pytest.approx(average.min(), abs=1e-12)
        assert modes.spread_mean[k] == pytest.approx(average.min(), abs=1e-12)
        assert modes.spread_max[k] == inside[chosen].max()
    given_tree = find_modes(distances, threshold, weights, linkage(distances))
    np.testing.assert_array_equal(given_tree.labels, modes.labels)


def test_ends_of_the_threshold():
    distances = points_at((0.0, 6), seed=3)
    assert find_modes(distances, 0.0).count == 6
    assert find_modes(distances, distances.max()).count == 1


def test_weights_decide_share_order_and_representative():
    distances = np.abs(np.subtract.outer([0.0, 1, 2, 10, 11], [0.0, 1, 2, 10, 11]))
    modes = find_modes(distances, 3.0, weights=[0, 0, 1, 3, 0])
    assert modes.labels.tolist() == [1, 1, 1, 0, 0]
    np.testing.assert_allclose(modes.share, [0.75, 0.25])
    assert modes.representative.tolist() == [3, 2]


def test_draws_count_to_a_mode_and_do_not_number_it():
    places = np.array([0.0, 0.1, 0.2, 9.0, 9.1, 8.0, 8.0, 8.0, 8.0])
    apart = np.abs(places[:, None] - places)
    optima = np.arange(9) < 5
    modes = find_modes(apart, 1.0, optima=optima)
    assert modes.labels.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert modes.size.tolist() == [3, 6]
    assert modes.representative[1] in (3, 4)


def test_table():
    modes = find_modes(points_at((0.0, 4), (20.0, 9)), 5.0)
    table = modes.table()
    assert table["mode"].tolist() == [0, 1]
    assert table["nearest"].tolist() == [modes.separation[0, 1]] * 2
    assert find_modes(np.zeros((2, 2)), 0.0).table()["nearest"].isna().all()


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_suggestion_separates_far_groups(count):
    distances = points_at(*[(10.0 * k, 8) for k in range(count)], seed=count, width=2.0)
    assert find_modes(distances, suggest_threshold(distances)).count == count


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(2, 9), min_size=2, max_size=5),
    resolution=st.floats(0.5, 4000),
)
@generated
def test_groups_that_a_gap_separates_are_never_merged(seed, sizes, resolution):
    """Whatever the resolution, as long as it does not call the gap itself rounding."""
    distances = points_at(*[(10.0 * k, n) for k, n in enumerate(sizes)], seed=seed, width=1.0)
    threshold = suggest_threshold(distances, resolution)
    if 1.5 <= resolution <= 120:  # groups are up to 1.5 wide, the gap ends at about 12
        group = np.repeat(np.arange(len(sizes)), sizes)
        labels = find_modes(distances, threshold).labels
        assert len(set(zip(labels, group, strict=True))) == labels.max() + 1
    assert threshold <= resolution
    # One factorization far from all, and one inside the gap, change nothing.
    points = np.concatenate([[10.0 * k + np.zeros(2)] * n for k, n in enumerate(sizes)])
    points = np.concatenate([points, [[5.0, 5.0]], [[900.0, -900.0]]])
    lonely = squareform(pdist(points))
    assert suggest_threshold(lonely[:-2, :-2], resolution) == suggest_threshold(lonely, resolution)


def test_without_a_gap_the_resolution_is_suggested():
    line = np.abs(np.subtract.outer(np.linspace(0, 40, 81), np.linspace(0, 40, 81)))
    assert suggest_threshold(line, 15.0) == 15.0
    assert suggest_threshold(line[:9, :9], 15.0) == 15.0  # all of them are one mode
    assert suggest_threshold(line, 15.0, least=18.0) == 18.0
    # Groups of width .01 at distance 1 are closer than a tenth of the resolution.
    near = points_at((0.0, 5), (1.0, 5), width=0.01)
    assert suggest_threshold(near, 15.0) == 15.0
    assert find_modes(near, suggest_threshold(near, 5.0)).count == 2


@pytest.mark.parametrize(
    ("sizes", "width"), [((30, 20, 10), 0.3), ((40, 3, 3, 2), 0.5), ((60,), 25.0), ((36, 24), 6.0)]
)
def test_the_suggestion_holds_still_over_halves(sizes, width):
    """Clusters, rare ones, a continuum and a blurred one, 30 apart; not more than 20 %."""
    groups = [(30.0 * k, n) for k, n in enumerate(sizes)]
    distances = points_at(*groups, seed=5, width=width)
    rng = np.random.default_rng(6)
    all_of_them = suggest_threshold(distances, 15.0)
    for _ in range(50):
        half = rng.permutation(len(distances))[: len(distances) // 2]
        threshold = suggest_threshold(distances[np.ix_(half, half)], 15.0)
        assert abs(threshold - all_of_them) <= 0.2 * all_of_them


def test_every_bounded_distance_has_a_resolution():
    for R in (1, 3, 16):
        for distance in DISTANCES.values():
            resolution, upper = distance.resolution(R), distance.upper(R)
            assert resolution is None if np.isinf(upper) else 0 < resolution < upper
    assert DISTANCES["max_angle"].resolution(10) == 15


def test_equally_far_groups_are_all_separated():
    rng = np.random.default_rng(0)
    places = 10 * np.eye(4)
    points = np.concatenate([place + 0.3 * rng.random((6, 4)) for place in places])
    distances = squareform(pdist(points))
    assert find_modes(distances, suggest_threshold(distances)).count == 4


def test_without_a_unit_half_the_extent_is_suggested():
    line = np.linspace(0, 1, 65)
    distances = np.abs(np.subtract.outer(line, line)) + 5 * (1 - np.eye(65))
    assert suggest_threshold(distances) == distances[1:, 1:].max() / 2


@pytest.mark.parametrize("M", [1, 2, 4, 5])
def test_identical_factorizations_make_one_mode(M):
    distances = 1e-9 * (1 - np.eye(M))
    threshold = suggest_threshold(distances)
    assert threshold > 0
    assert find_modes(distances, threshold).count == 1


def test_what_cannot_be_grouped_is_said():
    distances = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(SettingsError, match="≥ 0"):
        find_modes(distances, -1.0)
    with pytest.raises(DataError, match="weights"):
        find_modes(distances, 1.0, weights=[1.0])
    with pytest.raises(DataError, match="weights"):
        find_modes(distances, 1.0, weights=[0.0, 0.0])
    with pytest.raises(DataError, match="1×4"):
        find_modes(distances, 1.0, linkage=np.zeros((3, 4)))
