"""Boolean Gibbs draws from its posterior: every state of a small table is counted."""

from itertools import product

import numpy as np
import pytest
from scipy import integrate, special, stats

from bnmf_core import Dataset, RunSpec, boolean_tiles
from bnmf_core.boolean import boolean_gibbs
from bnmf_core.boolean import model as boolean
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.runs import engine

TABLE = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
GAP = np.array([[1.0, 0.0], [1.0, np.nan], [0.0, 1.0]])
R = 2


def half_beta(wrong, right):
    """∫ p^wrong (1 − p)^right dp from 0 to ½."""
    a, b = wrong + 1, right + 1
    return special.beta(a, b) * special.betainc(a, b, 0.5)


def enumerated(X, on, rates=None):
    """Every state of A (3, 2) and W (2, 2), and its probability; open rates are integrated out."""
    states = np.array(list(product([0.0, 1.0], repeat=10)))
    A, W = states[:, :6].reshape(-1, 3, R), states[:, 6:].reshape(-1, R, 2)
    covered, seen = boolean_product(A, W), ~np.isnan(X)
    flips = [((X == 1) & ~covered, (X == 0) & ~covered), ((X == 0) & covered, (X == 1) & covered)]
    p = on ** states.sum(axis=1) * (1 - on) ** (10 - states.sum(axis=1))
    for i, cells in enumerate(flips):
        wrong, right = ((part & seen).sum(axis=(1, 2)) for part in cells)
        if rates is None:
            p = p * half_beta(wrong, right)
        else:
            p = p * rates[i] ** wrong * (1 - rates[i]) ** right
    return A, W, p / p.sum()


def functions(A, W):
    on = boolean_product(A, W)
    return {
        "first of A": A[:, 0, 0],
        "last of W": W[:, 1, 1],
        "ones": A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)),
        "cell": on[:, 1, 1],
        "cells": on.sum(axis=(1, 2)),
        "both tiles": A[:, 1].prod(axis=1) * W[:, :, 1].prod(axis=1),
    }


@pytest.mark.slow
@pytest.mark.parametrize("X", [TABLE, GAP], ids=["whole", "gap"])
@pytest.mark.parametrize("rates", [(0.1, 0.2), None], ids=["known rates", "open rates"])
def test_draws_are_those_of_enumeration(X, rates):
    chains, on = 16, 0.4
    known = {} if rates is None else {"false_positive": rates[0], "false_negative": rates[1]}
    settings = {"chains": chains, "warm_up": 20, "start": "prior", "on": on} | known
    spec = RunSpec("boolean_gibbs", R, "boolean", chains * 500, 3, settings)
    particles = engine.run(Dataset.from_array(X), spec)
    A, W, p = enumerated(X, on, rates)
    found = functions(np.asarray(particles.A), np.asarray(particles.W))
    for name, values in functions(A, W).items():
        # Chains are independent: the spread of their means tells the error of all of them.
        means = np.array([found[name][particles.chain == c].mean() for c in range(chains)])
        error = means.std(ddof=1) / np.sqrt(chains)
        assert abs(means.mean() - p @ values) < 5 * error, name
        assert error < 0.06


@pytest.mark.parametrize("X", [TABLE, GAP], ids=["whole", "gap"])
def test_an_entry_is_1_up_to_the_uniform_that_enumeration_says(X):
    """P(entry = 1 | all else) is the share of one state among two; just above it the draw is 0."""
    on, rates = 0.4, (0.1, 0.2)
    A, W, p = enumerated(X, on, rates)
    problem = Problem(Dataset.from_array(X), boolean.MODEL, boolean.Settings(), R)
    evidence = boolean_gibbs.log_ratios(problem, np.array(rates))
    chances = {(*a.ravel(), *w.ravel()): one for a, w, one in zip(A, W, p, strict=True)}
    for i in np.random.default_rng(8).choice(p.size, 60, replace=False):
        for r, d in ((0, 0), (1, 1), (0, 2)):
            pair = [A[i].copy(), A[i].copy()]
            pair[0][d, r], pair[1][d, r] = 0.0, 1.0
            off, one = (chances[(*a.ravel(), *W[i].ravel())] for a in pair)
            for beside, value in ((1 - 1e-9, 1.0), (1 + 1e-9, 0.0)):
                F = A[i][d : d + 1].T.copy()
                others = np.arange(R) != r
                # The others keep their values: −1 always gives 1, and 2 never does.
                uniform = np.where(F > 0, -1.0, 2.0)
                uniform[r] = beside * one / (off + one)
                boolean_gibbs.draw_entries(
                    F, W[i], F.T @ W[i], evidence[d : d + 1], special.logit(on), uniform
                )
                assert F[r, 0] == value
                np.testing.assert_array_equal(F[others, 0], A[i][d, others])


def test_the_cut_keeps_yes_and_no_apart():
    rng = np.random.default_rng(4)
    for a, b in ((1.0, 1.0), (3.0, 40.0), (40.0, 3.0)):
        drawn = np.array([boolean_gibbs.cut_beta(a, b, u) for u in rng.random(4000)])
        assert drawn.max() <= 0.5
        cdf = stats.beta(a, b).cdf
        assert stats.kstest(drawn, lambda x, cdf=cdf: cdf(x) / cdf(0.5)).pvalue > 1e-4


def test_a_rate_that_belongs_far_above_a_half_is_just_below_it():
    a, b = 9000.0, 20.0
    drawn = [boolean_gibbs.cut_beta(a, b, u) for u in (0.1, 0.5, 0.9)]
    log_density = lambda x: (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)  # noqa: E731
    top = log_density(0.5)
    total = integrate.quad(lambda x: np.exp(log_density(x) - top), 0.49, 0.5)[0]
    for x, u in zip(drawn, (0.1, 0.5, 0.9), strict=True):
        below = integrate.quad(lambda y: np.exp(log_density(y) - top), 0.49, x)[0]
        assert below / total == pytest.approx(u, abs=1e-2)


def test_the_number_of_covering_tiles_stays_true():
    rng = np.random.default_rng(5)
    F, other = (rng.random((3, n)) < 0.4 for n in (7, 9))
    F, other = F.astype(float), other.astype(float)
    covers = F.T @ other
    boolean_gibbs.draw_entries(F, other, covers, rng.normal(size=(7, 9)), 0.3, rng.random(F.shape))
    np.testing.assert_array_equal(covers, F.T @ other)


def test_own_log_posterior_follows_from_its_definition():
    data = boolean_tiles(30, 40, 3, rng=np.random.default_rng(6))
    settings = {"chains": 2, "warm_up": 2, "start": "known"}
    particles = engine.run(data, RunSpec("boolean_gibbs", 3, "boolean", 4, 1, settings))
    for m in range(4):
        A, W = particles.A[m], particles.W[m]
        assert set(np.unique(A)) | set(np.unique(W)) <= {0.0, 1.0}
        rates = [particles.diagnostics[f"false_{side}"][m] for side in ("positive", "negative")]
        covered = boolean_product(A, W)
        p_one = np.where(covered, 1 - rates[1], rates[0])
        expected = np.log(np.where(data.X == 1, p_one, 1 - p_one)).sum()
        expected += (A.size + W.size) * np.log(0.5)
        assert particles.diagnostics["log_posterior"][m] == pytest.approx(expected, rel=1e-12)
        assert particles.diagnostics["flipped"][m] == (covered != data.X).sum()


@pytest.mark.slow
def test_from_box_gibbs_the_tiles_and_the_rates_are_found():
    data = boolean_tiles(128, 128, 5, 0.05, rng=np.random.default_rng(7))
    known = data.truth[0]
    C = boolean_product(known.A, known.W)
    spec = RunSpec("boolean_gibbs", 5, "boolean", 60, 1, {"chains": 1, "warm_up": 20})
    particles = engine.run(data, spec)
    on = np.mean([boolean_product(*pair) for pair in zip(particles.A, particles.W, strict=True)], 0)
    assert ((on > 0.5) != C).sum() <= 0.03 * C.sum()
    for side, cells, wrong in (("positive", ~C, data.X == 1), ("negative", C, data.X == 0)):
        rate = particles.diagnostics[f"false_{side}"].mean()
        assert rate == pytest.approx((wrong & cells).sum() / cells.sum(), abs=0.02)
