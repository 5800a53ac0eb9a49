"""Matching by rough costs: what is sure is the best, and what is in doubt is found exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.compare.distances import DISTANCES, costs, rough
from bnmf_core.compare.distances.assignment import assign
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.compare.distances.rough_assignment import COUNT, assign_roughly
from bnmf_core.compare.distances.scaling import unit_l1_columns, unit_l2_columns
from tests.generated import always

generated = always(60)
ROWS = {costs.angles: unit_l2_columns, costs.absolute_differences: unit_l1_columns}
KINDS = pytest.mark.parametrize("cost", ROWS, ids=["angles", "differences"])
BASES = ("spread", "sparse", "alike", "copies")


def bases(kind, rng, M, P, R):
    """(M, P, R) of columns far apart, with few entries, in one mode, or all the same."""
    if kind == "spread":
        return rng.gamma(0.5, size=(M, P, R))
    if kind == "sparse":
        return rng.gamma(0.5, size=(M, P, R)) * (rng.random((M, P, R)) < 0.3) + 1e-9
    one = np.repeat(rng.gamma(1.0, size=(1, P, R)), M, axis=0)
    return one if kind == "copies" else one * rng.uniform(0.9, 1.1, size=one.shape)


def solved(matrices, error=0.0):
    """Permutation (M, R) of costs (M, R, R), and whether it is sure (M,)."""
    M, R, _ = matrices.shape
    flat = np.zeros(matrices.size + COUNT, np.float32)
    flat[: matrices.size] = matrices.transpose(1, 0, 2).ravel()  # K = 1, L = M
    permutation, sure = np.empty((1, M, R), np.int64), np.empty((1, M), bool)
    assign_roughly(flat, np.inf, error, permutation, sure)
    return permutation[0], sure[0]


def total(matrices, permutation):
    return np.take_along_axis(matrices, permutation[..., None], axis=-1)[..., 0].sum(axis=-1)


@given(R=st.integers(2, COUNT), seed=st.integers(0, 10_000), whole=st.booleans())
@generated
def test_what_is_sure_is_the_best_and_ties_never_are(R, seed, whole):
    rng = np.random.default_rng(seed)
    shape = (8, R, R)
    matrices = rng.integers(0, 4, shape).astype(float) if whole else rng.random(shape)
    permutation, sure = solved(matrices)
    best = assign(matrices)
    assert (np.sort(permutation, axis=1) == np.arange(R)).all()
    np.testing.assert_array_equal(permutation[sure], best[sure])
    np.testing.assert_allclose(total(matrices, permutation), total(matrices, best), atol=1e-4)
    if not whole:
        assert sure.mean() > 0.5
    # Two rows that are the same can be exchanged.
    matrices[:, 1] = matrices[:, 0]
    assert not solved(matrices)[1].any()


@pytest.mark.parametrize(("lead", "sure"), [(1e-2, True), (1e-4, False)])
def test_a_lead_within_the_error_is_no_lead(lead, sure):
    """A circle through all rows, which costs ``lead`` more than the diagonal."""
    R, error = 5, 1e-4
    matrix = np.full((R, R), 1.0)
    np.fill_diagonal(matrix, 0.5)
    for r in range(R):
        matrix[r, (r + 1) % R] = 0.5
    matrix[R - 1, 0] += lead
    permutation, found = solved(matrix[None], error)
    assert bool(found[0]) is sure
    assert permutation[0].tolist() == list(range(R)) or not sure


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("P", [20, 1000])
@KINDS
def test_totals_are_off_by_a_fraction_of_what_is_allowed(cost, P, kind):
    R, rng = 16, np.random.default_rng(P)
    rows = ROWS[cost](bases(kind, rng, 24, P, R))
    left, right = rows[:12], rows[12:]
    single = np.empty((12, R, 12, R), np.float32)
    rough.ROUGH[cost].costs(
        rough.rough_rows(cost, left)[0], rough.rough_rows(cost, right)[1], single
    )
    single, double = single.transpose(0, 2, 1, 3).astype(float), cost(left, right)
    near, most = rough.ROUGH[cost].error(P)
    least = np.maximum(single.min(axis=(2, 3)), 1e-30)
    allowed = 3.0 * np.sqrt(2 * R) * np.minimum(near / least, most)
    best = assign(double.reshape(-1, R, R)).reshape(12, 12, R)
    other = np.argsort(rng.random(best.shape), axis=2)
    off = [total(single, each) - total(double, each) for each in (best, other)]
    assert (np.abs(off[0] - off[1]) < 0.5 * allowed).all()


# Of matchings at the same total any may be taken, and the weighted angle weighs them apart.
TIED = ("whole numbers", "some empty", "some negative")
CASES = [("wad", kind) for kind in BASES]
CASES += [(key, kind) for key in ("max_angle", "l1_sum") for kind in (*BASES, *TIED)]


@pytest.mark.parametrize(("key", "kind"), CASES)
def test_distances_are_what_exact_costs_give(key, kind, monkeypatch):
    rng = np.random.default_rng(3)
    M, P, R = 40, 30, 7
    if kind in BASES:
        A = bases(kind, rng, M, P, R)
    else:
        A = rng.integers(0, 3, (M, P, R)).astype(float)
        if kind == "some empty":
            A[::3, :, 1] = A[1::5, :, 4] = 0.0
        if kind == "some negative":
            A -= 0.1
    W = rng.random((M, R, 5))
    found = pairwise(A, W, DISTANCES[key])
    monkeypatch.setattr(rough, "ROUGH", {})
    np.testing.assert_allclose(found, pairwise(A, W, DISTANCES[key]), rtol=0, atol=1e-9)


def test_more_components_than_fit_are_matched_exactly():
    rng = np.random.default_rng(4)
    rows = unit_l2_columns(rng.random((2, 30, COUNT + 1)))
    assert rough.rough_rows(costs.angles, rows) is None
    assert rough.rough_rows(costs.angles, rows[:, :COUNT]) is not None
    assert rough.rough_rows(costs.squared_differences, rows[:, :COUNT]) is None
