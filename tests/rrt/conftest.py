"""Problems on which bounds are tried."""

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import gaussian, uniform


@pytest.fixture(params=["seen", "masked"])
def problem(request, small) -> Problem:
    """12×15 under Gaussian noise, with and without gaps."""
    mask = None
    if request.param == "masked":
        mask = np.random.default_rng(5).random(small.X.shape) < 0.7
    data = Dataset.from_array(small.X, mask=mask)
    return Problem.prepare(data, gaussian.MODEL, gaussian.Settings(sigma=0.4, rate=1.3), 3)


@pytest.fixture
def flat(small) -> Problem:
    """The same data under the uniform likelihood, with room around good factorizations."""
    settings = uniform.Settings(times=1.5, rate=0.7)
    return Problem.prepare(small, uniform.MODEL, settings, 3)


@pytest.fixture
def factors(small):
    """Three factorizations at random: A (3, 12, 3), W (3, 3, 15)."""
    rng = np.random.default_rng(1)
    return rng.exponential(size=(3, small.D, 3)), rng.exponential(size=(3, 3, small.N))
