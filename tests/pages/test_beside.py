"""A page beside another one: letters say what is the same there, and its focus is followed."""

import numpy as np

from bnmf_core.analysis.comparison import open_comparison
from tests.pages.apps import page, words


def beside(server, here, others, **more):
    """Modes of some runs beside others; lettered are those of the others."""
    for runs in (here, others):
        server.wait_analysis(runs, "structure", "islands")
    beside = ",".join(others)
    return page("modes", runs=",".join(here), beside=beside, lettered=beside, **more)


def test_a_mode_has_the_letter_it_has_on_the_other_side_and_is_followed(server, finished):
    app = beside(server, finished[1:], finished[:1], there="mode:1")
    assert not app.exception
    options = app.selectbox(key="view_focus").options
    assert any(option.startswith("mode 1 (A, ") for option in options)
    assert app.session_state["view_focus"] == "mode:1"
    assert not [box for box in app.selectbox if box.key == "naming_mode"]
    app.query_params["there"] = "all"
    assert app.run().session_state["view_focus"] == ""


def test_points_chosen_there_are_those_near_them_here(server, finished):
    app = beside(server, finished, finished[:1], there="rows:0.1")
    focus = app.session_state["view_focus"]
    rows = [int(row) for row in focus.removeprefix("rows:").split(".")]
    # The same factorizations stand here, too: nothing is nearer to a point than itself.
    members = open_comparison(server.store, finished).members
    same = np.flatnonzero((members["run"] == finished[0]) & members["particle"].isin([0, 1]))
    assert set(same) <= set(rows)


def test_what_is_not_there_is_said_and_nothing_is_in_focus(server, finished):
    app = beside(server, finished[1:], finished[:1], threshold="0.001", there="rows:0")
    assert "Here is nothing within" in words(app)
    assert app.session_state["view_focus"] == ""


def test_another_side_that_is_gone_leaves_the_page_as_it_is(server, finished):
    server.wait_analysis(finished, "structure", "islands")
    runs = ",".join(finished)
    app = page("modes", runs=runs, beside="nosuchrun", lettered="nosuchrun", there="mode:1")
    assert not app.exception
    assert any(option.startswith("mode 1 (") for option in app.selectbox(key="view_focus").options)
