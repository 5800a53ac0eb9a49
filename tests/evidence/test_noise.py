"""Noise that is not alike in all entries, seen in residuals; a recommendation that knows it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import Dataset
from bnmf_core.evidence.noise import grows
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.findings.facts import say
from bnmf_core.findings.ranks import recommend
from tests.findings.test_ranks import AT_THREE, PEAK, study


def noisy(seed, relative, D=40, N=60):
    """A and W of rank 4 with entries ≥ 0, and X with a noise alike everywhere or like its mean."""
    rng = np.random.default_rng(seed)
    A, W = rng.gamma(1.0, size=(D, 4)), rng.gamma(1.0, size=(4, N))
    mean = A @ W
    sigma = 0.1 * (mean if relative else mean.mean())
    return A, W, np.maximum(mean + sigma * rng.standard_normal(mean.shape), 0.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_noise_that_grows_with_the_mean_is_told_from_noise_alike_everywhere(seed, form):
    A, W, X = noisy(seed, relative=True)
    assert grows(Dataset.from_array(form(X)), A, W)
    A, W, X = noisy(seed, relative=False)
    assert not grows(Dataset.from_array(form(X)), A, W)


def test_entries_that_were_not_seen_say_nothing():
    A, W, X = noisy(0, relative=False)
    seen = X < np.quantile(X, 0.9)
    spoilt = Dataset.from_array(np.where(seen, X, 50 * X), mask=seen)
    assert not grows(spoilt, A, W)
    assert grows(replace(spoilt, mask=None, X=np.where(seen, X, 50 * X)), A, W)


def test_evidence_that_noise_may_feign_does_not_outvote_hidden_entries():
    plain = study(PEAK, AT_THREE)
    assert recommend(plain).grade == "open"
    uneven = recommend(replace(plain, grows=True))
    assert (uneven.rank, uneven.grade) == (3, "leaning")
    assert "residuals grow with the fit" in say(uneven.why)


def test_a_component_that_is_missing_is_no_noise_that_grows():
    """Where held-out entries do not settle, residuals of the largest rank decide."""
    rng = np.random.default_rng(0)
    Y = rng.gamma(0.6, size=(10, 3)) @ rng.gamma(0.6, size=(3, 25))
    Y[:5] *= 30.0
    X = np.maximum(Y + 0.02 * Y.mean() * rng.standard_normal(Y.shape), 0.0)
    data = Dataset.from_array(X)
    study = rank_study(data, range(1, 6), rng=rng, restarts=10)
    assert study.criteria["evidence"].chosen == 3
    assert not study.criteria["hidden"].settles and study.criteria["hidden"].chosen == 2
    assert grows(data, *study.best[2])
    assert not study.grows and recommend(study).grade == "leaning"
