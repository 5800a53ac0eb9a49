"""The variance of counts beside their mean is found again where it was planted."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import Dataset
from bnmf_core.evidence.variation import Variation, variation

# Features, observations, components, mean.
SHAPES = [(96, 21, 6, 100), (96, 40, 4, 20), (200, 200, 10, 3), (30, 400, 5, 50)]


def planted(shape, ratio, seed=0):
    """Counts whose variance is so many times their mean."""
    D, N, R, mean = shape
    rng = np.random.default_rng(seed)
    Y = rng.gamma(0.5, 1, (D, R)) @ rng.gamma(1, 1, (R, N))
    Y *= mean / Y.mean()
    X = rng.poisson(Y if ratio == 1 else rng.gamma(Y / (ratio - 1), ratio - 1))
    return Dataset.from_array(X.astype(float))


@pytest.mark.parametrize("shape", SHAPES)
def test_poisson_counts_have_the_ratio_one(shape):
    found = variation(planted(shape, 1))
    assert found.ratio == pytest.approx(1.0, abs=0.15)
    assert not found.beyond_poisson and "about as Poisson predicts" in found.sentence


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_that_vary_three_times_as_much_have_the_ratio_three(shape):
    found = variation(planted(shape, 3))
    assert found.ratio == pytest.approx(3.0, rel=0.15)
    assert found.beyond_poisson
    assert found.sentence == f"Counts vary {found.ratio:.1f}× as much as Poisson allows."


def test_dispersion_and_bins_follow_the_variance_that_was_planted():
    rng = np.random.default_rng(1)
    Y = rng.gamma(2, 10, (90, 2)) @ rng.gamma(2, 1, (2, 80))
    found = variation(Dataset.from_array(rng.poisson(Y * rng.gamma(5, 1 / 5, Y.shape)) * 1.0))
    assert found.dispersion == pytest.approx(5.0, rel=0.15)
    mean, variance = found.binned()
    expected = mean + mean**2 / found.dispersion
    assert np.median(np.abs(np.log(variance / expected))) < 0.2
    assert (np.diff(mean) > 0).all()


def sparse_topics(k, seed=0, mean=2.0):
    """Counts of words in texts of 3 topics, most of which are 0; their variance is y + y²/k."""
    rng = np.random.default_rng(seed)
    Y = rng.gamma(0.1, 10, (200, 3)) @ rng.gamma(0.1, 10, (3, 200)) * mean / 3
    return Dataset.from_array(rng.poisson(Y * rng.gamma(k, 1 / k, Y.shape)) * 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_sparse_counts_vary_as_they_were_planted(seed):
    """Fitted means next to 0 lower the Pearson ratio, not the weighted one."""
    found = variation(sparse_topics(3.0, seed))
    assert found.beyond_poisson and 1.0 < found.dispersion < 9.0
    poisson = variation(sparse_topics(1e9, seed))
    assert not poisson.beyond_poisson
    assert poisson.pearson < 0.9 and poisson.weighted == pytest.approx(1.0, abs=0.15)
    assert poisson.sentence.endswith(f"variance / mean is {poisson.weighted:.1f}.")


def test_both_ratios_are_those_of_the_definition():
    x, y = np.array([3.0, 0.0, 7.0]), np.array([2.0, 1.0, 4.0])
    found = Variation(x, y, 1, 1)
    assert found.pearson == pytest.approx((1 / 2 + 1 + 9 / 4) / 2)
    assert found.weighted == pytest.approx((1 + 1 + 9) * (3 / 2) / 7)


def test_a_wrong_fit_has_another_ratio():
    rng = np.random.default_rng(2)
    y = rng.gamma(2, 10, 5_000)
    x = rng.poisson(y).astype(float)
    assert Variation(x, y, 0, 1).ratio == pytest.approx(1.0, abs=0.1)
    assert Variation(x, np.full_like(y, y.mean()), 0, 1).beyond_poisson


def test_gaps_and_zeros_do_not_count():
    whole = planted(SHAPES[1], 1)
    X = np.vstack([whole.X, np.zeros((200, 40))])
    assert variation(Dataset.from_array(X)).ratio == pytest.approx(1.0, abs=0.15)
    assert variation(Dataset.from_array(sparse.csc_array(X))).ratio == pytest.approx(1.0, abs=0.15)
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    assert variation(Dataset.from_array(gaps)).ratio == pytest.approx(1.0, abs=0.2)


def test_few_counts_do_not_say_how_much_they_vary():
    found = variation(planted((10, 8, 2, 5), 3))
    assert not found.beyond_poisson and "too few counts" in found.sentence


def test_of_large_data_a_part_is_fitted():
    rng = np.random.default_rng(3)
    X = rng.poisson(rng.gamma(0.3, 1, (3_000, 3)) @ rng.gamma(1, 1, (3, 900))).astype(float)
    assert variation(Dataset.from_array(X)).x.size <= 200 * 200


@pytest.mark.parametrize("mean", [1e5, 1e7, 1e9])
def test_large_poisson_counts_do_not_vary_more(mean):
    """Updates alone end far from the maximum of their likelihood."""
    found = variation(planted((24, 36, 3, mean), 1))
    assert found.ratio == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("large", [1e5, 1e9, 2.0**52])
@pytest.mark.parametrize("gaps", [False, True])
def test_one_entry_that_holds_nearly_all_is_left_out(large, gaps):
    X = planted((24, 36, 3, 5), 1).X.copy()
    X[2, 3] = large
    mask = np.random.default_rng(1).random(X.shape) < 0.9 if gaps else None
    if gaps:
        mask[2, 3] = True
        X *= mask
    found = variation(Dataset.from_array(X, mask=mask))
    assert found.ratio == pytest.approx(1.0, abs=0.25) and found.x.max() < large
