"""The page Boolean: every view is drawn, and what cannot be shown is said."""

import dataclasses

import numpy as np
import pytest

from bnmf_core import RunSpec, boolean_tiles, laurberg
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.registry import ALGORITHMS
from tests.pages.apps import page, table_with, words
from tests.pages.conftest import made_once

VIEWS = ["table", "tiles", "cells", "entries", "thresholds"]
SPEC = RunSpec("box_gibbs", rank=3, particles=20, model="boolean", settings={"warm_up": 40})


CLIMB = RunSpec(
    "iasg",
    rank=3,
    particles=10,
    model="boolean",
    settings={"warm_up": 60, "thinning": 2, "calibration": 60, "noise_scale": "at point"},
    model_settings={"sigma": 0.3},
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    made = boolean_tiles(30, 40, 3, density=0.3, rng=rng)
    mask = rng.random(made.X.shape) > 0.02
    return dataclasses.replace(made, X=np.where(mask, made.X, 0.0), mask=mask)


@pytest.fixture(scope="module")
def tiled_once(tmp_path_factory, data):
    """A store with chains of three ranks."""
    specs = [dataclasses.replace(SPEC, rank=rank) for rank in (2, 3, 5)]
    together = [slice(number, number + 1) for number in range(3)]
    return made_once(tmp_path_factory.mktemp("tiled"), data, specs, together=together)


@pytest.fixture
def tiled(server, tiled_once):
    """The ids of chains of ranks 2, 3 and 5."""
    return list(tiled_once[1])


@pytest.fixture(scope="module")
def climbed_once(tmp_path_factory, data):
    """A store with chains and with what makes no draws, and its analysis alone too."""
    together = [slice(None), slice(1, 2)]
    root = tmp_path_factory.mktemp("climbed")
    return made_once(root, data, [SPEC, CLIMB], together=together)


@pytest.fixture
def climbed(server, climbed_once):
    """The ids of chains and of a run that makes no draws."""
    return list(climbed_once[1])


def drawn(app):
    return [chart.proto.spec for chart in app.get("plotly_chart")]


@pytest.mark.parametrize("part", VIEWS)
def test_every_view_is_drawn(tiled, part):
    app = page("boolean", runs=tiled[1], part=part)
    assert not app.exception
    assert "3 of 3 tiles can be believed" in words(app)
    assert len(app.get("plotly_chart")) >= 1


def test_findings_say_which_tiles_can_be_believed_and_advise_what_fits_the_model(tiled):
    app = page("overview", runs=tiled[1])
    assert "3 of 3 tiles can be believed" in words(app)
    assert "Run Box restarts next" in words(app)
    assert "random restarts" not in words(app).lower()


def test_ranks_are_looked_at_beside_each_other(tiled, data):
    alone = page("boolean", runs=tiled[1], part="ranks")
    assert "same number of components" in words(alone)
    alone.button(key="add_ranks").click().run()
    assert sorted(alone.session_state["view_runs"]) == sorted(tiled)
    app = page("boolean", runs=",".join(tiled), part="ranks")
    X, clean = data.X > 0, boolean_product(data.truth[0].A, data.truth[0].W)
    for shown in (alone, app):
        assert not shown.exception
        assert "With 2, 3 and 5 components the tiles contradict" in words(shown)
        table = table_with(shown, "components", "tiles in use")
        assert table["components"].tolist() == [2, 3, 5]
        missed, filled_in = table["ones in no tile"], table["zeros in a tile"]
        # Three tiles leave exactly the cells that noise has flipped.
        assert missed[0] > missed[1] == (data.mask & (X > clean)).sum()
        assert filled_in[1] == (data.mask & (X < clean)).sum()
    assert app.selectbox[0].options[0].endswith("2 components")
    app.selectbox[0].set_value(tiled[1]).run()
    assert "3 of 3 tiles can be believed" in words(app)


def test_runs_of_other_data_are_not_looked_at_beside_these(server, data):
    other = boolean_tiles(30, 40, 2, density=0.3, rng=np.random.default_rng(4))
    found = [server.start(one, [SPEC])[0] for one in (data, other)]
    server.wait(found)
    app = page("boolean", runs=",".join(found))
    assert "These runs used different data" in words(app)


def test_runs_without_factors_between_0_and_1_are_told(server):
    run_ids = server.start(laurberg("two"), [RunSpec("random_restarts", rank=3, particles=3)])
    server.wait_analysis(run_ids, "tiles")
    app = page("boolean", runs=",".join(run_ids))
    assert "is not a binary matrix" in words(app)


@pytest.mark.parametrize("part", VIEWS)
def test_what_is_no_draw_is_never_called_one(climbed, part):
    app = page("boolean", runs=climbed[1], part=part)
    assert not app.exception
    caveat = ALGORITHMS["iasg"].caveat
    assert caveat in words(app) and "of the outputs have them" in words(app)
    assert "IASG makes no draws" in words(app)
    shown = " ".join([words(app), *drawn(app)]).replace("no draws", "").replace("not draws", "")
    assert "draws" not in shown


def test_exact_draws_decide_what_is_believed_beside_others(climbed):
    app = page("boolean", runs=",".join(climbed))
    assert "90 % of the draws have them" in words(app)
    assert ALGORITHMS["iasg"].caveat not in words(app)
    app.selectbox[0].set_value(climbed[1]).run()
    assert "90 % of the draws have them" in words(app)
    assert ALGORITHMS["iasg"].caveat in words(app)


def test_gradients_on_the_way_are_offered_where_a_run_tells_them(climbed):
    app = page("boolean", runs=",".join(climbed), part="entries")
    assert "Gradient on the way" not in against(app).options
    app.selectbox[0].set_value(climbed[1]).run()
    against(app).set_value("gradient").run()
    assert not app.exception
    assert "mean gradient of all steps, nats" in drawn(app)[0]


def against(app):
    return next(one for one in app.get("button_group") if one.label == "Against")
