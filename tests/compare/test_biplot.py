"""The plane of shares: exact for three components, a line for two, the best one for more."""

import numpy as np
import pytest

from bnmf_core.compare.biplot import biplot
from bnmf_core.core.errors import DataError


def factors(R, D=9, N=25, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, 1.0, (D, R)), rng.gamma(0.5, 1.0, (R, N))


def naive_shares(A, W):
    """(N, R) of samples, (D, R) of features, entry by entry."""
    D, R, N = *A.shape, W.shape[1]
    of_samples, of_features = np.zeros((N, R)), np.zeros((D, R))
    for d in range(D):
        for n in range(N):
            for r in range(R):
                of_samples[n, r] += A[d, r] * W[r, n]
                of_features[d, r] += A[d, r] * W[r, n]
    return (each / each.sum(axis=1, keepdims=True) for each in (of_samples, of_features))


@pytest.mark.parametrize("R", [2, 3])
def test_up_to_three_components_every_distance_between_shares_is_kept(R):
    A, W = factors(R)
    found = biplot(A, W)
    of_samples, of_features = naive_shares(A, W)
    shares = np.vstack([np.eye(R), of_samples, of_features])
    places = np.vstack([found.corners, found.samples, found.features])
    for i in range(0, len(shares), 3):
        for j in range(len(shares)):
            expected = np.linalg.norm(shares[i] - shares[j])
            assert np.linalg.norm(places[i] - places[j]) == pytest.approx(expected, abs=1e-12)
    assert found.shown == pytest.approx(1) and found.shown_of_features == pytest.approx(1)
    if R == 2:
        np.testing.assert_array_equal(places[:, 1], 0)


@pytest.mark.parametrize("R", [4, 7])
def test_samples_and_features_are_the_same_mixtures_of_corners_in_the_best_plane(R):
    A, W = factors(R)
    found = biplot(A, W)
    of_samples, of_features = naive_shares(A, W)
    np.testing.assert_allclose(found.samples, of_samples @ found.corners, atol=1e-12)
    np.testing.assert_allclose(found.features, of_features @ found.corners, atol=1e-12)
    variances = np.linalg.svd(of_samples - of_samples.mean(axis=0), compute_uv=False) ** 2
    assert found.shown == pytest.approx(variances[:2].sum() / variances.sum())
    away = of_features - of_samples.mean(axis=0)
    seen = (found.features**2).sum() / (away**2).sum()
    assert found.shown_of_features == pytest.approx(seen) and 0 < found.shown < 1


def test_the_scale_of_components_moves_nothing():
    A, W = factors(4)
    scale = np.array([0.1, 2.0, 30.0, 1.0])
    first, other = biplot(A, W), biplot(A * scale, W / scale[:, None])
    np.testing.assert_allclose(first.samples, other.samples, atol=1e-12)
    np.testing.assert_allclose(first.features, other.features, atol=1e-12)
    assert (first.strongest == other.strongest).all()


def test_the_strongest_features_of_a_component_are_large_and_its_own():
    A = np.array([[9.0, 0.0], [9.0, 9.0], [0.1, 0.0], [0.0, 9.0]])
    found = biplot(A, np.ones((2, 3)), most=2)
    assert found.strongest.tolist() == [[0, 1], [3, 1]]


def test_what_holds_nothing_has_no_place_and_what_does_not_vary_is_shown():
    A, W = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]), np.ones((3, 5))
    W[:, 4] = 0.0
    found = biplot(A, W)
    assert np.isnan(found.samples[4]).all() and np.isnan(found.features[3]).all()
    assert np.isfinite(found.samples[:4]).all() and found.shown == 1.0
    # Samples of one kind, or on one line: corners of three components still span a triangle.
    W[0] = [1.0, 2.0, 3.0, 4.0, 0.0]
    for some in (W, np.ones((3, 5))):
        corners = biplot(A, some).corners
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert np.linalg.norm(corners[i] - corners[j]) == pytest.approx(np.sqrt(2))


def test_one_component_has_no_plane():
    with pytest.raises(DataError, match="needs two components"):
        biplot(np.ones((4, 1)), np.ones((1, 3)))
