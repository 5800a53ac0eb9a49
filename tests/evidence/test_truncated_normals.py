"""Products of truncated normals: totals by quadrature, draws by their moments."""

import numpy as np
import pytest
from scipy import integrate, stats

from bnmf_core.samplers.truncated_normals import TruncatedNormals

CASES = [
    (0.5, 0.3, np.inf),
    (-4.0, 0.2, np.inf),
    (-40.0, 1.0, np.inf),
    (30.0, 1.0, np.inf),
    (0.4, 0.2, 1.0),
    (-3.0, 0.3, 1.0),
    (5.0, 0.4, 1.0),
]


@pytest.mark.parametrize(("mean", "sd", "largest"), CASES)
def test_the_density_integrates_to_one(mean, sd, largest):
    found = TruncatedNormals.of(np.array([[mean]]), np.array([[sd**2]]), largest)

    def density(x):
        return float(np.exp(found.log_density(np.array([[[x]]]))[0]))

    # Where most of it lies: beyond, there is less than rounding.
    low = max(0.0, mean - 12 * sd)
    high = min(largest, max(mean, 0.0) + 12 * sd)
    points = [low + (high - low) * part for part in (0.001, 0.01, 0.1, 0.5)]
    total = integrate.quad(density, low, high, points=points, limit=400)[0]
    assert total == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize(("mean", "sd", "largest"), CASES)
def test_draws_are_distributed_as_they_should(mean, sd, largest):
    shape = (1, 2000)
    found = TruncatedNormals.of(np.full(shape, mean), np.full(shape, sd**2), largest)
    drawn = found.draw(5, np.random.default_rng(3)).ravel()
    expected = stats.truncnorm(-mean / sd, (largest - mean) / sd, loc=mean, scale=sd)
    assert drawn.min() >= 0.0
    assert drawn.max() <= largest
    assert stats.kstest(drawn, expected.cdf).pvalue > 1e-4


def test_entries_of_a_factor_are_independent_terms():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(2, 3)), rng.random((2, 3)) + 0.1
    whole = TruncatedNormals.of(mean, variance, np.inf)
    F = rng.random((4, 2, 3))
    parts = sum(
        TruncatedNormals.of(
            mean[i : i + 1, j : j + 1], variance[i : i + 1, j : j + 1], np.inf
        ).log_density(F[:, i : i + 1, j : j + 1])
        for i in range(2)
        for j in range(3)
    )
    np.testing.assert_allclose(whole.log_density(F), parts, rtol=1e-12)
