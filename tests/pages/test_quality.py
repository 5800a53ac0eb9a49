"""The Quality page: errors on what the runs saw and on what they did not."""

import numpy as np
import pytest

from bnmf_core import RunSpec
from bnmf_core.data.split import SPLIT_SEED, holdout_columns
from bnmf_core.runs import quality_stage
from bnmf_core.solvers.nnls import solve_weights
from tests.pages.test_pages import labelled, page, server, words

__all__ = ["labelled", "server"]


@pytest.fixture
def held_out(server, labelled):
    """Restarts that did not see a fifth of the observations; their analysis."""
    specs = [RunSpec("random_restarts", rank=3, particles=5, holdout=0.2)]
    return server.wait_analysis(server.start(labelled, specs))


def test_held_out_errors_are_those_of_the_unseen_observations(server, labelled, held_out):
    table = quality_stage.table(held_out, "max_angle")
    seen, unseen = holdout_columns(labelled.N, 0.2, SPLIT_SEED)
    A = np.asarray(held_out.particles[0].A)
    X = labelled.X[:, unseen]
    for m, error in enumerate(table["held_out"]):
        W = solve_weights(X, A[m : m + 1])[0]
        expected = np.linalg.norm(X - A[m] @ W) / np.linalg.norm(X)
        assert error == pytest.approx(expected, rel=1e-9)
    assert held_out.seen_squared_norm == pytest.approx((labelled.X[:, seen] ** 2).sum())


def test_the_page_shows_unseen_errors_where_there_are_some(server, labelled, held_out):
    app = page("quality", runs=held_out.runs[0].id)
    assert not app.exception
    titles = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert len(titles) == 4
    assert any("observations that no run saw" in title for title in titles)
    run_ids = server.start(labelled, [RunSpec("random_restarts", rank=3, particles=5)])
    server.wait_analysis(run_ids)
    app = page("quality", runs=run_ids[0])
    assert not app.exception
    assert len(app.get("plotly_chart")) == 3
    assert "Hold observations out" in words(app)


def test_diversity_is_the_mean_distance_to_the_others(server, held_out):
    table = quality_stage.table(held_out, "wad")
    matrix = np.asarray(held_out.distances("wad"))
    np.testing.assert_allclose(table["diversity"], matrix.sum(axis=1) / 4)
