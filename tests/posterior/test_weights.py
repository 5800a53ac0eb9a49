"""Stein weights: optimality, agreement of solvers, what must not change them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bnmf_core.core.errors import DataError, RunError, SettingsError
from bnmf_core.core.spec import RunSpec
from bnmf_core.posterior import weights as module
from bnmf_core.posterior.places import positions
from bnmf_core.posterior.stein import Products, kernel_matrix, ksd
from bnmf_core.posterior.weights import SOLVERS, kkt_residual, stein_weights
from bnmf_core.runs import engine
from tests.generated import generated


def gram(seed, M, n, spread=1.0):
    """A kernel matrix of rank n at most, with diagonals over e^(±2·spread) or so."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((M, n)) + 0.7
    x *= np.exp(spread * rng.standard_normal((M, 1)))
    K = x @ x.T
    return 0.5 * (K + K.T)


@pytest.fixture(scope="module")
def kernels(small):
    """Kernel matrices of real collections, of both forms."""
    made = []
    for algorithm, model in (("random_restarts", "gaussian"), ("hmc", "silf")):
        spec = RunSpec(algorithm, 3, model, 30, 1, {"warm_up": 20} if algorithm == "hmc" else {})
        run = engine.run(small, spec)
        for form in ("interior", "paper"):
            made.append(
                kernel_matrix(run, small, form, *Products.of(positions(run, form)).median_lengths())
            )
            made.append(kernel_matrix(run, small, form))
    return made


def assert_optimal(K, w, tolerance=1e-8):
    assert w.shape == (K.shape[0],)
    assert (w >= 0).all() and w.sum() == pytest.approx(1.0, abs=1e-14)
    assert kkt_residual(K, w) < tolerance


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_of_real_collections_are_optimal(kernels, solver):
    for K in kernels:
        w = stein_weights(K, solver)
        assert_optimal(K, w, 1e-6 if solver == "SCS" else 1e-8)
        slopes, value = K @ w, ksd(K, w)
        assert (slopes >= value * (1 - 1e-6)).all()
        np.testing.assert_allclose(slopes[w > 1e-4], value, rtol=1e-3)
        assert value <= ksd(K, np.full(w.size, 1 / w.size)) * (1 + 1e-12)
        assert value <= np.diagonal(K).min() * (1 + 1e-12)


def test_the_solvers_agree(kernels):
    for K in kernels:
        values = [ksd(K, stein_weights(K, solver)) for solver in SOLVERS]
        np.testing.assert_allclose(values, values[0], rtol=1e-7)
    K = gram(1, 20, 40)  # one optimum only
    answers = [stein_weights(K, solver) for solver in SOLVERS]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], atol=1e-6)


@generated(30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(26, 40), st.floats(0, 3))
@example(51964, 24, 29, 3.0)  # HIGHS alone stops at 8e-8
def test_weights_are_optimal_however_different_the_particles_are(seed, M, n, spread):
    K = gram(seed, M, n, spread)
    assert_optimal(K, stein_weights(K))


@generated(20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20))
def test_more_particles_never_raise_the_optimum(seed, M):
    K = gram(seed, M, 30)
    whole = ksd(K, stein_weights(K))
    part = K[: M - 1, : M - 1]
    assert whole <= ksd(part, stein_weights(part)) * (1 + 1e-9)


@generated(20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_duplicates_and_order_leave_the_optimum_unchanged(seed, M):
    K = gram(seed, M, 20)
    rng = np.random.default_rng(seed)
    once = stein_weights(K)
    several = rng.permutation(np.concatenate([np.arange(M), rng.integers(0, M, M)]))
    repeated = stein_weights(K[np.ix_(several, several)])
    assert ksd(K, once) == pytest.approx(ksd(K[np.ix_(several, several)], repeated), rel=1e-8)
    np.testing.assert_allclose(np.bincount(several, repeated, M), once, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-200, 1e-12, 1e12, 1e200])
def test_the_unit_of_the_kernel_does_not_matter(factor):
    K = gram(2, 15, 30)
    np.testing.assert_allclose(stein_weights(factor * K), stein_weights(K), atol=1e-9)


def test_answers_that_are_known():
    np.testing.assert_array_equal(stein_weights([[3.0]]), [1.0])
    # Independent particles: weights ∝ 1/K_ii.
    np.testing.assert_allclose(stein_weights(np.diag([1.0, 2.0, 4.0])), np.array([4, 2, 1]) / 7)
    # The second is worse in every mixture.
    np.testing.assert_allclose(stein_weights([[1.0, 1.5], [1.5, 4.0]]), [1, 0], atol=1e-12)
    # Two that cancel.
    np.testing.assert_allclose(stein_weights([[1.0, -1.0], [-1.0, 1.0]]), [0.5, 0.5], atol=1e-9)
    np.testing.assert_array_equal(stein_weights(np.zeros((3, 3))), np.full(3, 1 / 3))
    np.testing.assert_array_equal(stein_weights(np.diag([0.0, 1.0, 0.0])), [0.5, 0, 0.5])


def test_the_residual_tells_good_weights_from_others():
    K = gram(3, 10, 20)
    w = stein_weights(K)
    assert kkt_residual(K, w) < 1e-10
    worse = 0.99 * w + 0.01 * np.eye(10)[np.argmax(K @ w)]
    assert kkt_residual(K, worse) > 1e-4
    assert kkt_residual(K, 1.1 * w) >= 0.1 - 1e-9
    turned = w.copy()
    turned[:2] += [0.5, -0.5 - w[1]]
    assert kkt_residual(K, turned) >= 0.5 - 1e-9


def test_a_matrix_that_is_no_kernel_is_refused_with_its_eigenvalue():
    with pytest.raises(DataError, match="has the eigenvalue -1,"):
        stein_weights([[1.0, 2.0], [2.0, 1.0]])
    # Rounding is forgiven.
    K = gram(4, 10, 3)
    assert np.isfinite(stein_weights(K - 1e-12 * np.trace(K) * np.eye(10))).all()
    for wrong, sentence in (
        (np.ones((2, 3)), "is square; this one is 2×3"),
        (np.ones((0, 0)), "is square; this one is 0×0"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "not symmetric"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "not finite"),
    ):
        with pytest.raises(DataError, match=sentence):
            stein_weights(wrong)


def test_solvers_that_do_not_exist_or_fail_are_named(monkeypatch):
    with pytest.raises(SettingsError, match="no solver 'QUICK'; choose one of HIGHS"):
        stein_weights(np.eye(2), "QUICK")
    monkeypatch.setitem(module.OPTIONS, "SCS", {"max_iters": 1})
    with pytest.raises(RunError, match="SCS found"):
        stein_weights(gram(5, 30, 40, 2.0), "SCS")
