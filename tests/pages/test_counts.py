"""Counts are recognised, explained and shown on the pages that they pass through."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bnmf_core import Dataset, load_sample
from bnmf_core.analysis import ranks
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from tests.evidence.test_variation import planted
from tests.pages.apps import page, words

SHAPE = (30, 40, 2, 20)


def titles(app):
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return [spec["layout"]["title"]["text"] for spec in specs]


def study_of(server, data, model):
    work = RankWork(
        server.store.root, RankQuestion(data.hash, (1, 2), restarts=2, model=model), data
    )
    work.make(lambda part, stage: None, lambda: False)
    return work


@pytest.mark.parametrize(
    ("ratio", "model", "reason"),
    [
        (1, "poisson", "about as Poisson predicts"),
        (3, "negative_binomial", "as much as Poisson allows"),
    ],
)
def test_analyse_proposes_a_model_with_a_reason_and_a_picture(server, ratio, model, reason):
    server.store.add_dataset(planted(SHAPE, ratio))
    app = page("run")
    assert not app.exception
    assert app.selectbox(key="model").value == model
    assert reason in words(app) and "Variance of the residuals by fitted mean" in titles(app)
    app.selectbox(key="model").set_value("gaussian").run()
    assert not app.exception and app.selectbox(key="model").value == "gaussian"
    assert "In use: “Gaussian noise" in words(app) and "Proposed model" in words(app)


def test_other_data_begin_with_a_model_of_their_own(server, labelled):
    counts = server.store.add_dataset(planted(SHAPE, 1))
    others = server.store.add_dataset(labelled)
    assert page("run", data=counts).selectbox(key="model").value == "poisson"
    app = page("run", data=others)
    assert app.selectbox(key="model").value == "gaussian" and not titles(app)


def test_data_say_what_their_numbers_are(server):
    X = planted(SHAPE, 1).X
    made = {"counts": X, "scaled": X / X.sum(axis=0), "logarithms": np.log1p(X)}
    ids = {name: server.store.add_dataset(Dataset.from_array(X)) for name, X in made.items()}
    shown = {name: page("data", data=one) for name, one in ids.items()}
    assert "These are counts" in words(shown["counts"])
    assert "Variance of the residuals by fitted mean" in titles(shown["counts"])
    assert "load the table from before it was scaled" in words(shown["scaled"])
    assert "Kullback–Leibler" in words(shown["scaled"])
    assert "before the logarithm was taken" in words(shown["logarithms"])
    assert "Gaussian noise" in words(shown["logarithms"])
    for app in shown.values():
        assert not app.exception


def test_grey_levels_are_not_called_counts(server):
    digits = load_sample("digits")
    server.store.add_dataset(replace(digits.columns(np.arange(100)), name="some digits"))
    for key in ("data", "run"):
        app = page(key)
        assert "These are counts" not in words(app) and "Variance of" not in str(titles(app))


def test_a_gaussian_study_of_counts_offers_the_other_one(server):
    data = planted(SHAPE, 1)
    server.store.add_dataset(data)
    app = page("rank")
    assert app.selectbox(key=f"rank_model_{data.hash}").value == "poisson"
    study_of(server, data, "gaussian")
    app = page("rank")
    assert not app.exception and "assumed Gaussian noise" in words(app)
    app.button(key="rank_of_counts").click().run()
    assert not app.exception and app.selectbox(key=f"rank_model_{data.hash}").value == "poisson"
    work = study_of(server, data, "poisson")
    app = page("rank")
    assert "Gaussian" not in words(app)  # the newest study is shown, and both agree or it is open
    app.selectbox(key=f"rank_study_{data.hash}").set_value(
        next(
            one.key for one in ranks.answered(server.store.root, data.hash) if one != work.question
        )
    ).run()
    app.button(key="rank_of_counts").click().run()
    assert app.selectbox(key=f"rank_study_{data.hash}").value == work.key


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X: X + 0.5 * (X == X.max()), "counts are whole numbers"),
        (lambda X: X * 2.0**45, "divide them by a common number"),
    ],
    ids=["fractional", "beyond 2^53"],
)
def test_what_is_no_count_is_refused_in_a_sentence_and_nothing_is_lost(server, change, said):
    data = Dataset.from_array(change(planted(SHAPE, 1).X))
    dataset_id = server.store.add_dataset(data)
    app = page("run")
    assert app.selectbox(key="model").value == "gaussian"
    app.number_input(key=f"rank_{dataset_id}").set_value(3).run()
    app.selectbox(key="model").set_value("poisson").run()
    assert not app.exception and app.button(key="go").disabled and said in words(app)
    assert app.number_input(key=f"rank_{dataset_id}").value == 3
    app.selectbox(key="model").set_value("gaussian").run()
    assert not app.button(key="go").disabled


def test_large_counts_and_lines_of_zeros_are_analysed_as_counts(server):
    X = planted(SHAPE, 1).X.copy()
    X[3], X[:, 5] = 0, 0
    for many in (X, X * 1e9):
        dataset_id = server.store.add_dataset(Dataset.from_array(many))
        app = page("run", data=dataset_id)
        assert not app.exception and not app.button(key="go").disabled
        assert app.selectbox(key="model").value in ("poisson", "negative_binomial")
