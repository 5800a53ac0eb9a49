"""Charts of many points: what is drawn, what each drawn point stands for, and with which traces."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from plotly.io.json import to_json_plotly

from bnmf_core.boolean.figures.thresholds import entries_chart
from bnmf_core.figures.chains import trace_plot
from bnmf_core.figures.downstream import auc_plot
from bnmf_core.figures.factorizations import factorization_map, simplex_view
from bnmf_core.figures.quality import hidden_plot, quality_plot
from bnmf_core.figures.style import run_styles
from bnmf_core.figures.thinning import MOST_POINTS, envelope, named_by, thinned

ROOT = Path(__file__).parents[2]
STYLES = run_styles([("a", "gibbs", "Draws"), ("b", "random_restarts", "Optima")])
M = 10_000
# Traces of Plotly that compile programs, by names that mean nothing else or where one is asked for.
COMPILED = re.compile(
    r"scattergl|scatterpolargl|heatmapgl|pointcloud|scatter3d|mesh3d|isosurface|streamtube|parcoords|"
    r"parcats|splom|scattermap|choroplethmap|densitymap|getContext\(.(experimental-)?webgl|"
    r"['\"](\w*gl|volume|surface)['\"]|go\.(\w+gl|volume|surface)\b|add_(\w+gl|volume|surface)\b",
    re.IGNORECASE,
)


def sources():
    for folder in ("bnmf_core", "pages", "studies", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".js", ".html", ".css"}:
                yield path


def members(rng) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run": np.where(np.arange(M) < M // 2, "a", "b"),
            "converged": rng.random(M) < 0.9,
            "particle": np.arange(M) % (M // 2),
            "error": rng.random(M),
            "hidden": rng.random(M),
        }
    )


def charts() -> dict:
    rng = np.random.default_rng(0)
    table, focus = members(rng), rng.random(M) < 0.1
    points, labels = rng.standard_normal((M, 2)), rng.integers(0, 5, M)
    scores = pd.DataFrame(
        {"member": np.tile(np.arange(M), 2), "task": np.repeat(["x", "y"], M)}
    ).assign(auc=rng.random(2 * M))
    mean = {"A": rng.random((M, 3)), "W": rng.random((3, 500))}
    return {
        "map": factorization_map(points, table, labels, np.arange(5), STYLES, focus, "angle", "°"),
        "auc": auc_plot(scores, table, STYLES, focus),
        "quality": quality_plot(table, STYLES, "error", "Title", "axis", focus, logarithmic=True),
        "hidden": hidden_plot(table, STYLES, focus, 0.5),
        "simplex": simplex_view(
            rng.random((9_000, 2)), rng.random((M, 3, 2)), table, STYLES, np.arange(2)
        ),
        "entries": entries_chart(mean, {k: rng.random(v.shape) for k, v in mean.items()}, "T", "a"),
    }


@pytest.fixture(scope="module")
def drawn() -> dict:
    return charts()


def marked(figure) -> list:
    return [trace for trace in figure.data if trace.mode == "markers" and len(trace.x) > 20]


def test_no_source_asks_for_a_trace_that_the_policy_forbids():
    found = {
        f"{path.relative_to(ROOT)}: {hit.group()}"
        for path in sources()
        for hit in COMPILED.finditer(path.read_text())
    }
    assert found == set()


@pytest.mark.parametrize("line", ['{"type": "scattergl"}', "go.Heatmapgl(z=z)", "kind = 'splom'"])
def test_such_a_source_would_be_found(line):
    assert COMPILED.search(line)


@pytest.mark.parametrize("name", ["map", "auc", "quality", "hidden", "simplex", "entries"])
def test_many_points_are_drawn_as_few_shapes(drawn, name):
    figure = drawn[name]
    assert {trace.type for trace in figure.data} == {"scatter"}
    shapes = sum(len(trace.x) for trace in marked(figure))
    assert MOST_POINTS / 2 < shapes <= MOST_POINTS
    assert f"({shapes:,} of " in figure.layout.title.text


@pytest.mark.parametrize("name", ["map", "auc", "quality", "hidden", "entries"])
def test_a_selection_of_all_that_is_drawn_is_a_selection_of_all(drawn, name):
    # As a browser hands it back.
    told = json.loads(to_json_plotly(drawn[name]))["data"]
    chosen = [
        row
        for trace, written in zip(drawn[name].data, told, strict=True)
        if trace in marked(drawn[name])
        for point in written["customdata"]
        for row in named_by(point)
    ]
    every = 2 * M if name == "auc" else 3 * (M + 500) if name == "entries" else M
    assert len(chosen) == every
    assert set(chosen) == set(range(3 * (M + 500) if name == "entries" else M))


def test_a_point_stands_for_points_near_it_that_look_the_same():
    rng = np.random.default_rng(1)
    x, y = rng.random((2, M))
    look = rng.integers(0, 3, M)
    thin = thinned(x, y, look, most=500)
    assert 250 < thin.drawn.sum() <= 500
    np.testing.assert_array_equal(look[thin.stands], look)
    # 500 points of 3 looks are 166 cells: squares of which none is wider than 1/8.
    assert np.abs(x[thin.stands] - x).max() < 1 / 8
    assert np.abs(y[thin.stands] - y).max() < 1 / 6
    groups = thin.covered(np.flatnonzero(thin.drawn))
    assert sorted(np.concatenate(groups).tolist()) == list(range(M))


def test_few_points_are_all_drawn_and_named_as_they_are():
    thin = thinned(np.arange(5.0), np.arange(5.0))
    assert thin.drawn.all() and thin.note == ""
    names = np.array([7, 8, 9, 10, 11])
    assert thin.customdata(np.array([1, 3]), names).tolist() == [8, 10]


def test_values_that_are_not_known_do_no_harm():
    x = np.append(np.linspace(0, 1, 99), [np.nan])
    thin = thinned(x, x[::-1], most=10)
    assert 1 < thin.drawn.sum() <= 10


def test_a_line_keeps_the_extremes_of_every_stretch():
    values = np.random.default_rng(2).standard_normal(100_000).cumsum()
    rows = envelope(values, 1_000)
    assert rows.size <= 1_000 and (np.diff(rows) > 0).all()
    assert rows[0] == 0 and rows[-1] == values.size - 1
    assert values[rows].min() == values.min() and values[rows].max() == values.max()
    # Nowhere is the line farther from what is drawn than it moves within a stretch of 201.
    between = np.interp(np.arange(values.size), rows, values[rows])
    stretch = values[: values.size // 201 * 201].reshape(-1, 201)
    assert np.abs(values - between).max() <= 2 * np.ptp(stretch, axis=1).max()


def test_a_long_chain_is_drawn_short_with_its_spike_and_its_warm_up_in_place():
    n = 30_000
    spike = np.zeros(n)
    spike[12_345] = 5.0
    table = pd.DataFrame({"chain": 0, "sweep": np.arange(n), "warm_up": np.arange(n) < 999})
    figure = trace_plot({"a": table.assign(error=spike)}, STYLES, "error", "Error", "")
    (line,) = figure.data
    assert len(line.x) < 8_001 and line.type == "scatter"
    assert line.x[0] == -999 and line.x[-1] == n - 1_000
    assert line.x[int(np.argmax(line.y))] == 12_345 - 999
