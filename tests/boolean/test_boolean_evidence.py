"""The evidence of a binary matrix, by every way there is to it, against quadrature."""

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, mode_evidence
from bnmf_core.boolean import model as boolean
from bnmf_core.core.problem import Problem
from bnmf_core.runs import engine

pytestmark = pytest.mark.slow

DATA = Dataset.from_array([[1.0, 1.0], [0.0, 1.0]])


def log_evidence(prior, sigma, nodes=24):
    """log p(X) at rank one: Gauss–Legendre over the four entries, x = sin²φ under Beta(½, ½)."""
    t, weight = np.polynomial.legendre.leggauss(nodes)
    t, weight = 0.5 * (t + 1), 0.5 * weight
    x, density = t, np.ones(nodes)
    if prior == "beta":  # flat in φ
        x = np.sin(0.5 * np.pi * t) ** 2
    elif prior != "flat":
        entry = boolean.PRIORS[prior]
        density = np.exp(-entry.rate * x - 0.5 * entry.precision * x**2 - boolean.LOG_TOTALS[prior])
    grid = np.stack(np.meshgrid(x, x, x, x, indexing="ij"), axis=-1).reshape(-1, 4)
    each = np.prod(np.stack(np.meshgrid(*[weight * density] * 4, indexing="ij"), -1), axis=-1)
    problem = Problem(DATA, boolean.MODEL, boolean.Settings(prior, sigma), 1)
    A, W = grid[:, :2, None], grid[:, None, 2:]
    fit = boolean.MODEL.log_likelihood(problem, A, W) + boolean.constant(problem)
    top = fit.max()
    return float(top + np.log(each.ravel() @ np.exp(fit - top)))


@pytest.mark.parametrize(
    ("prior", "sigma"), [("flat", 0.3), ("laplace", 0.3), ("beta", 0.3), ("flat", None)]
)
def test_the_mass_of_the_only_mode_is_all_there_is(prior, sigma):
    """By Gibbs sweeps where conditionals are cut normals, by trajectories where they are not."""
    settings = {"chains": 2, "start": "restart", "warm_up": 20}
    spec = RunSpec("box_gibbs", 1, "boolean", 4, 1, settings, {"prior": prior, "sigma": sigma})
    start = engine.run(DATA, spec).subset(np.array([0]))
    found = mode_evidence(DATA, start, rng=np.random.default_rng(2), particles=100, repeats=4)
    error = max(float(found["error"][0]), 0.02)
    assert abs(found["log_evidence"][0] - log_evidence(prior, sigma)) < 5 * error
    assert error < 0.3


def test_tempered_populations_tell_the_same_evidence():
    settings = {"populations": 8, "population": 200}
    spec = RunSpec("tempered_smc", 1, "boolean", 80, 3, settings, {"sigma": 0.3})
    info = engine.run(DATA, spec).info
    assert abs(info["log_evidence"] - log_evidence("flat", 0.3)) < 5 * info["log_evidence_error"]
    assert info["log_evidence_error"] < 0.1
