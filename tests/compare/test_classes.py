"""Shares by class and by period, against loops over observations."""

import numpy as np
import pytest

from bnmf_core.compare.classes import (
    FEWEST,
    class_chances,
    class_shares,
    describe_typical,
    describe_usage,
    period_shares,
)
from bnmf_core.core.dates import dates_of

RNG = np.random.default_rng(2)


def shares_of(*shape):
    found = RNG.gamma(0.5, size=shape)
    return found / found.sum(axis=-2, keepdims=True)


def test_means_are_those_of_loops_over_observations():
    shares, labels = shares_of(2, 3, 50), RNG.choice(["", "a", "b", "c"], 50)
    shares[:, :, 7] = 0.0  # of it the factorization says nothing
    found = class_shares(shares, labels)
    for c, name in enumerate(found.classes):
        members = [n for n in range(50) if labels[n] == name and n != 7]
        others = [n for n in range(50) if labels[n] not in ("", name) and n != 7]
        assert found.counts[c] == len(members)
        for m in range(2):
            for r in range(3):
                mean = sum(shares[m, r, n] for n in members) / len(members)
                outside = sum(shares[m, r, n] for n in others) / len(others)
                assert found.mean[m, r, c] == pytest.approx(mean)
                assert found.outside[m, r, c] == pytest.approx(outside)
    assert list(found.counts) == sorted(found.counts, reverse=True) and "" not in found.classes


def test_the_most_typical_pair_is_farthest_above_the_other_classes():
    shares = np.array([[0.5, 0.5, 0.6, 0.6], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.4, 0.4]])
    found = class_shares(np.repeat(shares, 3, axis=1), np.array(["x"] * 6 + ["y"] * 6))
    r, c = found.most_typical()
    # The first component has larger shares, but of both classes.
    assert (r, found.classes[c]) == (1, "x")


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (["1999", "2001", "", "2000"], ["1999-01-01", "2001-01-01", "NaT", "2000-01-01"]),
        (["2023-01", "2023-02", "2024-12"], ["2023-01-01", "2023-02-01", "2024-12-01"]),
        (["2024-02-29", "2024-03-01T12:30:00Z", "2025-01-01 00:00"], None),
        (["31.12.2024", "01.01.2025", "02.01.2025"], ["2024-12-31", "2025-01-01", "2025-01-02"]),
        (["2024/02/01", "2024/02/02", "2024/02/03"], ["2024-02-01", "2024-02-02", "2024-02-03"]),
    ],
)
def test_dates_in_one_spelling(values, days):
    days = days or [value[:10] for value in values]
    np.testing.assert_array_equal(dates_of(values), np.array(days, dtype="datetime64[D]"))


@pytest.mark.parametrize(
    "values",
    [
        ["12/31/2024", "11/30/2024", "10/01/2024"],  # whose order depends on the country
        ["1999", "2000", "2001-05"],
        ["2023-02-29", "2023-03-01", "2023-03-02"],
        ["1000", "1200", "1300"],  # numbers of something
        ["1", "2", "3"],
        ["1999", "2000", "1999"],
        ["ham", "spam", "eggs"],
        ["", "", ""],
    ],
)
def test_other_values_are_no_dates(values):
    assert dates_of(values) is None


def test_means_and_standard_errors_by_month():
    dates = dates_of([f"{2000 + n % 4}-{1 + n % 12:02d}-{1 + n // 12:02d}" for n in range(60)])
    shares = shares_of(3, 60)
    found = period_shares(shares, dates)
    assert found.unit == "month" and found.periods.size == 12
    first = [n for n in range(60) if str(dates[n])[:7] == str(found.periods[0])[:7]]
    values = shares[1, first]
    assert found.counts[0] == len(first) == 5
    assert found.mean[1, 0] == pytest.approx(np.mean(values))
    assert found.error[1, 0] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))


def test_periods_are_as_long_as_it_takes_for_some_observations_each():
    dates = dates_of([f"{1900 + n}" for n in range(100)])
    found = period_shares(shares_of(2, 100), dates)
    assert found.unit == "decade" and found.counts.tolist() == [10] * 10
    assert str(found.periods[3]) == "1930-01-01"
    few = period_shares(shares_of(2, 3), dates_of(["1700", "1800", "1900"]))
    assert few.unit == "century" and np.isnan(few.error).all()


def test_the_class_with_the_largest_mean_and_whether_it_depends_on_the_mode():
    same = {"AML": np.array([[0.6], [0.5]]), "B": np.array([[0.2], [0.1]])}
    assert describe_usage(same, 0, ["mode 1", "mode 2"]) == (
        "Mean share in mode 1, by class: AML (60 %) and B (20 %). It is largest for AML in all 2 "
        "modes."
    )
    other = same | {"B": np.array([[0.2], [0.7]])}
    assert describe_usage(other, 0, ["mode 1", "mode 2"]).endswith(
        "The class with the largest depends on the mode: B (70 %) in mode 2."
    )
    said = describe_usage(same, 0, ["mode 1"], chance=0.4)
    assert said.endswith("(Kruskal–Wallis test, p = 0.4).")


def test_chances_are_even_where_labels_are_drawn_at_random_and_small_where_planted():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=60).T
    found = np.array([class_chances(shares, rng.choice(list("abc"), 60)) for _ in range(400)])
    # Of one component and of the smallest of three: at most the level, up to chance.
    assert (found.min(axis=1) < 0.05).mean() < 0.08
    assert (found[:, 0] < 0.05 * 3).mean() > 0.02
    planted = shares.copy()
    planted[:, :20] = 0.5 * planted[:, :20] + np.array([[0.5], [0.0], [0.0]])
    labels = np.array(["a"] * 20 + ["b"] * 40)
    assert class_chances(planted, labels)[0] < 1e-3
    few = np.array(["x"] * (FEWEST - 1) + ["b"] * (60 - FEWEST + 1))
    assert class_chances(planted, few).tolist() == [1.0, 1.0, 1.0]


def test_a_class_is_called_typical_only_where_that_is_no_chance_and_it_has_enough():
    shares = np.array([[1.0, *[0.5] * 12], [0.0, *[0.5] * 12]])
    labels = np.array(["one", *["a"] * 6, *["b"] * 6])
    found = class_shares(shares, labels)
    said = describe_typical(found, class_chances(shares, labels), ["1", "2"])
    assert "by more than chance leaves" in said
    shares[:, 1:7] = [[0.9], [0.1]]
    said = describe_typical(class_shares(shares, labels), class_chances(shares, labels), ["1", "2"])
    assert "most typical of b: its mean share is 50 % in these 6 observations" in said
    assert "No class has 5" in describe_typical(
        class_shares(shares[:, :3], np.array(list("abc"))), np.ones(2), ["1", "2"]
    )
