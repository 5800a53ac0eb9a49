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
