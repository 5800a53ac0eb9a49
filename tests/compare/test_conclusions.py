"""Does the choice change a conclusion: areas against scikit-learn, and intervals that hold."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bnmf_core.compare.conclusions import (
    MATTERS,
    OPEN,
    SAME,
    areas_under_curve,
    conclusions,
    judged,
)
from bnmf_core.core.errors import DataError, SettingsError


def test_areas_of_repeated_observations_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    members = rng.random(60) < 0.3
    scores = np.round(members + rng.standard_normal(60), 1)  # with ties
    times = rng.integers(0, 4, size=(20, 60)).astype(float)
    expected = [roc_auc_score(members, scores, sample_weight=weight) for weight in times]
    np.testing.assert_allclose(areas_under_curve(scores, members, times), expected, atol=1e-12)


def test_a_draw_without_members_has_no_area():
    times = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    areas = areas_under_curve(np.array([3.0, 2.0, 1.0]), np.array([True, False, False]), times)
    assert np.isnan(areas[0])
    assert areas[1] == 1.0


def three_of_them(rng, n, extra):
    """Scores of three factorizations for four classes; the last one is worse by ``extra`` noise."""
    codes = rng.integers(4, size=n)
    members = codes[:, None] == np.arange(4)
    shared = members + 0.8 * rng.standard_normal((n, 4))
    noise = np.array([0.3, 0.3, extra])[:, None, None]
    return shared + noise * rng.standard_normal((3, n, 4)), members


def test_equal_factorizations_are_rarely_called_different():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(60):
        scores, members = three_of_them(rng, 120, extra=0.3)
        wrong += (conclusions(scores, members, rng, draws=200)["low"] > 0).any()
    # Five per cent of 60 are 3; 8 or more come with a chance of 1 %.
    assert wrong < 8


def test_intervals_of_all_tasks_hold_the_truth_together():
    rng = np.random.default_rng(2)
    large, members = three_of_them(rng, 40_000, extra=1.5)
    truth = np.ptp(
        [[roc_auc_score(m, s) for m, s in zip(members.T, of.T, strict=True)] for of in large],
        axis=0,
    )
    held = 0
    for _ in range(40):
        scores, members = three_of_them(rng, 150, extra=1.5)
        found = conclusions(scores, members, rng, draws=200)
        held += ((found["low"] <= truth) & (truth <= found["high"])).all()
    assert held >= 35  # 38 of 40 are 95 %; 34 or fewer come with a chance of 1 %


def test_the_three_verdicts():
    rng = np.random.default_rng(3)
    scores, members = three_of_them(rng, 2000, extra=3.0)
    assert set(conclusions(scores, members, rng)["verdict"]) == {MATTERS}
    same = np.stack([scores[0], scores[0] + 1e-4 * rng.standard_normal(scores[0].shape)])
    assert set(conclusions(same, members, rng)["verdict"]) == {SAME}
    few, few_members = three_of_them(rng, 40, extra=0.6)
    assert set(conclusions(few, few_members, rng)["verdict"]) <= {OPEN}


def test_among_some_the_reach_of_all_holds():
    scores, members = three_of_them(np.random.default_rng(3), 400, extra=3.0)
    found = conclusions(scores, members, np.random.default_rng(7))
    areas = [
        [roc_auc_score(m, s) for s in of]
        for m, of in zip(members.T, scores.transpose(2, 0, 1), strict=True)
    ]
    np.testing.assert_allclose(found["areas"].tolist(), areas, atol=1e-12)
    near = judged(found, np.array([True, True, False]))
    np.testing.assert_allclose(near["difference"], np.abs(np.diff(np.array(areas)[:, :2])[:, 0]))
    assert (near["difference"] < found["difference"]).all() and MATTERS not in set(near["verdict"])
    np.testing.assert_allclose(near["high"] - near["difference"], found["reach"])


def test_one_factorization_leaves_nothing_to_choose():
    rng = np.random.default_rng(4)
    scores, members = three_of_them(rng, 100, extra=0.3)
    found = conclusions(scores[:1], members, rng)
    assert (found["difference"] == 0).all()
    assert set(found["verdict"]) == {SAME}


def test_two_classes_are_one_task():
    rng = np.random.default_rng(5)
    members = rng.random(50)[:, None] < [0.5, np.nan]
    members[:, 1] = ~members[:, 0]
    assert len(conclusions(rng.random((2, 50, 2)), members, rng)) == 1


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"draws": 5}, SettingsError, "20 draws"),
        ({"margin": -1.0}, SettingsError, "margin"),
        ({"members": np.ones((30, 3), bool)}, DataError, "one that is not"),
        ({"members": np.ones((20, 3), bool)}, DataError, "do not fit"),
    ],
)
def test_what_cannot_be_concluded_is_said(changes, error, words):
    rng = np.random.default_rng(6)
    arguments = {"scores": rng.random((2, 30, 3)), "members": rng.random((30, 3)) < 0.5}
    with pytest.raises(error, match=words):
        conclusions(**(arguments | {"rng": rng} | changes))


def test_a_draw_without_members_of_any_class_says_nothing():
    rng = np.random.default_rng(3)
    members = np.zeros((12, 2), bool)
    members[0, 0] = members[1:, 1] = True
    scores = rng.random((2, 12, 2))
    table = conclusions(scores, members, rng, draws=200)
    assert np.isfinite(table["reach"]).all()
