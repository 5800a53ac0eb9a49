"""The Quality page: errors on what the runs saw and on what they did not."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core import RunSpec
from bnmf_core.analysis import distances
from bnmf_core.analysis import quality as quality_stage
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.split import SPLIT_SEED, holdout_columns
from bnmf_core.figures.quality import hidden_plot
from bnmf_core.figures.style import run_styles
from bnmf_core.solvers.nnls import solve_weights
from tests.pages.apps import page, words


@pytest.fixture
def held_out(server, labelled):
    """Restarts that did not see a fifth of the observations; their analysis."""
    specs = [RunSpec("random_restarts", rank=3, particles=5, holdout=0.2)]
    return server.wait_analysis(server.start(labelled, specs), "structure", "quality")


def test_held_out_errors_are_those_of_the_unseen_observations(server, labelled, held_out):
    table = quality_stage.STAGE.of(held_out).table("max_angle")
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
    assert len(titles) == 7
    assert any("observations that no run saw" in title for title in titles)
    run_ids = server.start(labelled, [RunSpec("random_restarts", rank=3, particles=5)])
    server.wait_analysis(run_ids, "structure", "quality")
    app = page("quality", runs=run_ids[0])
    assert not app.exception
    assert len(app.get("plotly_chart")) == 6
    assert "Hold out observations" in words(app)


@pytest.fixture
def hidden(server, labelled):
    """Restarts that did not see 30 % of the entries, nor a fifth of the observations."""
    data = hide_entries(labelled, 0.3, np.random.default_rng(0))
    specs = [RunSpec("random_restarts", rank=3, particles=5, holdout=0.2)]
    return server.wait_analysis(server.start(data, specs), "structure", "quality")


def test_errors_on_hidden_entries_are_those_of_the_values_that_were_hidden(labelled, hidden):
    seen, unseen = holdout_columns(labelled.N, 0.2, SPLIT_SEED)
    mask, X = hidden.dataset.mask[:, seen], labelled.X[:, seen]
    A, W = hidden.particles[0].A, hidden.particles[0].W
    table = quality_stage.STAGE.of(hidden).table("max_angle")
    for m in range(5):
        for key, chosen in (("error", mask), ("hidden", ~mask)):
            expected = np.linalg.norm((X - A[m] @ W[m])[chosen]) / np.linalg.norm(X[chosen])
            assert table[key][m] == pytest.approx(expected, rel=1e-9)
        # Held-out weights are solved, and their error taken, on seen entries.
        X_out, mask_out = labelled.X[:, unseen], hidden.dataset.mask[:, unseen]
        W_out = solve_weights(X_out, A[m : m + 1], mask_out)[0]
        expected = np.linalg.norm((X_out - A[m] @ W_out)[mask_out])
        assert table["held_out"][m] == pytest.approx(
            expected / np.linalg.norm(X_out[mask_out]), rel=1e-9
        )
    means = np.where(mask, X, 0).sum(axis=1, keepdims=True) / mask.sum(axis=1, keepdims=True)
    expected = np.linalg.norm((X - means)[~mask]) / np.linalg.norm(X[~mask])
    assert quality_stage.STAGE.of(hidden).hidden_by_means == pytest.approx(expected, rel=1e-12)
    assert table["hidden"].min() < 0.5 * expected


def test_the_page_shows_the_error_on_hidden_entries(server, hidden):
    app = page("quality", runs=hidden.runs[0].id)
    assert not app.exception
    titles = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert len(titles) == 8 and any("Error on held-out entries" in title for title in titles)
    assert "Mask entries on the Data page" not in words(app)


def test_the_figure_puts_each_factorization_at_its_two_errors():
    table = pd.DataFrame({"run": ["a", "b", "a"], "error": [0.1, 0.2, 0.3], "hidden": [1, 2, 3]})
    table["converged"] = True
    styles = run_styles([("a", "gibbs", "A"), ("b", "hmc", "B")])
    figure = hidden_plot(table, styles, np.array([True, False, True]), by_means=0.7)
    np.testing.assert_array_equal(figure.data[0].x, [0.1, 0.3])
    np.testing.assert_array_equal(figure.data[0].y, [1, 3])
    np.testing.assert_array_equal(figure.data[1].customdata, [1])
    assert "mean of each feature: 0.7" in figure.layout.title.text


def test_diversity_is_the_mean_distance_to_the_others(server, held_out):
    table = quality_stage.STAGE.of(held_out).table("wad")
    matrix = np.asarray(distances.STAGE.of(held_out).matrix("wad"))
    np.testing.assert_allclose(table["diversity"], matrix.sum(axis=1) / 4)
