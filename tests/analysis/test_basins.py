"""Which optimum draws belong to: one for a whole chain only where all of them end in it."""

from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core.analysis import basins


@pytest.mark.parametrize(("apart", "same"), [(0.0, True), (4.9, True), (6.0, False), (14.0, False)])
def test_ends_along_a_ridge_are_not_one_optimum(monkeypatch, apart, same):
    matrix = np.array([[0.0, apart], [apart, 0.0]])
    stored = SimpleNamespace(matrix=lambda metric: matrix)
    monkeypatch.setattr(basins.distances, "STAGE", SimpleNamespace(of=lambda comparison: stored))
    comparison = SimpleNamespace(resolution=0.1)
    assert basins._one_optimum(comparison, np.array([0, 1, 0])) == same
    # What converged restarts may still turn is no distance between optima.
    assert basins._one_optimum(SimpleNamespace(resolution=apart), np.array([0, 1]))


def test_an_end_that_no_restart_found_is_one_only_with_its_like():
    assert basins._one_optimum(None, np.full(3, basins.NEW))
    assert not basins._one_optimum(None, np.array([0, basins.NEW]))
