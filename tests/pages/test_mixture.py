"""The Mixture page: its numbers are the stage's, in every state it says what there is to see."""

import numpy as np
import pytest

from bnmf_core import RunSpec, laurberg
from bnmf_core.rrt.analysis import variational as stage
from bnmf_core.rrt.mixture import Component
from tests.pages.apps import page, words

WARM_UP = {"warm_up": 5, "thinning": 1}


@pytest.fixture
def noisy():
    return laurberg("two", noise=0.01, rng=np.random.default_rng(0))


def shown(server, data, *specs):
    """The page of these runs, and their analysis."""
    analysis = server.wait_analysis(server.start(data, list(specs)), "structure", "variational")
    app = page("mixture", runs=",".join(run.id for run in analysis.runs))
    assert not app.exception
    return app, analysis


def metrics(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_numbers_are_the_stages_at_either_scale_and_of_either_run(server, noisy):
    app, analysis = shown(
        server,
        noisy,
        RunSpec("gibbs", 3, particles=10, settings=WARM_UP),
        RunSpec("nvi", 3, particles=2, settings={"iterations": 20}),
    )
    for variant in stage.VARIANTS:
        app.segmented_control(key="mixture_variant").set_value(variant).run()
        for run_id, of_run in stage.STAGE.of(analysis).proposals(variant).items():
            app.selectbox(key="mixture_run").set_value(run_id).run()
            assert not app.exception
            last = of_run.decisions.iloc[-1]
            found = metrics(app)
            assert found["Bound (nats)"] == f"{last['elbo']:,.3f}"
            assert found["Energy (nats)"] == f"{last['energy']:,.3f}"
            assert found["Components"] == str(len(of_run.components))
            (table,) = (d.value for d in app.dataframe if "deviation" in d.value)
            np.testing.assert_allclose(
                table["deviation"] ** 2, of_run.components["variance"], rtol=1e-12
            )
            assert ("has a bound of" in words(app)) == bool(of_run.own_bounds)
    stored = stage.STAGE.of(analysis)
    best, found = (stored.proposals(v)[run_id].decisions["elbo"] for v in stage.VARIANTS)
    assert f"{best.iloc[-1] - found.iloc[-1]:,.3f} nats here" in words(app).replace("\\", "")
    for quantity in ("entropy", "energy"):
        app.segmented_control(key="mixture_quantity").set_value(quantity).run()
        assert not app.exception
    app.toggle(key="mixture_from_best").set_value(False).run()
    assert not app.exception


def test_components_come_into_focus_everywhere(server, noisy):
    app, analysis = shown(server, noisy, RunSpec("gibbs", 3, particles=10, settings=WARM_UP))
    app.button(key="focus_components").click().run()
    assert not app.exception
    (of_run,) = stage.STAGE.of(analysis).proposals("best").values()
    rows = ".".join(str(number) for number in sorted(of_run.components["number"]))
    assert app.session_state["view_focus"] == f"rows:{rows}"


def test_components_that_other_pages_do_not_show_are_counted(server, noisy):
    app, analysis = shown(server, noisy, RunSpec("gibbs", 3, particles=230, settings=WARM_UP))
    (of_run,) = stage.STAGE.of(analysis).proposals("best").values()
    members = analysis.members["particle"].isin(of_run.components["number"]).sum()
    assert members < len(of_run.components)
    assert f"{members} of these {len(of_run.components)} are among" in words(app)


def test_without_any_such_model_the_page_says_where_to_go(server, noisy):
    app, _ = shown(server, noisy, RunSpec("random_restarts", 3, "silf", particles=4))
    assert "None of these runs has a model" in words(app)
    assert "columns of A sum to 1" in words(app).replace("\\", "")
    assert not app.metric


def test_without_a_possible_factorization_the_mixture_is_empty(server, noisy, monkeypatch):
    never = Component(np.zeros(36), -np.inf, -1.0)
    monkeypatch.setattr(stage, "component_of", lambda *arguments: never)
    app, analysis = shown(server, noisy, RunSpec("random_restarts", 3, particles=3))
    (of_run,) = stage.STAGE.of(analysis).proposals("best").values()
    assert set(of_run.decisions["reason"]) == {"impossible"}
    assert "probability 0" in words(app)
    assert not app.metric
    assert app.button(key="focus_components").disabled


def test_a_run_that_ended_early_says_why(server, noisy):
    spec = RunSpec(
        "rrt",
        3,
        "uniform",
        particles=400,
        model_settings={"epsilon": 0.05},
        settings={"attempts": 5, "starts": 3},
    )
    app, analysis = shown(server, noisy, spec)
    assert analysis.particles[0].M < 400
    said = words(app).replace("\\", "")
    assert analysis.particles[0].info["failed_chains"][0]["reason"] in said
