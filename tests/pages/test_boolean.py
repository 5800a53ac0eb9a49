"""The page Boolean: every view is drawn, and what cannot be shown is said."""

import dataclasses

import numpy as np
import pytest

from bnmf_core import RunSpec, boolean_tiles, laurberg
from tests.pages.apps import page, words

SPEC = RunSpec("box_gibbs", rank=3, particles=20, model="boolean", settings={"warm_up": 40})


@pytest.fixture
def run_ids(server):
    rng = np.random.default_rng(3)
    made = boolean_tiles(30, 40, 3, density=0.3, rng=rng)
    mask = rng.random(made.X.shape) > 0.02
    data = dataclasses.replace(made, X=np.where(mask, made.X, 0.0), mask=mask)
    found = server.start(data, [SPEC])
    server.wait_analysis(found, "tiles")
    return found


@pytest.mark.parametrize("part", ["table", "tiles", "cells", "entries", "thresholds"])
def test_every_view_is_drawn(run_ids, part):
    app = page("boolean", runs=",".join(run_ids), part=part)
    assert not app.exception
    assert "3 of 3 tiles can be believed" in words(app)
    assert len(app.get("plotly_chart")) >= 1


def test_runs_without_factors_between_0_and_1_are_told(server):
    run_ids = server.start(laurberg("two"), [RunSpec("random_restarts", rank=3, particles=3)])
    server.wait_analysis(run_ids, "tiles")
    app = page("boolean", runs=",".join(run_ids))
    assert "is no table of yes and no" in words(app)
