"""Held-out observations: a partition, stratified, reproducible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.core.errors import SettingsError
from bnmf_core.data.split import holdout_columns


@given(
    N=st.integers(4, 200),
    fraction=st.floats(0.0, 0.5),
    seed=st.integers(0, 2**63),
    classes=st.integers(0, 8),
)
def test_the_two_sides_are_a_sorted_partition(N, fraction, seed, classes):
    labels = None
    if classes:
        labels = np.random.default_rng(seed).integers(classes, size=N)
    train, held_out = holdout_columns(N, fraction, seed, labels)
    assert np.array_equal(np.sort(np.concatenate([train, held_out])), np.arange(N))
    assert np.all(np.diff(train) > 0) and np.all(np.diff(held_out) > 0)
    assert train.dtype.kind == held_out.dtype.kind == "i"
    expected = 0 if fraction == 0 else max(1, round(fraction * N))
    assert len(held_out) == expected
    again = holdout_columns(N, fraction, seed, labels)
    assert np.array_equal(train, again[0]) and np.array_equal(held_out, again[1])


def test_classes_keep_their_shares():
    labels = np.repeat(["a", "b", "c"], [100, 60, 40])
    _, held_out = holdout_columns(200, 0.1, 5, labels)
    names, counts = np.unique(labels[held_out], return_counts=True)
    assert dict(zip(names, counts.tolist(), strict=True)) == {"a": 10, "b": 6, "c": 4}


def test_classes_of_one_do_not_stop_the_rest_from_being_stratified():
    labels = ["a"] * 50 + ["b"] * 50 + ["alone"]
    _, held_out = holdout_columns(101, 0.2, 0, labels)
    among_b = sum(labels[i] == "b" for i in held_out)
    assert among_b == 10


def test_other_seeds_give_other_splits():
    splits = {tuple(holdout_columns(50, 0.2, seed)[1].tolist()) for seed in range(10)}
    assert len(splits) == 10


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((10, 0.6, 0), "0 to 0.5"),
        ((10, -0.1, 0), "0 to 0.5"),
        ((10, float("nan"), 0), "0 to 0.5"),
        ((10, 0.1, -1), "seed was -1"),
        ((3, 0.5, 0), "at least 2"),
        ((10, 0.1, 0, ["a"]), "1 labels were given for 10"),
    ],
)
def test_what_cannot_be_split_is_refused(arguments, words):
    with pytest.raises(SettingsError, match=words):
        holdout_columns(*arguments)
