"""Unseen modes: estimates against their formulas, intervals against populations that are known."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.compare.unseen import chao1, unseen_modes
from bnmf_core.core.errors import DataError, SettingsError
from tests.generated import always

generated = always(40)


def labelled(*counts):
    return np.repeat(np.arange(len(counts)), counts)


def rounds(population, n, times, seed=3):
    """(counts found, what was told, the probability of what was not found), of known modes."""
    rng = np.random.default_rng(seed)
    population = np.asarray(population) / np.sum(population)
    for _ in range(times):
        drawn = rng.multinomial(n, population)
        told = unseen_modes(labelled(*drawn), replicates=100, rng=rng)
        yield told, population[drawn == 0].sum()


def test_a_textbook_example():
    # 10 restarts, f1 = 3 modes found once, f2 = 1 twice: 5 + 9/10 · 3·2/(2·2).
    told = unseen_modes(labelled(5, 2, 1, 1, 1))
    assert (told.restarts, told.found, told.once, told.twice) == (10, 5, 3, 1)
    assert told.new_probability == 0.3
    assert told.number == pytest.approx(6.35, abs=1e-12)
    assert chao1(np.array([5, 2, 1, 1, 1])) == told.number


@given(counts=st.lists(st.integers(1, 4), min_size=1, max_size=5))
@generated
def test_the_curve_is_the_mean_over_all_subsets(counts):
    labels = labelled(*counts)
    n = len(labels)
    curve = unseen_modes(labels, replicates=10).curve
    seen = curve[~curve["extrapolated"]]
    for m, modes in zip(seen["restarts"], seen["modes"], strict=True):
        if math.comb(n, m) > 2000:
            continue
        subsets = itertools.combinations(labels.tolist(), m)
        assert modes == pytest.approx(np.mean([len(set(s)) for s in subsets]), abs=1e-9)
    assert modes == len(counts)


@given(counts=st.lists(st.integers(1, 60), min_size=1, max_size=30))
@generated
def test_promises(counts):
    told = unseen_modes(labelled(*counts), replicates=20)
    assert told.number >= told.found == len(counts)
    for value, (low, high) in (
        (told.new_probability, told.new_probability_interval),
        (told.number, told.number_interval),
    ):
        assert low <= value + 1e-12 and value <= high + 1e-12
    low, high = told.new_probability_interval
    assert 0 <= low and high <= 1
    curve = told.curve
    for column in ("restarts", "modes", "lower"):
        assert (np.diff(curve[column]) >= -1e-9).all()
    assert (curve["lower"] <= curve["modes"] + 1e-9).all()
    assert curve["modes"].iloc[0] == pytest.approx(1.0)
    assert curve["modes"].iloc[-1] <= told.number + 1e-9
    assert curve["restarts"].iloc[-1] == 2 * told.restarts


def test_what_a_single_mode_leaves_open():
    """Nobody saw a second mode: one of probability 3/n would have been missed one time in 20."""
    told = unseen_modes(np.zeros(60, int))
    assert told.new_probability == 0 and told.number == 1 and told.number_interval == (1, 1)
    assert told.new_probability_interval == (0.0, pytest.approx(1 - 0.05 ** (1 / 60)))


def test_only_restarts_that_count_are_counted():
    labels = np.array([0, 0, 0, 7, 8, 9])
    told = unseen_modes(labels, counted=labels < 7)
    assert (told.restarts, told.found, told.new_probability) == (3, 1, 0)


def test_names_and_order_of_modes_do_not_matter():
    labels = labelled(9, 4, 2, 1, 1)
    renamed = np.random.default_rng(0).permutation(np.array([4, 0, 3, 1, 2])[labels])
    assert unseen_modes(renamed).number == unseen_modes(labels).number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("population", "n"),
    [(1 / np.arange(1, 21), 50), ([0.9] + 10 * [0.01], 50), (0.6 ** np.arange(12), 100)],
)
def test_the_interval_of_the_probability_holds_the_truth(population, n):
    """A nominal 95 %, of a discrete count."""
    held = [
        told.new_probability_interval[0] <= truth <= told.new_probability_interval[1]
        for told, truth in rounds(population, n, 200)
    ]
    assert np.mean(held) > 0.84


@pytest.mark.slow
def test_the_estimates_are_right_on_average():
    told = list(rounds(np.ones(20), 40, 300))
    gap = np.array([t.new_probability - truth for t, truth in told])
    # E[f1/n] is the missing mass of n − 1 restarts: larger by (1 − p)^(n−1) p in all.
    bias = 20 * 0.05 * 0.95**39 * 0.05
    assert abs(gap.mean() - bias) < 4 * gap.std() / math.sqrt(len(gap))
    # A lower bound on average, and for equal modes one that makes up most of what was missed.
    number = np.array([t.number for t, _ in told])
    found = np.mean([t.found for t, _ in told])
    assert (found + 20) / 2 < number.mean() < 20 + 4 * number.std() / math.sqrt(len(number))
    inside = [t.number_interval[0] <= 20 <= t.number_interval[1] for t, _ in told]
    assert np.mean(inside) > 0.88


def test_what_cannot_be_estimated_is_said():
    with pytest.raises(DataError, match="converged"):
        unseen_modes([0, 1], counted=[False, False])
    with pytest.raises(DataError, match="converged"):
        unseen_modes([])
    with pytest.raises(DataError, match="one value"):
        unseen_modes([0, 1], counted=[True])
    with pytest.raises(SettingsError, match="0 and 1"):
        unseen_modes([0, 1], level=95)
    with pytest.raises(SettingsError, match="10"):
        unseen_modes([0, 1], replicates=1)
