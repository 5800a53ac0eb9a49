"""Bands of entries: they hold the value, and at their ends the error is the allowed one."""

from itertools import pairwise

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, displace, laurberg, run
from bnmf_core.compare.bands import BY_BOUND, BY_ERROR
from bnmf_core.compare.displacement import SMALLEST_ERROR, allowed_error, polished
from bnmf_core.compare.feasible import Feasible
from bnmf_core.core.errors import Cancelled, SettingsError
from bnmf_core.core.problem import Problem
from tests.solvers.test_held import planted, tied_by_quasi_newton


def exact(kind, truth=0, a=None):
    data = laurberg(kind, a=a)
    return Problem.without_model(data, 3), data.truth[truth].A, data.truth[truth].W


@pytest.fixture(scope="module")
def noisy():
    data = Dataset.from_array(planted(5))
    particles = run(data, RunSpec("random_restarts", rank=3, particles=1))
    problem = Problem.without_model(data, 3)
    return problem, *polished(problem, particles.A[0], particles.W[0])


def test_a_band_holds_the_value_and_ends_where_the_error_is_the_allowed_one(noisy):
    problem, A, W, error = noisy
    allowed = allowed_error(error, 0.03)
    found = displace(problem, A, W, 0, np.arange(9), allowed)
    value = A[:, 0] / A[:, 0].sum()
    assert found.value == pytest.approx(value)
    assert (found.lower <= value).all() and (value <= found.upper).all()
    assert (found.error <= allowed * (1 + 1e-12)).all()
    by_error = found.ended == BY_ERROR
    assert by_error.any() and (found.error[by_error] > error + 0.9 * (allowed - error)).all()
    assert (found.lower[found.ended[:, 0] == BY_BOUND] == 0.0).all()
    assert np.array_equal(found.could_be_zero, found.lower == 0.0)


def test_the_error_at_an_end_is_that_of_another_way_to_solve_for_the_rest(noisy):
    problem, A, W, error = noisy
    found = displace(problem, A, W, 1, np.arange(9), allowed_error(error, 0.02))
    checked = 0
    for k, d in enumerate(found.entries):
        for side, end in enumerate((found.lower[k], found.upper[k])):
            best = tied_by_quasi_newton(problem.dataset, A, W, 1, int(d), end)
            again = np.sqrt(best / problem.dataset.squared_norm)
            # From the undisplaced start, so that it may be left at a higher minimum.
            assert found.error[k, side] <= again * (1 + 1e-4)
            checked += again == pytest.approx(found.error[k, side], rel=1e-4)
    assert checked >= 14


def test_a_larger_rise_never_makes_a_band_smaller(noisy):
    problem, A, W, error = noisy
    bands = [
        displace(problem, A, W, 0, np.arange(9), allowed_error(error, rise))
        for rise in (0.001, 0.01, 0.05)
    ]
    for small, large in pairwise(bands):
        assert (large.lower <= small.lower + 1e-9).all()
        assert (large.upper >= small.upper - 1e-9).all()
    assert (bands[2].upper - bands[2].lower > bands[0].upper - bands[0].lower).all()


def test_the_bands_of_a_unique_factorization_shrink_to_nothing_with_the_rise():
    problem, A, W = exact("unique")
    widths = []
    for allowed in (1e-2, 1e-3, 1e-4):
        found = displace(problem, A, W, 0, np.arange(6), allowed)
        widths.append((found.upper - found.lower).max())
    assert widths[0] < 0.05 and widths[1] < 0.2 * widths[0] and widths[2] < 0.2 * widths[1]


def test_on_a_continuum_bands_stay_wide():
    data = laurberg("two", a=0.55)
    particles = run(data, RunSpec("random_restarts", rank=3, particles=12))
    problem = Problem.without_model(data, 3)
    # Its two corners are alone; one between them is on the continuum.
    apart = [
        min(
            np.abs(shares(A) - shares(truth.A)[:, order]).max()
            for truth in data.truth
            for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
        )
        for A in particles.A
    ]
    k = int(np.argmax(apart))
    A, W, _ = polished(problem, particles.A[k], particles.W[k])
    found = displace(problem, A, W, 0, np.arange(6), 1e-4)
    corner = displace(problem, data.truth[0].A, data.truth[0].W, 0, np.arange(6), 1e-4)
    assert (found.upper - found.lower).max() > 0.02 > (corner.upper - corner.lower).max()


def shares(A):
    return A / A.sum(axis=0)


def test_another_exact_solution_across_a_ridge_is_not_in_the_band():
    """Of two exact solutions 37° apart each has bands of its own, though both fit exactly."""
    problem, A, W = exact("two")
    found = displace(problem, A, W, 0, np.arange(6), 1e-3)
    assert (found.upper - found.lower).max() < 0.01


def test_scale_and_order_of_components_change_nothing(noisy):
    problem, A, W, error = noisy
    allowed = allowed_error(error, 0.01)
    scale = np.array([3.0, 0.2, 1.0])
    order = [2, 0, 1]
    one = displace(problem, A, W, 0, np.arange(4), allowed)
    other = displace(
        problem, (A * scale)[:, order], (W / scale[:, None])[order], 1, np.arange(4), allowed
    )
    assert other.value == pytest.approx(one.value)
    assert other.lower == pytest.approx(one.lower, abs=2e-3)
    assert other.upper == pytest.approx(one.upper, abs=2e-3)


def test_the_rise_is_counted_from_a_thousandth_where_the_fit_is_exact():
    assert allowed_error(0.2, 0.01) == pytest.approx(0.202)
    assert allowed_error(0.0, 0.01) == pytest.approx(0.01 * SMALLEST_ERROR)


@pytest.mark.parametrize("seed", range(1, 5))
def test_bands_of_an_exact_product_are_nearly_its_rotations(seed):
    rng = np.random.default_rng(seed)
    A, W = rng.gamma(1.0, size=(6, 2)) + 0.2, rng.gamma(1.0, size=(2, 9)) + 0.2
    problem = Problem.without_model(Dataset.from_array(A @ W), 2)
    found = displace(problem, A, W, 0, np.arange(6), 1e-5)
    value, other = (A / A.sum(axis=0)).T
    first, _ = Feasible.of(A, W).intervals
    ends = np.sort(value + first[:, None] * (other - value), axis=0)
    part = (np.stack([found.lower, found.upper]) - value) / (ends - value)
    assert part.max() < 1.02 and np.median(part) > 0.96 and part.mean() > 0.88


def test_what_cannot_be_moved_is_told():
    problem, A, W = exact("unique")
    with pytest.raises(SettingsError, match="not above"):
        displace(problem, A, 0.5 * W, 0, np.arange(2), 0.1)
    with pytest.raises(SettingsError, match="Component 2 is empty"):
        displace(problem, A * [1, 0, 1], W, 1, np.arange(2), 2.0)
    with pytest.raises(Cancelled):
        displace(problem, A, W, 0, np.arange(2), 0.1, cancel=lambda: True)
