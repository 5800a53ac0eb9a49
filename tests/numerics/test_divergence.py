"""Logarithms of many numbers at once."""

import numpy as np

from bnmf_core.numerics.divergence import logarithms


def test_they_are_those_of_numpy_to_rounding():
    """Of all sizes, and of numbers so near 1 that the logarithm is far smaller."""
    rng = np.random.default_rng(0)
    numbers = np.concatenate(
        [
            np.exp(rng.uniform(-700, 700, 20_000)),
            1.0 + rng.normal(0.0, 1e-9, 1000),
            [1.0, 2.0, 0.5, np.sqrt(0.5), np.finfo(float).max, np.finfo(float).tiny],
        ]
    )
    found = numbers.copy()
    logarithms(found, np.empty_like(found))
    np.testing.assert_allclose(found, np.log(numbers), rtol=1e-15, atol=0)
