"""Entries that are hidden on purpose, and repairs of missing ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.data import repair
from bnmf_core.data.repair import (
    as_yes_no,
    drop_incomplete_observations,
    fill_with_feature_means,
    hide_entries,
)


def whole_of(dataset: Dataset) -> np.ndarray:
    """X with the hidden values put back."""
    values, known = dataset.hidden_entries()
    return np.where(known, values, dataset.X)


@given(st.integers(2, 9), st.integers(2, 9), st.floats(0.05, 0.9), st.integers(0, 2**20))
def test_hiding_keeps_the_values_and_one_entry_of_every_line(D, N, fraction, seed):
    X = np.random.default_rng(seed).random((D, N)) + 0.1
    data = Dataset.from_array(X, name="m")
    count = round(fraction * D * N)
    try:
        hidden = hide_entries(data, fraction, np.random.default_rng(seed))
    except SettingsError:
        assert count > D * N - D - N or count == 0
        return
    assert hidden.missing == count == hidden.hidden.size
    assert hidden.mask.any(axis=0).all() and hidden.mask.any(axis=1).all()
    assert (hidden.X[~hidden.mask] == 0).all()
    np.testing.assert_array_equal(whole_of(hidden), X)
    assert hidden.name == f"m ({100 * fraction:.3g} % masked)"
    assert data.mask is None and (data.X == X).all()


def test_every_entry_is_hidden_as_often_as_another():
    data, times = Dataset.from_array(np.ones((12, 15))), 4000
    rng = np.random.default_rng(0)
    often = sum((~hide_entries(data, 0.3, rng).mask).astype(int) for _ in range(times)) / times
    assert np.abs(often - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / times)


def test_what_was_never_seen_stays_unknown_and_what_was_hidden_stays_known():
    X = np.arange(1.0, 31.0).reshape(5, 6)
    X[2, 3] = np.nan
    first = hide_entries(Dataset.from_array(X), 0.2, np.random.default_rng(1))
    second = hide_entries(first, 0.2, np.random.default_rng(2))
    for data, count in ((first, 6), (second, 6 + round(0.2 * 23))):
        values, known = data.hidden_entries()
        assert known.sum() == count and not known[2, 3] and values[2, 3] == 0
        np.testing.assert_array_equal(values[known], X[known])
    part = second.columns(np.array([5, 3, 0]))
    np.testing.assert_array_equal(
        part.hidden_entries()[0], second.hidden_entries()[0][:, [5, 3, 0]]
    )
    np.testing.assert_array_equal(
        part.hidden_entries()[1], second.hidden_entries()[1][:, [5, 3, 0]]
    )


def test_columns_without_gaps_have_no_mask():
    X = np.arange(1.0, 31.0).reshape(5, 6)
    X[2, 3] = np.nan
    part = Dataset.from_array(X).columns(np.array([0, 1, 5]))
    assert part.mask is None and part.hidden is None and part.missing == 0


def test_the_seed_and_the_hidden_values_make_another_dataset():
    data = Dataset.from_array(np.arange(1.0, 31.0).reshape(5, 6))
    one, same, other = (hide_entries(data, 0.3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.hash == same.hash != other.hash
    known = Dataset.from_array(one.X, mask=one.mask, name=one.name)
    assert known.hash != one.hash


def test_a_small_sparse_matrix_becomes_dense_and_a_large_one_is_refused(monkeypatch):
    X = np.where(np.random.default_rng(0).random((8, 9)) < 0.5, 1.0, 0.0)
    data = Dataset.from_array(sparse.csc_array(X))
    hidden = hide_entries(data, 0.3, np.random.default_rng(1))
    assert not hidden.is_sparse and hidden.missing == round(0.3 * 72)
    np.testing.assert_array_equal(whole_of(hidden), X)
    monkeypatch.setattr(repair, "MOST_DENSE_ENTRIES", 71)
    with pytest.raises(DataError, match="is sparse and has 72 entries"):
        hide_entries(data, 0.3, np.random.default_rng(1))


@pytest.mark.parametrize("fraction", [0.0, -0.1, 0.95, np.nan])
def test_a_fraction_out_of_range_is_named(fraction):
    with pytest.raises(SettingsError, match="The fraction to mask was"):
        hide_entries(Dataset.from_array(np.ones((4, 5))), fraction, np.random.default_rng(0))


def test_more_than_can_be_hidden_is_refused():
    with pytest.raises(SettingsError, match="would mask 8"):
        hide_entries(Dataset.from_array(np.ones((3, 3))), 0.9, np.random.default_rng(0))


def test_repairs_forget_what_was_hidden():
    data = Dataset.from_array(np.arange(1.0, 61.0).reshape(3, 20))
    hidden = hide_entries(data, 0.1, np.random.default_rng(0))
    filled = fill_with_feature_means(hidden)
    means = [row[seen].mean() for row, seen in zip(data.X, hidden.mask, strict=True)]
    expected = np.where(hidden.mask, data.X, np.array(means)[:, None])
    np.testing.assert_allclose(filled.X, expected)
    dropped = drop_incomplete_observations(hidden)
    assert dropped.N == hidden.mask.all(axis=0).sum()
    for repaired in (filled, dropped):
        assert repaired.mask is None and repaired.hidden is None


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_yes_is_what_is_above_a_threshold(form):
    X = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.5]])
    data = Dataset.from_array(form(X), name="m")
    found = as_yes_no(data, 0.7)
    np.testing.assert_array_equal(found.dense(), X > 0.7)
    assert found.name == "m (yes above 0.7)" and (found.D, found.N) == (2, 3)
    np.testing.assert_array_equal(data.dense(), X)
    for above, words in ((3.0, "No entry"), (-1.0, "≥ 0"), (np.nan, "≥ 0")):
        with pytest.raises(SettingsError, match=words):
            as_yes_no(data, above)


def test_what_was_not_seen_is_neither_yes_nor_no():
    X = np.array([[5.0, np.nan, 2.0], [3.0, 0.1, 0.5]])
    found = as_yes_no(Dataset.from_array(X), 1.0)
    assert found.missing == 1 and not found.mask[0, 1] and found.X[0, 1] == 0.0
    assert found.X.sum() == 3
    whole = Dataset.from_array(np.random.default_rng(1).random((6, 8)))
    hidden = hide_entries(whole, 0.3, np.random.default_rng(0))
    values, known = as_yes_no(hidden, 0.5).hidden_entries()
    assert known.any()
    np.testing.assert_array_equal(values[known], whole.X[known] > 0.5)


def test_every_entry_above_tells_nothing():
    with pytest.raises(SettingsError, match="Every entry"):
        as_yes_no(Dataset.from_array(np.full((2, 3), 4.0)), 1.0)
