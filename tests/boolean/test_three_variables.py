"""Three numbers between no and yes: maxima and means by derivation and by naive summation."""

from itertools import product

import numpy as np
import pytest

from bnmf_core.boolean.model import PRIORS
from bnmf_core.boolean.three_variables import ThreeVariables
from bnmf_core.core.errors import SettingsError

CASES = list(product((0, 1), repeat=3))


@pytest.mark.parametrize("case", CASES)
def test_without_a_prior_only_contradictions_have_maxima_off_0_and_1(case):
    found = ThreeVariables(*case)
    if sum(case) == 2:  # x³ + x = 1
        assert found.height == pytest.approx(-0.209294, abs=1e-6)
        assert sorted(found.maxima[0]) == pytest.approx([0.682328, 0.682328, 1.0], abs=1e-5)
    else:
        assert found.height == pytest.approx(0.0, abs=1e-9)
        assert (found.misfit(found.maxima.T) < 1e-8).all()


@pytest.mark.parametrize("case", CASES)
def test_a_normal_prior_pulls_all_but_three_yes_towards_no(case):
    found = ThreeVariables(*case, prior="normal")
    heights = {0: 0.0, 1: -0.5, 2: -0.930359, 3: -1.125}
    places = {0: [0, 0, 0], 1: [0, 0, 0], 2: [0.3966, 0.3966, 0.6034], 3: [0.5**0.5] * 3}
    assert found.height == pytest.approx(heights[sum(case)], abs=1e-6)
    assert sorted(found.maxima[0]) == pytest.approx(places[sum(case)], abs=2e-4)


def test_means_are_those_that_were_derived():
    told = {
        ((0, 0, 0), "flat"): [0.475222] * 3,
        ((0, 1, 1), "flat"): [0.515251, 0.515251, 0.554978],
        ((1, 1, 1), "flat"): [0.558112] * 3,
        ((0, 0, 0), "normal"): [0.439830] * 3,
        ((1, 1, 1), "normal"): [0.514370] * 3,
    }
    for (case, prior), means in told.items():
        assert ThreeVariables(*case, prior=prior).means == pytest.approx(means, abs=1e-6)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("printed", [False, True])
def test_means_and_maxima_agree_with_a_sum_over_a_fine_grid(prior, printed):
    observed = a, b, c = 0.9, 0.2, 0.6
    found = ThreeVariables(*observed, prior=prior, printed=printed)
    # Equal parts of the prior's mass where it has no bound at 0 and 1, of the line elsewhere.
    along = (np.arange(60) + 0.5) / 60
    if prior == "beta":
        along = np.sin(0.5 * np.pi * along) ** 2
    x, y, z = np.meshgrid(along, along, along, indexing="ij")
    others = 0.5 if printed else -0.5
    value = -0.5 * (x * y - a) ** 2 + others * ((x * z - b) ** 2 + (y * z - c) ** 2)
    value += {
        "normal": -0.5 * (x**2 + y**2 + z**2),
        "laplace": -0.5 * (x + y + z),
    }.get(prior, 0.0)
    weights = np.exp(value) / np.exp(value).sum()
    sums = [(weights * one).sum() for one in (x, y, z)]
    assert found.means == pytest.approx(sums, abs=2e-4)
    if found.bounded:
        assert found.height >= value.max()
        assert found.height == pytest.approx(value.max(), abs=0.02)
        np.testing.assert_allclose(found.log_density(np.stack([x, y, z])), value, atol=1e-12)


def test_as_printed_a_poor_fit_of_two_observations_is_rewarded():
    right, printed = ThreeVariables(1, 0, 0), ThreeVariables(1, 0, 0, printed=True)
    assert right.misfit(right.maxima[0]) == pytest.approx(0.0, abs=1e-8)
    assert printed.maxima[0] == pytest.approx([1.0, 1.0, 1.0])
    assert printed.misfit(printed.maxima[0]) == pytest.approx(2.0)


def test_two_maxima_of_one_height_are_both_told():
    found = ThreeVariables(1, 0, 0, prior="laplace", printed=True)
    np.testing.assert_allclose(sorted(found.maxima.tolist()), [[0] * 3, [1] * 3], atol=1e-6)


def test_the_best_choices_of_yes_and_no_are_counted():
    assert ThreeVariables(1, 1, 1).best_corners.tolist() == [[1, 1, 1]]
    # No choice fits two yes and a no: every one but two misses one of them.
    contradiction = ThreeVariables(0, 1, 1)
    assert (contradiction.misfit(contradiction.best_corners.T) == 1.0).all()
    assert contradiction.best_corners.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 1]]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(SettingsError, match="0 \\(no\\) to 1 \\(yes\\) is allowed"):
        ThreeVariables(0, 2, 0)
    with pytest.raises(SettingsError, match="no prior 'magic'; there are flat, normal"):
        ThreeVariables(0, 0, 0, "magic")
    with pytest.raises(SettingsError, match="no maximum. Choose another prior"):
        _ = ThreeVariables(0, 0, 0, "beta").maxima
