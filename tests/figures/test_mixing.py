"""Pictures of chains: level ranks and rising sizes for independent draws, and not for others."""

import numpy as np
import pytest

from bnmf_core.compare.mixing import effective_size
from bnmf_core.figures.chains import forest_plot, rank_plot, size_over_draws


@pytest.fixture
def draws():
    return np.random.default_rng(0).normal(size=(4, 200))


def test_ranks_of_independent_chains_are_level_and_a_shifted_chain_is_not(draws):
    def counts(values):
        return np.array([trace.y for trace in rank_plot(values, "error").data])

    level = counts(draws)
    assert level.shape == (4, 20) and (level.sum(axis=1) == 200).all()
    assert (level.sum(axis=0) == 40).all()  # every draw has one rank
    assert abs(level - 10).max() < 4.5 * np.sqrt(10)
    shifted = counts(draws + np.array([[3.0], [0], [0], [0]]))
    assert shifted[0, :10].sum() < 20 and shifted[0, -1] > 35


def test_sizes_are_those_of_the_first_draws(draws):
    figure = size_over_draws(draws, "error", 100.0)
    bulk = figure.data[0]
    assert bulk.x[-1] == 800 and bulk.y[-1] == effective_size(draws, "bulk")
    middle = len(bulk.x) // 2
    first = draws[:, : bulk.x[middle] // 4]
    assert bulk.y[middle] == effective_size(first, "bulk")
    assert figure.layout.shapes[0].y0 == 100.0


def test_bars_are_quantiles_of_each_chain(draws):
    figure = forest_plot({"component 1": draws, "component 2": draws + 5}, "Angle", "°")
    one, other = figure.data
    np.testing.assert_allclose(one.x, np.median(draws, axis=1))
    np.testing.assert_allclose(np.subtract(other.x, one.x), 5.0)
    low = np.quantile(draws, 0.05, axis=1)
    np.testing.assert_allclose(np.subtract(one.x, one.error_x.arrayminus), low)
