"""Pages call a fit what the model of the runs measures."""

import json
import re

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec
from tests.pages.apps import EXPLORE, page, words

CHAIN = {"chains": 2, "warm_up": 20, "thinning": 1}
OF_SQUARES = re.compile(r".{0,80}(?:relative error|‖X).{0,80}", re.IGNORECASE)


@pytest.fixture
def run_ids(server):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.exponential(3, (8, 2)) @ rng.exponential(2, (2, 10))).astype(float)
    specs = [
        RunSpec("random_restarts", 2, "kl", 6),
        RunSpec("hmc", 2, "kl", 20, settings=CHAIN),
    ]
    run_ids = server.start(Dataset.from_array(X, name="counts"), specs)
    server.wait(run_ids)
    server.wait_analysis(run_ids, "structure", "quality", "mixing", "chains")
    return run_ids


def _read(document: str) -> str:
    """A document of JSON without its escapes."""
    return str(json.loads(document or "null"))


def test_divergences_are_no_relative_errors_on_any_page(server, run_ids):
    told = {}
    for key in EXPLORE:
        app = page(key, runs=",".join(run_ids))
        assert not app.exception, key
        tables = [
            f"{[*table.value.columns]} {_read(table.proto.columns)}" for table in app.dataframe
        ]
        charts = [_read(chart.proto.spec) for chart in app.get("plotly_chart")]
        told[key] = "\n".join([words(app), *tables, *charts])
    found = {key: OF_SQUARES.findall(said) for key, said in told.items()}
    assert not any(found.values()), found
    assert "of the deviance" in told["overview"] and "deviance explained" in told["sessions"]
    assert "D(X ‖ AW) / D(X ‖ mean of X)" in told["quality"]
