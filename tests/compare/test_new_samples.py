"""New samples by known components: beside other solvers, planted answers, and samples of others."""

import numpy as np
import pytest
from scipy import optimize, sparse

from bnmf_core.compare.new_samples import (
    apply_components,
    at_places,
    describe_fit,
    describe_largest,
    new_samples_table,
)
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.likelihoods import MODELS

D, R, N, M = 30, 3, 60, 25
NAMES = [f"Gene{d}" for d in range(D)]
KL = MODELS["poisson"].loss(MODELS["poisson"].Settings())


def made(seed, noise=0.02):
    """Components, the samples that were analysed, and the weights and data of new ones."""
    rng = np.random.default_rng(seed)
    A, W, new = rng.gamma(0.5, 1.0, (D, R)), rng.gamma(1.0, 1.0, (R, N)), rng.gamma(1, 1, (R, M))
    known = Dataset.from_array(np.abs(A @ W + noise * rng.normal(size=(D, N))), features=NAMES)
    X = np.abs(A @ new + noise * rng.normal(size=(D, M)))
    return A, known, new, X


def test_planted_weights_are_recovered_whatever_the_order_and_the_spelling_of_features():
    A, known, W, X = made(0, noise=0.0)
    order = np.random.default_rng(1).permutation(D)
    new = Dataset.from_array(X[order], features=[NAMES[d].upper() for d in order])
    found = apply_components(A[None], known, new, SQUARED_ERROR)
    np.testing.assert_allclose(found.W[0], W, atol=1e-8)
    np.testing.assert_allclose(found.misfit, 0.0, atol=1e-6)
    parts = W * A.sum(axis=0)[:, None]
    np.testing.assert_allclose(found.shares[0], parts / parts.sum(axis=0), atol=1e-8)


def test_least_squares_are_those_of_scipy_and_misfits_those_of_their_definition():
    A, known, _, X = made(2, noise=0.5)
    bases = np.stack([A, A[:, ::-1] + 0.1])
    found = apply_components(bases, known, Dataset.from_array(X, features=NAMES), SQUARED_ERROR)
    for k, n in np.ndindex(2, M):
        w, residual = optimize.nnls(bases[k], X[:, n])
        np.testing.assert_allclose(found.W[k, :, n], w, atol=1e-9)
        assert found.misfit[k, n] == pytest.approx(residual / np.linalg.norm(X[:, n]))
    usual = np.zeros(N)
    for fold in range(5):
        out = np.arange(N) % 5 == fold
        refitted, W = A.copy(), np.ones((R, N - out.sum()))
        for turn in range(3000):  # Lee and Seung's updates
            W *= refitted.T @ known.X[:, ~out] / (refitted.T @ refitted @ W)
            if turn > 50:
                refitted *= known.X[:, ~out] @ W.T / (refitted @ W @ W.T)
        for n in np.flatnonzero(out):
            x = known.X[:, n]
            usual[n] = optimize.nnls(refitted, x)[1] / np.linalg.norm(x)
    np.testing.assert_allclose(found.usual[0], usual, rtol=0.02)
    assert found.limits[0] == pytest.approx(np.quantile(found.usual[0], 0.95))
    np.testing.assert_array_equal(found.unlike[0], found.misfit[0] > found.limits[0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
def test_weights_of_counts_are_those_of_a_generic_optimizer(kind):
    A, _, W, _ = made(3)
    rng = np.random.default_rng(4)
    known = Dataset.from_array(
        kind(rng.poisson(20.0 * A @ rng.gamma(1, 1, (R, N)))), features=NAMES
    )
    X = rng.poisson(20.0 * A @ W).astype(float)
    found = apply_components(A[None], known, Dataset.from_array(kind(X), features=NAMES), KL)
    for n in range(M):
        x = X[:, n]

        def divergence(mean, x=x):
            logs = x * np.log(np.where(x > 0, x, 1.0) / np.where(x > 0, mean, 1.0))
            return float((logs - x + mean).sum())

        def f(w, of=divergence):
            return of(A @ w + 1e-300)

        start = np.full(R, x.sum() / A.sum())
        best = optimize.minimize(f, start, bounds=[(1e-12, None)] * R, method="L-BFGS-B")
        assert f(found.W[0, :, n]) == pytest.approx(best.fun, abs=2e-3)
        ours = f(found.W[0, :, n]) / divergence(np.full(D, x.mean()))
        assert found.misfit[0, n] == pytest.approx(ours, rel=1e-5)


def test_features_that_new_data_lack_are_refused_or_left_out_of_the_fit():
    A, known, W, X = made(5, noise=0.0)
    names = [*NAMES[4:], "other"]
    new = Dataset.from_array(np.vstack([X[4:], np.full(M, 50.0)]), features=names, name="new")
    with pytest.raises(DataError, match="26 of 30 features match by name. Missing in new: Gene0"):
        apply_components(A[None], known, new, SQUARED_ERROR)
    found = apply_components(A[None], known, new, SQUARED_ERROR, leave_out=True)
    assert "Ignored, not in matrix: other." in found.matched
    np.testing.assert_allclose(found.W[0], W, atol=1e-8)
    parts = W * A.sum(axis=0)[:, None]  # of all features, so that shares can be compared
    np.testing.assert_allclose(found.shares[0], parts / parts.sum(axis=0), atol=1e-8)


@pytest.mark.parametrize("turn", [1, -1], ids=["rising", "falling"])
def test_spectra_on_another_grid_are_interpolated_and_what_they_do_not_cover_is_lacking(turn):
    x, grid = np.arange(300.0, 620.0, 4.0), np.arange(310.0, 606.0, 5.0)
    peaks = np.array([360.0, 450.0, 540.0])
    rng = np.random.default_rng(11)
    A, at = (np.maximum(1 - np.abs(v[:, None] - peaks) / 60, 0) for v in (x, grid))
    W = rng.gamma(1.0, 1.0, (R, M))
    known = Dataset.from_array(A @ rng.gamma(1, 1, (R, N)), features=[f"{v:g} nm" for v in x])
    names = [f"{v:g} nm" for v in grid]
    new = Dataset.from_array((at @ W)[::turn], features=names[::turn], name="new")
    with pytest.raises(DataError, match="interpolated to 74 of 80 analysed .* Missing in new: 300"):
        apply_components(A[None], known, new, SQUARED_ERROR)
    found = apply_components(A[None], known, new, SQUARED_ERROR, leave_out=True)
    assert found.matched.startswith(
        "The new samples are interpolated to 74 of 80 analysed places, from 60 of their own. "
        "Missing in new: 300 nm, 304 nm"
    )
    # Corners and tops of the peaks are places of the new ones; between them all is straight.
    np.testing.assert_allclose(found.W[0], W, atol=1e-8)
    lines = at_places(known, new)
    expected = [np.interp(x[3:77], grid, (at @ W)[:, n]) for n in range(M)]
    np.testing.assert_allclose(lines.X, np.transpose(expected), atol=1e-12)
    assert lines.features == known.features[3:77]


def test_spectra_are_left_as_they_are_where_names_match_or_units_differ():
    x = np.arange(400, 500, 10)
    known = Dataset.from_array(np.ones((10, 2)), features=[f"{v} nm" for v in x])
    for names in ([f"{v} NM" for v in x], [f"{v}.5 um" for v in x], [f"word {v % 7}a" for v in x]):
        assert at_places(known, Dataset.from_array(np.ones((10, 2)), features=names)) is None
    far = Dataset.from_array(np.ones((10, 2)), features=[f"{v + 300} nm" for v in x])
    with pytest.raises(DataError, match="cover 700 to 790 nm, the analysed ones 400 to 490; they"):
        at_places(known, far)


def test_nothing_shared_and_other_numbers_of_nameless_features_are_refused():
    A, known, _, X = made(6)
    other = Dataset.from_array(X, features=[f"word {d}" for d in range(D)])
    with pytest.raises(DataError, match="No feature"):
        apply_components(A[None], known, other, SQUARED_ERROR, leave_out=True)
    nameless = Dataset.from_array(known.X)
    with pytest.raises(DataError, match="no names"):
        apply_components(A[None], nameless, Dataset.from_array(X[1:]), SQUARED_ERROR)
    found = apply_components(A[None], nameless, Dataset.from_array(X), SQUARED_ERROR)
    assert found.matched == "30 of 30 features match by place."


def test_samples_of_a_component_that_was_not_analysed_are_marked_and_others_are_not():
    A, known, _, X = made(7, noise=0.05)
    rng = np.random.default_rng(8)
    strange = rng.gamma(0.5, 1.0, (D, 5))
    names = [f"old {n}" for n in range(M)] + [f"strange {n}" for n in range(5)]
    new = Dataset.from_array(np.hstack([X, strange]), features=NAMES, observations=names)
    found = apply_components(A[None], known, new, SQUARED_ERROR)
    assert found.unlike[0, M:].all() and found.unlike[0, :M].sum() <= 4
    said = describe_fit(found, 0, "mode 1", new.observations)
    assert "strange" in said and said.endswith("not made of these components alone.")
    alike = apply_components(A[None], known, Dataset.from_array(X, features=NAMES), SQUARED_ERROR)
    assert "not made of" not in describe_fit(alike, 0, "mode 1", names)


def test_a_sample_of_zeros_has_no_misfit_and_no_component():
    A, known, _, X = made(9)
    X[:, 3] = 0.0
    found = apply_components(A[None], known, Dataset.from_array(X, features=NAMES), SQUARED_ERROR)
    assert np.isnan(found.misfit[0, 3]) and not found.unlike[0, 3] and found.groups[0, 3] == -1


def test_missing_entries_are_left_out():
    A, known, W, X = made(10, noise=0.0)
    X[0, 0] = X[5, 2] = np.nan
    found = apply_components(A[None], known, Dataset.from_array(X, features=NAMES), SQUARED_ERROR)
    np.testing.assert_allclose(found.W[0], W, atol=1e-8)
    np.testing.assert_allclose(found.misfit, 0.0, atol=1e-6)


def test_a_sample_whose_largest_component_depends_on_the_mode_is_named():
    A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    other = np.array([[1.0, 0.3], [0.0, 1.0], [1.0, 0.0]])
    X = A @ np.array([[3.0, 0.0, 1.0], [0.0, 3.0, 1.1]])
    data = Dataset.from_array(X, features=["a", "b", "c"], observations=["x", "y", "z"])
    found = apply_components(np.stack([A, other]), data, data, SQUARED_ERROR)
    np.testing.assert_array_equal(found.groups[:, 2], [1, 0])
    modes = ["mode 1", "mode 2"]
    said = describe_largest(found, modes, data.observations)
    assert said == "The largest component depends on the mode for 1 of 3 samples: z."
    assert describe_largest(found, modes[:1], data.observations) == ""
    table = new_samples_table(found, modes, data.observations, ["1", "2"])
    assert table["largest component"].tolist() == ["1", "2", "2", "1", "2", "1"]
    np.testing.assert_allclose(table["weight of 1"], found.W[:, 0].ravel())


def test_analysed_samples_left_out_fit_as_new_ones_do_and_those_fitted_to_better():
    gap, of_fit_itself = [], []
    for seed in range(20):
        A, known, _, X = made(20 + seed, noise=0.6)
        known = known.columns(np.arange(20))
        start, W = np.maximum(A, 0.1), np.full((R, 20), 0.5)
        for _ in range(400):
            W *= start.T @ known.X / (start.T @ start @ W)
            start *= known.X @ W.T / (start @ W @ W.T)
        new = Dataset.from_array(X, features=NAMES)
        found = apply_components(start[None], known, new, SQUARED_ERROR)
        gap.append(found.misfit.mean() - found.usual.mean())
        own = [optimize.nnls(start, x)[1] / np.linalg.norm(x) for x in known.X.T]
        of_fit_itself.append(found.misfit.mean() - np.mean(own))
    assert abs(np.mean(gap)) < 0.25 * np.mean(of_fit_itself)
