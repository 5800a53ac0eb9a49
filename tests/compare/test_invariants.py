"""What neither the order nor the scale of the components changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.compare.distances import invariants as module
from bnmf_core.compare.distances.invariants import INVARIANTS, invariants
from bnmf_core.data.synthetic import laurberg


@given(seed=st.integers(0, 2**32), R=st.integers(1, 5), zeros=st.floats(0, 0.9))
def test_order_and_scale_change_nothing(seed, R, zeros):
    rng = np.random.default_rng(seed)
    A, W = rng.exponential(size=(3, 7, R)), rng.exponential(size=(3, R, 6))
    A *= rng.random(A.shape) >= zeros
    order = np.argsort(rng.random((3, R)), axis=1)
    scale = rng.lognormal(0.0, 3.0, size=(3, R))
    other_A = np.take_along_axis(A, order[:, None, :], axis=2) * scale[:, None, :]
    other_W = np.take_along_axis(W, order[:, :, None], axis=1) / scale[:, :, None]
    one, other = invariants(A, W), invariants(other_A, other_W)
    for key, values in one.items():
        np.testing.assert_allclose(other[key], values, rtol=1e-9, atol=1e-12, err_msg=key)


def test_values_follow_from_their_definitions():
    rng = np.random.default_rng(0)
    A, W = rng.exponential(size=(4, 8, 3)), rng.exponential(size=(4, 3, 5))
    found = invariants(A, W)
    assert list(found) == list(INVARIANTS)
    for m in range(4):
        parts = np.array([np.outer(A[m, :, r], W[m, r]).sum() for r in range(3)])
        shares = parts / parts.sum()
        assert found["total"][m] == pytest.approx((A[m] @ W[m]).sum(), rel=1e-12)
        assert found["largest_share"][m] == pytest.approx(shares.max(), rel=1e-12)
        assert found["share_entropy"][m] == pytest.approx(-(shares * np.log(shares)).sum())
        pairs = [(0, 1), (0, 2), (1, 2)]
        for key, columns in (("overlap", A[m]), ("overlap_weights", W[m].T)):
            units = columns / np.linalg.norm(columns, axis=0)
            largest = max(units[:, r] @ units[:, s] for r, s in pairs)
            assert found[key][m] == pytest.approx(largest, rel=1e-12)
        ratio = A[m].sum(axis=0) / np.linalg.norm(A[m], axis=0)
        hoyer = ((np.sqrt(8) - ratio) / (np.sqrt(8) - 1)).mean()
        assert found["sparseness"][m] == pytest.approx(hoyer, rel=1e-12)


def test_one_component_and_empty_ones_have_values():
    A, W = np.zeros((2, 4, 2)), np.zeros((2, 2, 3))
    A[1, 0, 0], W[1, 0] = 1.0, 1.0
    found = invariants(A, W)
    np.testing.assert_array_equal(found["largest_share"], [0.5, 1.0])
    np.testing.assert_array_equal(found["share_entropy"], [np.log(2.0), 0.0])
    np.testing.assert_array_equal(found["overlap"], [0.0, 0.0])
    assert all(np.isfinite(values).all() for values in found.values())
    single = invariants(np.ones((1, 4, 1)), np.ones((1, 1, 3)))
    assert (single["overlap"], single["overlap_weights"]) == (0.0, 0.0)
    assert single["total"] == 12.0


def test_no_particles_and_many_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    A, W = rng.exponential(size=(11, 4, 2)), rng.exponential(size=(11, 2, 3))
    whole = invariants(A, W)
    monkeypatch.setattr(module, "BLOCK", 24)
    for key, values in invariants(A, W).items():
        np.testing.assert_array_equal(values, whole[key])
    assert invariants(A[:0], W[:0])["total"].shape == (0,)


def test_both_solutions_of_the_two_solution_problem_agree_on_every_invariant():
    # Why R̂ on these numbers cannot see the second mode.
    truth = laurberg("two").truth
    found = invariants(np.stack([t.A for t in truth]), np.stack([t.W for t in truth]))
    for key, values in found.items():
        assert values[0] == pytest.approx(values[1], rel=1e-12), key


def test_each_says_what_it_is():
    for key, known in INVARIANTS.items():
        assert known.key == key and known.label and known.summary.endswith(".")
