"""What is shown of a fit of counts is 1 − D² of scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import d2_tweedie_score

from bnmf_core import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import MODELS, kullback_leibler, negative_binomial

RNG = np.random.default_rng(0)
A, W = RNG.gamma(2, 1, (1, 12, 2)), RNG.gamma(2, 1, (1, 2, 15))
X = RNG.poisson(A[0] @ W[0]).astype(float)
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)


def shown(X, loss=kullback_leibler.LOSS):
    dataset = Dataset.from_array(X)
    problem = Problem.without_model(dataset, 2, loss=loss)
    return float(loss.measured(dataset, loss.values(problem, A, W))[0])


@pytest.mark.parametrize("given", [X, sparse.csc_array(X), GAPS], ids=["all", "sparse", "gaps"])
def test_unexplained_deviance_is_what_scikit_learn_says(given):
    seen = ~np.isnan(given) if given is GAPS else np.ones(X.shape, bool)
    expected = d2_tweedie_score(X[seen], (A[0] @ W[0])[seen], power=1)
    assert 1.0 - shown(given) == pytest.approx(expected, abs=1e-4)


def test_of_the_negative_binomial_with_little_dispersion_it_is_that_of_poisson():
    assert shown(
        X, negative_binomial.loss(negative_binomial.Settings(dispersion=1e6))
    ) == pytest.approx(shown(X), rel=1e-3)


@pytest.mark.parametrize("model", ["poisson", "kl", "negative_binomial"])
def test_counts_are_told_by_the_deviance_that_is_explained(model):
    loss = MODELS[model].loss(MODELS[model].Settings())
    assert (loss.measure, loss.heading) == ("unexplained deviance", "deviance explained")
    assert loss.format(0.07) == "93.0 %"
    dataset = Dataset.from_array(X)
    assert loss.unmeasured(dataset, loss.measured(dataset, 5.0)) == pytest.approx(5.0)


def test_a_matrix_without_variation_is_shown_as_a_part_of_its_size():
    assert np.isfinite(shown(np.full(X.shape, 3.0)))
