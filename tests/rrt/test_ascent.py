"""The bound of equally weighted components: its slopes, and that climbing never lowers it."""

import numpy as np
import pytest

from bnmf_core.likelihoods.reference import reference_factors
from bnmf_core.rrt.ascent import bound, climb, spread
from bnmf_core.rrt.mixture import best_scale, component_of, variance_alone

from .naive import mixture_of, naive_elbo


@pytest.fixture(params=[1, 3])
def start(request, factors):
    """One or three centres that overlap, and their log σ²."""
    M = request.param
    A, W = factors[0][:1] + 0.02 * factors[0][:M], factors[1][:1] + 0.02 * factors[1][:M]
    return A, W, np.log([0.010, 0.020, 0.005])[:M]


def test_the_bound_is_that_of_an_equally_weighted_mixture(problem, start):
    A, W, log_variances = start
    M = len(A)
    centers = np.concatenate([A.reshape(M, -1), W.reshape(M, -1)], axis=1)
    mixture = mixture_of(
        centers,
        np.exp(log_variances),
        np.full(M, 1 / M),
        problem.model.log_joint(problem, A, W),
        problem.model.curvature(problem, A, W)[0],
    )
    value = bound(problem, A, W, log_variances)[0]
    assert value == pytest.approx(mixture.elbo, rel=1e-12)
    assert value == pytest.approx(naive_elbo(mixture), rel=1e-10)


def test_its_slopes_are_differences(problem, start):
    parts = [part.copy() for part in start]
    slopes = bound(problem, *parts)[1:]
    for part, slope in zip(parts, slopes, strict=True):
        for place in np.ndindex(part.shape):
            before, h, ends = part[place], 1e-4, []
            for moved in (before - h, before + h):
                part[place] = moved
                ends.append(bound(problem, *parts)[0])
            part[place] = before
            difference = (ends[1] - ends[0]) / (2 * h)
            assert slope[place] == pytest.approx(difference, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("iterations", [1, 3, 30])
def test_climbing_never_lowers_the_bound(problem, start, iterations):
    kept = [part.copy() for part in start]
    *found, value = climb(problem, *start, iterations)
    assert value >= bound(problem, *start)[0]
    assert value == pytest.approx(bound(problem, *found)[0], rel=1e-12)
    assert min(found[0].min(), found[1].min()) >= 0
    for part, before in zip(start, kept, strict=True):
        np.testing.assert_array_equal(part, before)


def test_a_component_that_has_climbed_has_its_best_variance(problem):
    A, W = best_scale(*reference_factors(problem.dataset, 3, 1))
    alone = component_of(problem, A[0], W[0], rescale=False)
    A, W, log_variances, value = climb(problem, A, W, np.log([alone.best_variance]), 400)
    assert value > alone.bound(alone.best_variance)
    there = component_of(problem, A[0], W[0], rescale=False)
    assert np.exp(log_variances[0]) == pytest.approx(there.best_variance, rel=1e-3)


def test_under_a_flat_likelihood_centres_move_apart_and_stay_possible(flat):
    A, W = best_scale(*reference_factors(flat.dataset, 3, 1))
    rng = np.random.default_rng(0)
    log_variances = np.full(3, np.log(variance_alone(flat, A, W)))
    sigma = np.exp(0.5 * log_variances[0])
    A, W = (
        np.maximum(F + 1e-3 * sigma * rng.standard_normal((3, *F.shape[1:])), 0) for F in (A, W)
    )
    assert np.isfinite(flat.model.log_joint(flat, A, W)).all()
    kept = A.copy(), W.copy()
    moved_A, moved_W, same, value = spread(flat, A, W, log_variances, 20, 0.05)
    assert np.isfinite(flat.model.log_joint(flat, moved_A, moved_W)).all()
    assert value > bound(flat, A, W, log_variances)[0]
    assert value == bound(flat, moved_A, moved_W, same)[0]
    assert np.linalg.norm(moved_A[0] - moved_A[1]) > np.linalg.norm(A[0] - A[1])
    np.testing.assert_array_equal(same, log_variances)
    np.testing.assert_array_equal(A, kept[0])
    np.testing.assert_array_equal(W, kept[1])
