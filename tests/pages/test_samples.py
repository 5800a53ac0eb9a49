"""Samples: groups of observations, who changes group, and what others agree on."""

import base64
import json
import re

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, laurberg
from bnmf_core.analysis import structure
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.data.foreign import Foreign
from bnmf_core.runs.foreign import bring
from pages.frame import declared, services
from tests.pages.apps import page, table_with, words


@pytest.fixture
def two(server):
    """Two factorizations; the last of nine observations is of another component in the second."""
    A = np.zeros((12, 2))
    A[:6, 0] = A[6:, 1] = np.linspace(2, 1, 6)
    first, second = np.full((2, 2, 9), 0.1)
    first[0, :5] = first[1, 5:] = second[0, :5] = second[1, 5:8] = second[0, 8] = 1.0
    labels = {"kind": np.array(["a"] * 5 + ["b"] * 4)}
    data = Dataset.from_array(A @ first, labels=labels)
    server.store.add_dataset(data)
    found = [Foreign(f"fit {k}", A + 1e-6, W) for k, W in enumerate((first, second))]
    (run_id,) = bring(server.store, data, found)
    server.wait_analysis([run_id], "structure")
    return run_id


def chart(app, name):
    (spec,) = (
        json.loads(one.proto.spec)
        for one in app.get("plotly_chart")
        if name in json.loads(one.proto.spec)["layout"]["title"]["text"]
    )
    return spec


def test_observations_stand_in_groups_beside_their_classes(two):
    app = page("samples", runs=two)
    assert not app.exception and not app.error
    strips = chart(app, "Weights, shares and classes of 9 observations")
    notes = [note["text"] for note in strips["layout"]["annotations"]]
    assert sorted(notes) == ["4", "5"]
    assert "Consensus of 2" in str([c.proto.spec for c in app.get("plotly_chart")])


def test_the_one_that_changes_group_is_named(two):
    app = page("samples", runs=two)
    table = table_with(app, "same group", "else most often")
    assert len(table) == 1 and table["same group"].iloc[0] == 50
    assert "1 of 9 do in at least one of 2" in words(app)


def test_observations_of_which_too_little_was_seen_are_named(server):
    """Six of nine have a single seen entry, and two components."""
    A, W = np.eye(4)[:, :2] + 0.1, np.full((2, 9), 1.0)
    mask = np.ones((4, 9), bool)
    mask[1:, 3:] = False
    data = Dataset.from_array(A @ W, mask=mask, observations=[f"P{n}" for n in range(9)])
    server.store.add_dataset(data)
    (run_id,) = bring(server.store, data, [Foreign("fit", A, W)])
    server.wait_analysis([run_id], "structure")
    app = page("samples", runs=run_id)
    assert not app.exception
    assert "Of P3, P4, P5, P6 and 2 more fewer entries were seen" in words(app)
    table = table_with(app, "observation", "strongest there")
    assert set(table["observation"].iloc[:3]) == {"P0", "P1", "P2"}


def test_the_flow_begins_with_the_mode_that_is_drawn(server):
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    run_ids = server.start(data, [RunSpec("random_restarts", 3, particles=8)])
    assert server.wait_analysis(run_ids, "structure").optima.all()
    for first, other in ((1, 2), (2, 1)):
        app = page("samples", runs=run_ids[0], focus=f"mode:{first}")
        assert not app.exception and not app.error
        # Which of the two fits a little worse, says the rounding.
        chart(app, f"change group from mode {first}")
        (option,) = app.selectbox(key="view_with").options
        assert re.fullmatch(rf"mode {other}( \(fits worse\))?", option)


def test_a_component_that_is_chosen_is_framed_on_both_pages_and_in_the_address(two):
    app = page("samples", runs=two, component="2")
    assert not app.exception and app.query_params["component"] == "2"
    framed = [box for box in chart(app, "Weights")["layout"]["shapes"] if box.get("yref") == "y"]
    assert [(box["y0"], box["y1"]) for box in framed][-1] == (0.5, 1.5)
    app.query_params.clear()  # as the menus do
    app.switch_page(str(declared.page("components").script)).run()
    assert app.selectbox(key="view_component").value == "2"
    assert app.query_params["component"] == "2"
    boxes = chart(app, "components")["layout"]["shapes"]
    assert any(box["x0"] == pytest.approx(1.01) for box in boxes)


def test_a_component_that_there_is_not_frames_none(two):
    app = page("components", runs=two, component="3")
    assert not app.exception and app.selectbox(key="view_component").value == ""
    assert "component" not in app.query_params


def test_an_observation_is_brought_forward_on_every_page_that_shows_observations(two):
    app = page("samples", runs=two, sample="observation 9")
    assert not app.exception and app.query_params["sample"] == "observation 9"
    strips = chart(app, "Weights")
    frame = strips["layout"]["shapes"][-1]
    order = [n for bar in strips["data"][1:2] for n in values(bar["customdata"])]
    assert order[frame["x0"]] == 8
    shares = [values(bar["x"]) for bar in chart(app, "Shares of components")["data"]]
    # Weights 0.1 and 1 of components that sum to the same; both factorizations are one mode.
    assert np.array(shares) == pytest.approx(np.array([[1], [10]]) / 11, abs=1e-4)
    app.query_params.clear()  # as the menus do
    app.switch_page(str(declared.page("components").script)).run()
    assert app.selectbox(key="view_sample").value == "observation 9"
    chart(app, "Shares of components")
    app.query_params.clear()
    app.switch_page(str(declared.page("data").script)).run()
    assert app.selectbox(key="view_sample").value == "observation 9"
    drawn = chart(app, "Observations as")["layout"]["annotations"]
    assert drawn[0]["text"].startswith("observation 9")


def test_an_observation_that_there_is_not_is_not_shown(two):
    app = page("samples", runs=two, sample="observation 10")
    assert not app.exception and app.selectbox(key="view_sample").value == ""
    assert "sample" not in app.query_params


def values(spec):
    """A list of numbers, however Plotly has written it down."""
    if isinstance(spec, list):
        return spec
    return np.frombuffer(base64.b64decode(spec["bdata"]), dtype=spec["dtype"]).tolist()


def test_bars_show_totals_from_the_largest_on(two):
    app = page("samples", runs=two)
    app.segmented_control(key="samples_bars").set_value("Totals")
    app.segmented_control(key="samples_order").set_value("Total").run()
    assert not app.exception and not app.error
    strips = chart(app, "Weights, totals and classes of 9 observations")
    bars = [trace for trace in strips["data"] if trace["type"] == "bar"]
    heights = np.sum([values(bar["y"]) for bar in bars], axis=0)
    assert heights.size == 9 and (np.diff(heights) <= 1e-9).all()
    # Each sum is that of a column of AW: 1.0 + 0.1 of one component, or 0.1 of each.
    assert heights.max() == pytest.approx(1.1 * np.linspace(2, 1, 6).sum(), rel=1e-4)


def test_the_order_of_the_file_is_kept_where_it_is_asked_for(two):
    app = page("samples", runs=two)
    app.segmented_control(key="samples_order").set_value("File order").run()
    assert not app.exception and not app.error
    strips = chart(app, "Weights")
    bars = [trace for trace in strips["data"] if trace["type"] == "bar"]
    assert values(bars[0]["customdata"]) == list(range(9))
    assert "Observations stand in the order of the file." in words(app)
    assert "courses_fold" not in app.session_state


def test_weights_of_observations_at_times_are_lines_over_these(server):
    times = np.arange(0, 45, 5)
    A, W = np.eye(4, 2) + 0.1, np.stack([np.exp(-times / 9), 1 - np.exp(-times / 9)])
    data = Dataset.from_array(A @ W, observations=[f"{time} min" for time in times])
    server.store.add_dataset(data)
    (run_id,) = bring(server.store, data, [Foreign("fit", A, W)])
    server.wait_analysis([run_id], "structure")
    app = opened(page("samples", runs=run_id), "courses_fold")
    assert not app.exception and not app.error
    assert "Weights along min" in [one.label for one in app.expander]
    spec = chart(app, "Weights along the axis of the observations")
    assert spec["layout"]["xaxis"]["title"]["text"] == "min"
    lines = np.array([values(trace["y"]) for trace in spec["data"]])
    assert {tuple(values(trace["x"])) for trace in spec["data"]} == {tuple(times)}
    expected = W * A.sum(axis=0)[:, None]
    np.testing.assert_allclose(np.sort(lines, axis=0), np.sort(expected, axis=0), rtol=1e-5)


def test_shares_by_class_are_those_of_the_weights(two):
    app = page("samples", runs=two, threshold="1", component="2")
    app.session_state["usages_fold"] = True
    app.run()
    assert not app.exception
    boxes = chart(app, "Component 2 by class")["data"]
    assert [box["name"] for box in boxes] == ["a (5)", "b (4)"]
    assert "Mean share in mode 1, by class: " in words(app)


def opened(app, *folds):
    for fold in folds:
        app.session_state[fold] = True
    return app.run()


def test_pairs_in_doubt_are_those_of_the_one_that_changes_group(two):
    app = opened(page("samples", runs=two), "pairs_fold")
    assert not app.exception
    table = table_with(app, "first", "second", "here")
    assert len(table) == 4 + 4 or len(table) == 5 + 3
    for _, row in table.iterrows():
        assert "observation 9" in (row["first"], row["second"])
        assert row["together in 2 factorizations"] == 50
    assert set(table["here"]) == {"same group", "different groups"}


def test_nothing_is_said_where_no_mode_is_known_to_count(two):
    app = page("samples", runs=two)
    assert "(share" not in words(app)
    assert not [one for one in app.get("download_button") if "csv_changing" in one.proto.id]


def test_every_observation_that_changes_group_between_two_modes_has_its_sentence(server):
    data = laurberg("two", noise=0.0, rng=np.random.default_rng(0))
    run_ids = server.start(data, [RunSpec("random_restarts", 3, particles=8)])
    comparison = server.wait_analysis(run_ids, "structure")
    app = opened(page("samples", runs=run_ids[0]), "said_fold")
    assert not app.exception and not app.error
    labels = structure.modes_at(comparison, "max_angle", SAME_MODE).labels
    rows = [int(np.flatnonzero(labels == k)[0]) for k in (0, 1)]
    A, W = comparison.aligned_factors(rows)
    groups = (A.sum(axis=1)[:, :, None] * W).argmax(axis=1)
    moved = np.flatnonzero(groups[0] != groups[1])
    assert moved.size
    said = words(app)
    assert [one for one in app.get("download_button") if "csv_changing" in one.proto.id]
    for n in range(data.N):
        assert (f"{data.observations[n]}: component" in said) == (n in moved)
    asked = app.selectbox(key="samples_asked")
    asked.set_value("modes").run()
    assert not app.exception
    chart(app, "Consensus of 2 modes that count")
    steady = table_with(app, "same group", "else most often")
    assert set(steady["observation"]) == {data.observations[n] for n in moved}


def test_observations_and_features_stand_in_one_plane(two):
    app = opened(page("samples", runs=two, sample="observation 9"), "biplot")
    assert not app.exception
    spec = chart(app, "Observations and features between 2 components")
    assert "The line shows the shares exactly." in words(app)
    seen = [
        n for trace in spec["data"] if "customdata" in trace for n in values(trace["customdata"])
    ]
    assert sorted(seen) == list(range(9))
    assert [trace["name"] for trace in spec["data"] if trace.get("showlegend")] == [
        "a",
        "b",
        "features",
    ]


def test_components_are_applied_to_samples_of_a_file(server, two):
    app = page("samples", runs=two)
    app.session_state["apply_fold"] = True
    app.run()
    data = server.store.dataset(server.store.run(two).dataset)
    lines = ["id," + ",".join(data.features[::-1])]
    X = data.X[::-1, :3] * [1.0, 2.0, 4.0]
    X[::2, 2] = 0.0  # half of its features
    lines += [f"new {n}," + ",".join(map(repr, X[:, n].tolist())) for n in range(3)]
    app.file_uploader(key="apply_file").set_value(
        ("new.csv", "\n".join(lines).encode(), "text/csv")
    ).run()
    assert not app.exception and not app.error
    services.place().wait(60)
    app.run()
    assert not app.exception and not app.error
    said = words(app)
    assert "12 of 12 features match by" in said
    assert "1 of 3 new samples fit worse than 95 % of the analysed ones in mode 1 (new 2)" in said
    chart(app, "Fit of new samples")
    chart(app, "Weights and shares of 3 observations")


@pytest.mark.parametrize("in_rows", [True, False])
def test_spectra_of_a_file_on_another_grid_are_interpolated(server, in_rows):
    A = np.column_stack([np.arange(12.0), np.arange(12.0)[::-1]]) + 1  # straight lines
    W = np.random.default_rng(0).random((2, 9)) + 0.1
    names = [f"{300 + 10 * d} nm" for d in range(12)]
    data = Dataset.from_array(A @ W, features=names)
    server.store.add_dataset(data)
    (run_id,) = bring(server.store, data, [Foreign("fit", A, W)])
    server.wait_analysis([run_id], "structure")
    between = (A[1:] + A[:-1]) / 2 @ W[:, :3]
    cells = [["name", "dye 1", "dye 2", "dye 3"]]
    for d, row in enumerate(between.tolist()):
        cells.append([f"{305 + 10 * d} nm", *map(repr, row)])
    lines = map(",".join, zip(*cells, strict=True) if in_rows else cells)
    app = opened(page("samples", runs=run_id), "apply_fold")
    file = ("new.csv", "\n".join(lines).encode(), "text/csv")
    app.file_uploader(key="apply_file").set_value(file).run()
    assert not app.exception
    assert "interpolated to 10 of 12 analysed places" in words(app)
    app.checkbox(key="apply_leave_out").check().run()
    services.place().wait(60)
    app.run()
    assert not app.exception and not app.error
    chart(app, "Weights and shares of 3 observations")
    said = "interpolated to 10 of 12 analysed places, from 11 of their own. Missing in new: 300 nm"
    assert said in words(app)
    assert "No new sample fits worse" in words(app)
