"""PosteriorNMF is a scikit-learn estimator, and says what the engine says."""

import pickle

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bnmf_core import Dataset, PosteriorNMF, RunSpec, find_modes, laurberg, mode_evidence, run
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances import distances
from bnmf_core.core.errors import BNMFError, SettingsError


@pytest.fixture(scope="module")
def two() -> np.ndarray:
    """Samples × features with exactly two factorizations of 3 components."""
    return laurberg("two", noise=0.001, rng=np.random.default_rng(0)).X.T


@pytest.fixture(scope="module")
def fitted(two):
    return PosteriorNMF(3, n_restarts=30, random_state=0).fit(two)


@parametrize_with_checks([PosteriorNMF(n_restarts=3)])
def test_scikit_learn_takes_it_for_one_of_its_own(estimator, check):
    check(estimator)


def test_its_modes_are_those_of_the_engine(fitted, two):
    particles = run(Dataset.from_array(two.T), RunSpec("random_restarts", 3, particles=30))
    modes = find_modes(distances(particles), threshold=15.0)
    assert len(fitted.modes_) == modes.count == 2
    assert fitted.modes_["size"].tolist() == modes.size.tolist()
    assert fitted.modes_["share"].sum() == pytest.approx(1.0)
    A = particles.A[modes.representative[0]]
    assert sorted(fitted.components_.sum(axis=1)) == pytest.approx(sorted(A.sum(axis=0)))


def test_another_mode_is_chosen_without_another_fit(fitted, two):
    first = fitted.components_
    other = clone(fitted)
    with pytest.raises(NotFittedError):
        other.transform(two)
    chosen = pickle.loads(pickle.dumps(fitted)).set_params(mode=1)
    assert not np.allclose(chosen.components_, first, rtol=0.1)
    # Components of all modes are in one order, the largest of the first mode first.
    assert matching(chosen.components_.T[None], first.T)[0].tolist() == [0, 1, 2]
    for estimator in (fitted, chosen):
        product = estimator.inverse_transform(estimator.transform(two))
        error = np.linalg.norm(two - product)
        assert error == pytest.approx(estimator.reconstruction_err_, rel=1e-3)
        row = estimator.modes_.loc[estimator.mode]
        assert row["error"] == pytest.approx(error / np.linalg.norm(two), rel=1e-3)
        assert estimator.n_iter_ >= 1
    with pytest.raises(SettingsError, match="Mode 2 was chosen; 2 were found"):
        chosen.set_params(mode=2).transform(two)


def test_weights_of_new_samples_are_least_squares(fitted):
    new = np.random.default_rng(1).random((4, 6))
    expected = [optimize.nnls(fitted.components_.T, row)[0] for row in new]
    assert fitted.transform(new) == pytest.approx(np.array(expected), abs=1e-8)
    assert fitted.transform(new[:1]) == pytest.approx(np.array(expected[:1]), abs=1e-8)
    assert fitted.transform(sparse.csr_array(new)) == pytest.approx(np.array(expected), abs=1e-8)
    relative = np.linalg.norm(new - np.array(expected) @ fitted.components_) / np.linalg.norm(new)
    assert fitted.score(new) == pytest.approx(-relative)


def test_weights_under_counts_make_their_own_loss_small():
    rng = np.random.default_rng(2)
    X = rng.poisson(rng.gamma(1.0, 3.0, (40, 2)) @ rng.gamma(1.0, 1.0, (2, 8))).astype(float)
    nmf = PosteriorNMF(2, model="poisson", n_restarts=5, random_state=0).fit(X)

    def divergence(weights):
        product = weights @ nmf.components_
        return float((product - X * np.log(np.where(X > 0, product, 1.0))).sum())

    W = nmf.transform(X)
    least = divergence(W)
    for moved in (W * 1.01, W * 0.99, np.maximum(W + rng.normal(0, 0.05, W.shape), 1e-9)):
        assert divergence(moved) > least


def test_missing_entries_are_left_out(two):
    gaps = two.copy()
    gaps[0, 1] = np.nan
    nmf = PosteriorNMF(2, n_restarts=5, random_state=0).fit(gaps)
    product = nmf.inverse_transform(nmf.transform(gaps))
    assert np.sqrt(np.nansum((gaps - product) ** 2)) == pytest.approx(
        nmf.reconstruction_err_, rel=1e-3
    )


def test_it_works_in_a_pipeline_and_a_search():
    rng = np.random.default_rng(3)
    X = rng.gamma(1.0, 1.0, (60, 2)) @ rng.gamma(0.3, 1.0, (2, 12))
    y = X[:, 0] > np.median(X[:, 0])
    pipe = make_pipeline(
        MinMaxScaler(clip=True), PosteriorNMF(2, n_restarts=4, random_state=0), LogisticRegression()
    ).set_output(transform="pandas")
    search = GridSearchCV(pipe, {"posteriornmf__n_components": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    weights = search.best_estimator_[:-1].transform(X)
    names = [f"posteriornmf{r}" for r in range(weights.shape[1])]
    assert weights.columns.tolist() == names
    assert search.best_estimator_[1].get_feature_names_out().tolist() == names


def test_masses_are_those_of_the_engine(two):
    settings = {"sigma": 0.05}
    nmf = PosteriorNMF(
        3, model_settings=settings, n_restarts=10, posterior_mass=True, random_state=0
    ).fit(two)
    dataset = Dataset.from_array(two.T)
    again = mode_evidence(dataset, nmf.factorizations_, rng=np.random.default_rng(0))
    assert nmf.modes_["mass"].to_numpy() == pytest.approx(again["mass"].to_numpy())
    assert (nmf.modes_["mass_low"] <= nmf.modes_["mass"]).all()
    assert nmf.modes_["mass"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_components": 0}, "n_components was 0; a whole number"),
        ({"n_components": 2.5}, "n_components was 2.5; a whole number"),
        ({"model": "boolean"}, "bounds weights above"),
        ({"model": "uniform", "posterior_mass": True}, "Modes cannot be weighed"),
        ({"model": "no such"}, "no such"),
        ({"algorithm": "no such"}, "no such"),
        ({"n_restarts": 0}, "0 factorizations were asked for"),
        ({"threshold": -1.0}, "must be ≥ 0"),
        ({"mode": 7}, "Mode 7 was chosen"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(two, parameters, sentence):
    with pytest.raises(BNMFError, match=sentence):
        PosteriorNMF(**{"n_restarts": 3, "random_state": 0} | parameters).fit(two)


def test_what_cannot_be_the_weights_is_said(fitted):
    with pytest.raises(SettingsError, match=r"\(n_samples, 3\) is needed"):
        fitted.inverse_transform(np.ones((2, 4)))
