"""The page Rank: a study from its cost to its answer, stored, reopened, taken to a run."""

import hashlib
import json
import shutil
from dataclasses import asdict, replace

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, low_rank
from bnmf_core.analysis import ranks
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from bnmf_core.compare.flow import component_flow
from bnmf_core.core.errors import StoreError
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.findings import ranks as advising
from bnmf_core.findings.facts import fact
from bnmf_core.store import manifest
from pages.frame import services
from pages.rank_parts import drawing, links
from tests.pages.apps import page, words


@pytest.fixture(scope="module")
def data():
    return low_rank(12, 20, rank=2, noise=0.1, rng=np.random.default_rng(1))


@pytest.fixture(scope="module")
def studied(tmp_path_factory, data):
    """A folder with the answer for ranks 1 to 4."""
    root = tmp_path_factory.mktemp("studied")
    work = RankWork(root, RankQuestion(data.hash, (1, 2, 3, 4), restarts=5), data)
    work.make(lambda part, stage: None, lambda: False)
    return work


@pytest.fixture
def stored(server, data, studied):
    server.store.add_dataset(data)
    work = RankWork(server.store.root, studied.question, data)
    work.folder.parent.mkdir(parents=True)
    work.folder.symlink_to(studied.folder)
    return work


def charts(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def test_a_study_is_made_in_the_background_and_opened_again(server, data):
    server.store.add_dataset(data)
    app = page("rank")
    assert "On an idle computer it takes roughly" in words(app) and not charts(app)
    app.slider[0].set_range(1, 3).run()
    app.number_input(key="rank_restarts_50").set_value(4).run()
    app.button(key="rank_start").click().run()
    services.place().wait(120)
    app.run()
    assert not app.exception and not app.error
    (asked,) = ranks.answered(server.store.root, data.hash)
    study = ranks.newest(server.store.root, data.hash)
    assert asked == RankQuestion(data.hash, (1, 2, 3), restarts=4)
    again = page("rank")
    assert len(charts(again)) == 2
    assert advising.recommend(study).sentence in words(again).replace("\\", "")


def test_without_a_choice_the_data_are_those_of_the_runs_that_are_looked_at(server, data):
    run_ids = server.start(data, [RunSpec("random_restarts", 2, particles=3)])
    server.wait(run_ids)
    newer = server.store.add_dataset(low_rank(9, 14, rank=2, rng=np.random.default_rng(3)))
    assert page("rank").selectbox(key="view_data").value == newer
    assert page("rank", runs=run_ids[0]).selectbox(key="view_data").value == data.hash


def test_what_each_rule_chooses_is_marked(stored):
    app = page("rank")
    assert not app.exception and not app.error
    study = ranks.read(stored.folder)
    criteria, flow = charts(app)
    assert len(criteria["data"]) == 4
    for trace, criterion in zip(criteria["data"], study.criteria.values(), strict=True):
        marked = [x for x, told in zip([1, 2, 3, 4], trace["customdata"], strict=True) if told]
        chosen = [] if criterion.chosen is None else [criterion.chosen]
        assert sorted(marked) == sorted([*chosen, *criterion.runners_up])
    assert len(flow["data"][-1]["customdata"]) == 1 + 2 + 3 + 4
    asked = ranks.answered(stored.root, stored.question.dataset)
    assert asked == [stored.question]


@pytest.mark.parametrize("name", [ranks.STUDY, ranks.BEST, manifest.DONE])
def test_a_damaged_study_is_not_shown_and_can_be_started_again(server, data, studied, name):
    server.store.add_dataset(data)
    folder = server.store.root / ranks.FOLDER / data.hash / studied.question.key
    shutil.copytree(studied.folder, folder)
    assert ranks.answered(server.store.root, data.hash) == [studied.question]
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    assert ranks.newest(server.store.root, data.hash) is None
    with pytest.raises(StoreError, match="start it again"):
        ranks.read(folder)
    app = page("rank")
    assert not app.exception and not app.error and not charts(app)
    assert "A stored comparison of ranks was damaged on the disk" in words(app)
    assert app.button(key="rank_start")


def test_a_rank_is_taken_to_a_run(stored):
    app = page("rank")
    app.selectbox(key=f"rank_taken_{stored.question.dataset}").set_value(3).run()
    app.button(key="rank_go").click().run()
    assert not app.exception
    assert app.number_input(key=f"rank_{stored.question.dataset}").value == 3


def test_an_open_rank_is_chosen_by_the_user(stored, monkeypatch):
    advice = advising.Recommendation(2, advising.OPEN, (3,), fact("rank.open", rank=2))
    monkeypatch.setattr(advising, "recommend", lambda study: advice)
    app = page("rank")
    key = f"rank_taken_{stored.question.dataset}"
    assert app.selectbox(key=key).value is None and app.button(key="rank_go").disabled
    app.selectbox(key=key).set_value(3).run()
    assert not app.button(key="rank_go").disabled


def test_modes_flow_where_there_are_runs(stored, server, data):
    app = page("rank")
    app.segmented_control(key="rank_flow").set_value("modes").run()
    assert "There are no runs of these data yet" in words(app)
    run_ids = server.start(data, [RunSpec("random_restarts", rank=4, particles=12)])
    server.wait_analysis(run_ids, "structure")
    app = page("rank")
    app.segmented_control(key="rank_flow").set_value("modes").run()
    assert not app.exception and not app.error
    assert len(charts(app)) == 2 or "are one mode" in words(app)


def test_a_click_counts_once():
    event = {"selection": {"points": [{"customdata": [2, 3]}]}}
    nothing = {"selection": {"points": []}}
    assert links.clicked(event, "test") == (2, 3)
    assert links.clicked(event, "test") is None
    assert links.clicked(nothing, "test") is None
    assert links.clicked(event, "test") == (2, 3)


def test_a_component_is_found_again_in_a_run(stored, server, data):
    study = ranks.read(stored.folder)
    (run_id,) = server.start(data, [RunSpec("random_restarts", rank=2, particles=8)])
    server.wait([run_id])
    focus = links.nearest(study, server.store, server.store.run(run_id), 2)
    A = server.store.particles(run_id).A[int(focus.removeprefix("rows:"))]
    reference = study.best[2][0]
    cosines = (A / np.linalg.norm(A, axis=0)).T @ (reference / np.linalg.norm(reference, axis=0))
    assert np.degrees(np.arccos(np.minimum(cosines.max(axis=0), 1.0))).max() < links.SAME


def test_a_cancelled_study_goes_on(server, data, monkeypatch):
    server.store.add_dataset(data)
    app = page("rank")
    app.slider[0].set_range(1, 3).run()
    app.button(key="rank_start").click().run()
    services.place().cancel(*services.place().at_work("study"))
    services.place().wait(60)
    app.run()
    assert not app.exception
    assert "The study was cancelled" in words(app) or charts(app)
    if not charts(app):
        app.button(key="rank_start").click().run()
        services.place().wait(120)
        app.run()
    assert len(charts(app)) == 2


def test_a_study_whose_server_was_killed_says_that_it_goes_on(server, data):
    server.store.add_dataset(data)
    app = page("rank")
    assert not app.info
    app.slider[0].set_range(1, 3).run()
    work = RankWork(server.store.root, RankQuestion(data.hash, (1, 2, 3)), data)
    asked = [*server.store.root.glob(f"{ranks.FOLDER}/*/*")]
    assert not asked
    (work.folder / ranks.PARTS).mkdir(parents=True)
    (work.folder / ranks.PARTS / "rank-1").write_bytes(b"")
    app.run()
    assert not app.exception and "Its results are stored" in words(app)


def test_boxes_of_a_flow_have_the_numbers_of_its_table():
    A, W = np.eye(3), np.diag([1.0, 3.0, 2.0])  # the second column has the largest share
    flow = component_flow([(A, W)])
    figure = drawing.drawn(flow, [A], Dataset.from_array(A @ W), ["rank 3"])
    texts = [one.text for one in figure.layout.annotations]
    assert flow.nodes["position"].tolist() == [1, 2, 0] and texts == ["1", "2", "3"]


def test_ranks_are_compared_under_a_model_of_choice(server):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.exponential(3, (8, 2)) @ rng.exponential(2, (2, 10))) + 0.5
    data = Dataset.from_array(X, name="shifted counts")
    server.store.add_dataset(data)
    app = page("rank")
    model = app.selectbox(key=f"rank_model_{data.hash}")
    assert model.value == "gaussian" and app.radio(key="rank_noise")
    model.set_value("kl").run()
    assert not [radio for radio in app.radio if radio.key == "rank_noise"]
    assert "a distribution of whole numbers" in words(app)
    app.slider[0].set_range(1, 2).run()
    app.number_input(key="rank_restarts_50").set_value(3).run()
    app.button(key="rank_start").click().run()
    services.place().wait(120)
    app.run()
    assert not app.exception and not app.error
    (asked,) = ranks.answered(server.store.root, data.hash)
    assert asked == RankQuestion(data.hash, (1, 2), restarts=3, model="kl")
    criteria = charts(app)[0]
    assert len(criteria["data"]) == 3
    assert criteria["layout"]["yaxis"]["title"]["text"] == "unexplained deviance"
    told = words(app)
    assert "There is no evidence to compare" in told and "a distribution of whole" in told
    assert "assumes Gaussian noise" not in told and "relative error" not in told
    assert "Kullback–Leibler divergence" in app.selectbox(key=f"rank_study_{data.hash}").options[0]
    assert ranks.newest(server.store.root, data.hash, SQUARED_ERROR) is None


def test_an_evidence_that_takes_long_is_left_out_unless_asked_for(server):
    X = np.random.default_rng(0).gamma(1.0, size=(400, 6000))
    data = Dataset.from_array(X, name="wide")
    server.store.add_dataset(data)
    usual = RankQuestion(data.hash, tuple(range(1, 9)))
    assert usual.evidence_seconds(data) > ranks.PATIENCE
    app = page("rank")
    evidence = app.checkbox[0]
    assert evidence.label == "Compute the log evidence" and not evidence.value
    assert "The error on held-out entries recommends a rank" in words(app)
    assert not [radio for radio in app.radio if radio.key == "rank_noise"]
    evidence.check().run()
    assert "The evidence and the error on held-out entries" in words(app)
    assert app.radio(key="rank_noise")


def test_without_the_evidence_fewer_restarts_do(data, monkeypatch):
    monkeypatch.setattr(ranks, "PATIENCE", 0.0)
    usual = RankQuestion(data.hash, (1, 2, 3))
    assert (usual.restarts, usual.in_time(data).restarts) == (50, 20)
    assert replace(usual, restarts=30).in_time(data).restarts == 30


def test_an_evidence_that_takes_little_is_computed_and_stored_where_it_was(data):
    usual = RankQuestion(data.hash, (1, 2, 3))
    assert usual.in_time(data) == usual
    assert usual.key != replace(usual, evidence=False).key
    # As before it could be left out.
    asked = {name: value for name, value in asdict(usual).items() if name != "evidence"}
    decides = json.dumps([ranks.VERSION, asked], sort_keys=True)
    assert usual.key == hashlib.sha256(decides.encode()).hexdigest()[:12]


def test_models_that_data_speak_against_are_not_offered():
    data = Dataset.from_array(np.eye(6), name="zeros")
    of_counts = ["poisson", "negative_binomial", "kl"]
    assert ranks.models_for(data) == ["gaussian", *of_counts, "known_noise"]
    assert "itakura_saito" in ranks.models_for(Dataset.from_array(np.eye(6) + 1.0))
