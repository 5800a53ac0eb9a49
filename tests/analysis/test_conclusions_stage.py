"""What is said of labels: against the numbers behind it, and where there is nothing to say."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core import Dataset, RunSpec, laurberg
from bnmf_core.analysis import conclusions, distances
from bnmf_core.compare.downstream import downstream_auc
from bnmf_core.findings import labels

RESTARTS = RunSpec("random_restarts", rank=3, particles=20)


def labelled(N=240):
    """Two factorizations explain X; a label that one of them tells much better than the other."""
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    W = data.truth[0].W[:, rng.integers(data.N, size=N)] * rng.uniform(0.5, 2.0, size=N)
    X = data.truth[0].A @ W
    largest = W.argmax(axis=0)
    kinds = np.array(["first", "second", "third"])[largest]
    return Dataset.from_array(X, labels={"kind": kinds, "own": [f"n{i}" for i in range(N)]})


def analysed(runner, dataset, *specs):
    return runner.wait_analysis(runner.start(dataset, specs or [RESTARTS]), "conclusions")


@pytest.mark.slow
def test_areas_are_those_of_the_explanations_that_restarts_found(runner):
    comparison = analysed(runner, labelled())
    found = conclusions.STAGE.of(comparison)
    apart = distances.STAGE.of(comparison).matrix("max_angle")[np.ix_(found.rows, found.rows)]
    assert (apart[np.triu_indices(len(found.rows), 1)] > 10.0).all()
    A, _ = comparison.factors(found.rows)
    scores = downstream_auc(A, comparison.dataset, "kind")
    of_task = scores.groupby("task")["auc"]
    table = found.table.set_index("task")
    assert set(table["label"]) == {"kind"}  # names of their own tell nothing
    for task in ("first", "second", "third"):
        assert table["lowest"][task] == pytest.approx(of_task.min()[task], abs=1e-12)
        assert table["highest"][task] == pytest.approx(of_task.max()[task], abs=1e-12)
    ((said, *_),) = labels.sentences(found)
    assert said.startswith(f"Predicting kind: the choice among {len(found.rows)} modes ")


def test_draws_alone_leave_nothing_to_choose_from(runner):
    spec = RunSpec("gibbs", rank=3, particles=5, settings={"warm_up": 5})
    found = conclusions.STAGE.of(analysed(runner, labelled(60), spec))
    assert "Random restarts" in found.problem
    assert labels.sentences(found) == [[found.problem]]


def test_data_without_labels_have_no_conclusion(runner):
    found = conclusions.STAGE.of(analysed(runner, laurberg("two")))
    assert labels.sentences(found) == []


def told(verdicts, rows=(0, 1), weighty=None):
    count = len(verdicts)
    table = pd.DataFrame(
        {
            "label": "kind",
            "task": [f"class {i}" for i in range(count)],
            "lowest": 0.7,
            "highest": 0.9,
            "difference": 0.2,
            "low": 0.1,
            "high": 0.3,
            "verdict": verdicts,
            "areas": [[0.7, 0.9]] * count,
            "reach": 0.1,
        }
    )
    return " ".join(labels.sentences(conclusions.Conclusions("", rows, table), weighty)[0])


@pytest.mark.parametrize(
    ("verdicts", "there", "not_there"),
    [
        (["matters"], "2 modes matters. AUC where it matters: 0.700–0.900.", "open"),
        (["does not matter"], "2 modes does not matter.", "open"),
        (["open"], "2 modes is open. AUC where it is open: 0.700–0.900.", "matters"),
        (
            ["matters", "open", "open"],
            "matters for 1 of 3 classes and is open for 2.",
            "not matter",
        ),
        (["does not matter"] * 3, "does not matter for 3 of 3 classes.", "open"),
        (["matters"] * 6, "class 3: 0.700–0.900, ….", "class 4"),
    ],
)
def test_each_verdict_has_its_sentence(verdicts, there, not_there):
    sentence = told(verdicts)
    assert there in sentence
    assert not_there not in sentence


def test_a_choice_that_matters_only_beyond_the_posterior_mass_says_so():
    verdicts = ["matters", "matters", "open"]
    assert "posterior mass" not in told(verdicts)
    among = "Among modes with at least 1% of the posterior mass it matters for "
    assert among + "no class." in told(verdicts, weighty=np.array([True, False]))
    assert among + "3 of 3 classes." in told(verdicts, weighty=np.array([True, True]))
    assert among + "no class." in told(["open"], weighty=np.array([True, False]))
    assert among not in told(["does not matter"], weighty=np.array([True, False]))


def test_one_explanation_is_no_choice():
    assert "concluded from kind depends on a choice" in told(["does not matter"] * 3, rows=(0,))
