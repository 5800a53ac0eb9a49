"""Shares by class and by period, against loops over observations."""

import numpy as np
import pytest

from bnmf_core.compare.classes import class_shares, period_shares
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
    found = class_shares(shares, np.array(["x", "x", "y", "y"]))
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
