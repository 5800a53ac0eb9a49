"""What is looked at: components have one number each, whatever is in focus."""

from types import SimpleNamespace

import numpy as np

from pages.frame.lens import Lens


def test_components_have_the_numbers_of_mode_1_whatever_comes_first():
    rng = np.random.default_rng(0)
    first, by_size = rng.random((8, 3)), [2, 0, 1]
    A = np.stack([first, first[:, by_size] + 0.01])
    W = np.stack(
        [np.arange(3.0)[:, None] * np.ones((3, 5)), np.array(by_size)[:, None] * np.ones(5)]
    )
    comparison = SimpleNamespace(
        aligned_factors=lambda rows: (A[rows], W[rows]), aligned=lambda rows: A[rows]
    )
    modes = SimpleNamespace(representative=np.array([0, 1]))
    look = SimpleNamespace(analysis=comparison, modes=modes, _aligned={})
    bases, weights = Lens.aligned_factors(look, np.array([1]))
    np.testing.assert_allclose(bases[0], first + 0.01)
    np.testing.assert_array_equal(weights[0], W[0])
    assert not bases.flags.writeable
