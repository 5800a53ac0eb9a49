"""The model that is proposed, and the reason."""

import numpy as np
import pytest

from bnmf_core import Dataset, load_sample
from bnmf_core.analysis.proposal import proposal
from tests.evidence.test_variation import planted

SHAPE = (96, 40, 4, 20)


def test_counts_are_poisson_or_negative_binomial_by_how_much_they_vary():
    plain, varied = proposal(planted(SHAPE, 1)), proposal(planted(SHAPE, 3))
    assert plain.model == "poisson" and "about as Poisson predicts" in plain.reason
    assert varied.model == "negative_binomial" and "as much as Poisson allows" in varied.reason


def test_ratings_vary_less_than_counts_and_have_gaussian_noise():
    """Answers from 0 to 4; binomial ones, and rounded ones of normal noise."""
    rng = np.random.default_rng(0)
    part = rng.random((14, 3)) @ rng.dirichlet(np.ones(3), 150).T
    rounded = np.clip(np.rint(4 * part + 0.5 * rng.normal(size=part.shape)), 0, 4)
    for X in (rounded, rng.binomial(4, 0.9 * part)):
        found = proposal(Dataset.from_array(X.astype(float)))
        assert found.model == "gaussian" and "vary less than Poisson counts" in found.reason
    for mean in (0.3, 2.0, 30.0):
        Y = mean * (rng.gamma(1, 1, (60, 4)) @ rng.gamma(1, 1, (4, 40))) / 4
        X = rng.poisson(Y)
        assert proposal(Dataset.from_array(X[X.any(axis=1)].astype(float))).model != "gaussian"


@pytest.mark.parametrize(
    ("made", "model", "words"),
    [
        (lambda X: X / X.sum(axis=0), "kl", "from before it was scaled."),
        (np.log1p, "gaussian", "before the logarithm was taken."),
        (lambda X: X + 0.5 * np.random.default_rng(0).random(X.shape), "gaussian", "neither"),
        (lambda X: X * 2**45, "gaussian", "divide them by a common number"),
    ],
    ids=["scaled", "logarithms", "other", "too many"],
)
def test_what_counts_were_made_into_has_a_model_and_a_way_back(made, model, words):
    found = proposal(Dataset.from_array(made(planted(SHAPE, 1).X)))
    assert found.model == model and words in found.reason and found.variation is None


def test_grey_levels_keep_the_usual_model():
    assert proposal(load_sample("digits")).model == "gaussian"
