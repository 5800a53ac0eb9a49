"""What remains when components are held, on matrices whose factorizations are known."""

import numpy as np
import pytest

from bnmf_core import laurberg
from bnmf_core.compare.alignment import component_angles
from bnmf_core.compare.remaining import Locked, remaining, solve_locked
from bnmf_core.core.errors import Cancelled, SettingsError


def of(data, truth, *held, starts=12):
    A, W = data.truth[truth].A, data.truth[truth].W
    mask = np.isin(np.arange(A.shape[1]), held)
    found, weights = solve_locked(data, A, W, mask, range(starts), seed=0)
    return A, mask, found, weights, remaining(found, A, mask, rise=0.01)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_with_all_true_components_but_one_held_the_last_one_is_the_true_one(missing):
    data = laurberg("unique", embed=(12, 15), embedding="identity")
    others = [r for r in range(3) if r != missing]
    A, _, found, _, told = of(data, 0, *others)
    assert found.converged.all() and told.answers == 1
    assert component_angles(found.A, A).max() < 0.01
    assert told.lowest == pytest.approx(told.highest, abs=1e-4)


def test_held_columns_are_the_same_bits_and_the_product_is_what_was_solved_for():
    data = laurberg("two", noise=0.05, rng=np.random.default_rng(0))
    A, mask, found, weights, _ = of(data, 0, 1)
    assert all(np.array_equal(one[:, 1], A[:, 1]) for one in found.A)
    error = [
        np.linalg.norm(data.X - one @ W) / np.linalg.norm(data.X)
        for one, W in zip(found.A, weights, strict=True)
    ]
    assert found.error == pytest.approx(error, abs=1e-7)
    assert not np.array_equal(found.A[1][:, 0], A[:, 0]) and mask.sum() == 1


def test_of_two_solutions_a_component_of_one_leaves_one():
    data = laurberg("two")
    assert of(data, 0, starts=24)[-1].answers == 2
    for truth in (0, 1):
        for component in range(3):
            A, _, found, _, told = of(data, truth, component)
            assert told.answers == 1
            assert told.angle.max() < 0.01
            assert component_angles(found.A, A)[0].max() < 0.01


def test_what_lies_above_the_allowed_error_does_not_count():
    data = laurberg("two")
    A = data.truth[0].A
    other = data.truth[1].A
    found = Locked(
        np.stack([A, A, other, other]),
        np.array([0.1, 0.1005, 0.1009, 0.2]),
        np.zeros(4),
        np.array([True, True, True, True]),
    )
    none = np.zeros(3, dtype=bool)
    assert remaining(found, A, none, 0.001, 5.0).answers == 1
    told = remaining(found, A, none, 0.01, 5.0)
    assert told.within.tolist() == [0, 1, 2] and told.answers == 2
    assert told.angle.max() == pytest.approx(36.87, abs=0.01)
    # Every entry ranges from the less to the more that the two have of it, matched.
    assert (told.lowest <= told.value).all() and (told.value <= told.highest).all()
    assert "2 different answers remain" in told.sentences[0]


def test_what_has_not_converged_is_no_answer():
    A = laurberg("two").truth[0].A
    found = Locked(A[None], np.array([0.1]), np.array([90.0]), np.array([False]))
    told = remaining(found, A, np.array([True, False, False]), 0.01)
    assert told.answers == 0 and "none of 1 factorizations has converged" in told.sentences[0]


def test_all_components_cannot_be_held_and_a_search_can_be_cancelled():
    data = laurberg("unique")
    A, W = data.truth[0].A, data.truth[0].W
    with pytest.raises(SettingsError, match="leave at least one"):
        solve_locked(data, A, W, np.ones(3, dtype=bool), range(2), 0)
    with pytest.raises(Cancelled):
        solve_locked(data, A, W, np.zeros(3, dtype=bool), range(2), 0, cancel=lambda: True)
