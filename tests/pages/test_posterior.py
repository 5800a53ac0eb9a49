"""Stein weights: what leaving particles out changes, the threshold of SILF models."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core import RunSpec, kernel_matrix, laurberg, stein_weights
from bnmf_core.analysis import stein as stein_stage
from bnmf_core.posterior.places import positions
from bnmf_core.posterior.stein import LENGTH_A, LENGTH_W, Products
from pages.overview_parts.weights import contradiction
from tests.pages.apps import page, words


@pytest.fixture
def weighed(server):
    """Restarts and an HMC chain under the SILF model; their analysis."""
    noisy = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    specs = [
        RunSpec("random_restarts", 3, "silf", particles=12),
        RunSpec("hmc", 3, "silf", particles=12, settings={"warm_up": 20, "leapfrog_steps": 10}),
    ]
    return server.wait_analysis(server.start(noisy, specs), "structure", "stein")


def metric(app, label: str) -> str:
    return next(metric.value for metric in app.metric if metric.label == label)


def test_weights_and_discrepancies_are_those_of_the_engine(server, weighed):
    members = stein_stage.members_of(weighed)
    for form in stein_stage.FORMS:
        part = stein_stage.STAGE.of(weighed).part(form, "published")
        K = kernel_matrix(members, weighed.dataset, form)
        np.testing.assert_allclose(part.K, K, rtol=1e-10)
        ours, theirs = part.weights, stein_weights(K, "CLARABEL")
        assert ours @ K @ ours == pytest.approx(theirs @ K @ theirs, rel=1e-6)
        k = Products.of(positions(members, form)).similarities(LENGTH_A, LENGTH_W)
        np.testing.assert_allclose(part.similarity, k, rtol=1e-12)
        assert part.weights.sum() == pytest.approx(1)


def test_the_page_shows_both_forms_and_the_threshold(server, weighed):
    app = page("quality", part="weights", runs=",".join(run.id for run in weighed.runs))
    assert not app.exception
    part = stein_stage.STAGE.of(weighed).part("interior", "suggested")
    equal = np.full(24, 1 / 24)
    shown = f"{np.sqrt(equal @ part.K @ equal):.4g}"
    assert metric(app, "Stein discrepancy, equal weights") == shown
    assert "threshold ε" in words(app)
    app.selectbox(key="stein_form").set_value("paper").run()
    assert not app.exception
    assert metric(app, "Stein discrepancy, equal weights") != shown


def test_a_particle_that_is_left_out_changes_the_weights_and_is_told(server, weighed):
    app = page("quality", part="weights", runs=",".join(run.id for run in weighed.runs))
    part = stein_stage.STAGE.of(weighed).part("interior", "suggested")
    heaviest = int(part.weights.argmax())
    before = float(metric(app, "Stein discrepancy, Stein weights"))
    app.multiselect(key="stein_dropped").set_value([heaviest]).run()
    assert not app.exception
    assert float(metric(app, "Stein discrepancy, Stein weights")) >= before * (1 - 1e-3)
    assert "1 left out" in words(app)


def test_the_weighted_ones_can_be_brought_into_focus_everywhere(server, weighed):
    app = page("quality", part="weights", runs=",".join(run.id for run in weighed.runs))
    assert "do not say how probable they are" in words(app)
    app.toggle(key="stein_untrusted").set_value(True).run()
    app.button(key="focus_weighted").click().run()
    assert not app.exception
    focus = app.session_state["view_focus"]
    part = stein_stage.STAGE.of(weighed).part("interior", "suggested")
    expected = np.flatnonzero(part.weights > 1e-4)
    assert focus == "rows:" + ".".join(map(str, expected))


def test_own_length_scales_start_at_the_medians_and_change_the_discrepancy(server, weighed):
    app = page("quality", part="weights", runs=",".join(run.id for run in weighed.runs))
    suggested = metric(app, "Stein discrepancy, equal weights")
    app.selectbox(key="stein_lengths").set_value("own").run()
    assert not app.exception
    assert metric(app, "Stein discrepancy, equal weights") == suggested
    app.number_input(key="stein_length_interior_A").set_value(0.05).run()
    assert not app.exception
    median_W = stein_stage.STAGE.of(weighed).part("interior", "suggested").lengths[1]
    K = kernel_matrix(stein_stage.members_of(weighed), weighed.dataset, "interior", 0.05, median_W)
    shown = float(metric(app, "Stein discrepancy, equal weights"))
    assert shown == pytest.approx(np.sqrt(K.mean()), rel=1e-3)


def test_how_different_factorizations_are_is_shown_run_by_run(server, weighed):
    app = page("quality", part="weights", runs=",".join(run.id for run in weighed.runs))
    for quantity in ("A", "W", "frobenius_A", "frobenius_W"):
        app.segmented_control(key="stein_quantity").set_value(quantity).run()
        assert not app.exception


def test_weights_that_prefer_another_mode_than_the_mass_are_told():
    table = pd.DataFrame({"mass": [0.9, 0.1], "mass_low": [0.8, 0.05], "mass_high": [0.95, 0.2]})
    told = contradiction("mixture weight", np.array([0.3, 0.7]), table)
    assert "largest mixture weight is that of mode 2" in told and "mass that of mode 1" in told
    assert contradiction("mixture weight", np.array([0.7, 0.3]), table) == ""
    # Where the errors leave open which mode is heavier, nothing contradicts.
    open_ = table.assign(mass_low=[0.1, 0.05], mass_high=[0.95, 0.9])
    assert contradiction("mixture weight", np.array([0.3, 0.7]), open_) == ""
