"""Whether chains have met: by their draws' distances, against a plain loop."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core.analysis import chains
from bnmf_core.compare.distances import DISTANCES


def comparison_of(points: np.ndarray, chain: np.ndarray, monkeypatch, exact=("gibbs",)):
    """Draws in the plane as a comparison, their distances as a stored stage."""
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    stage = SimpleNamespace(of=lambda comparison: SimpleNamespace(matrix=lambda metric: matrix))
    monkeypatch.setattr(chains.distances, "STAGE", stage)
    members = pd.DataFrame({"run": "a", "algorithm": "gibbs", "chain": chain})
    return SimpleNamespace(members=members, exact_samplers=list(exact)), matrix


def test_chains_in_places_of_their_own_have_not_met(monkeypatch):
    rng = np.random.default_rng(0)
    chain = np.repeat([0, 1, 2], 20)
    points = rng.standard_normal((60, 2)) + 30 * chain[:, None]
    comparison, matrix = comparison_of(points, chain, monkeypatch)
    found = chains.spread(comparison, "max_angle")
    within = [
        np.mean(
            [
                matrix[i, j]
                for i in np.flatnonzero(chain == c)
                for j in np.flatnonzero(chain == c)
                if i != j
            ]
        )
        for c in range(3)
    ]
    assert found.within == pytest.approx(np.median(within))
    said, doubt = found.said(DISTANCES["max_angle"])
    assert found.apart and "3 chains have not met" in said
    assert said.endswith(f"two of different chains {found.between:.2g}°.")
    assert doubt.startswith("How much the posterior leaves open is not known")


def test_chains_of_one_cloud_have_met(monkeypatch):
    rng = np.random.default_rng(0)
    comparison, _ = comparison_of(
        rng.standard_normal((80, 2)), np.tile([0, 1, 2, 3], 20), monkeypatch
    )
    found = chains.spread(comparison, "max_angle")
    assert not found.apart
    assert found.between == pytest.approx(found.within, rel=0.2)


def test_one_chain_or_none_says_nothing(monkeypatch):
    points = np.random.default_rng(0).random((10, 2))
    comparison, _ = comparison_of(points, np.zeros(10, int), monkeypatch)
    assert chains.spread(comparison, "max_angle") is None
    comparison, _ = comparison_of(points, np.arange(10) % 2, monkeypatch, exact=())
    assert chains.spread(comparison, "max_angle") is None
