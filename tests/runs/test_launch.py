"""The recommended runs of data of a size, in words and in seconds."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core.analysis.posterior import allowed_length
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.samples import SAMPLES, load_sample
from bnmf_core.data.synthetic import low_rank
from bnmf_core.likelihoods import MODELS
from bnmf_core.runs.estimate import Estimate, estimate, spoken, together
from bnmf_core.runs.examples import EXAMPLES
from bnmf_core.runs.launch import COUNTS, cost, group_names, in_words, preset, runs_in_words
from bnmf_core.runs.planning import check


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_get_everything(name):
    data = load_sample(name)
    found = preset(data, SAMPLES[name].suggested_rank)
    sizes = {spec.algorithm: spec.particles for spec in found.specs}
    assert sizes == {"random_restarts": 60, "q_transform": 60, "gibbs": 400}
    assert found.left_out == ()


def test_plans_have_more_restarts_or_more_samplers(small):
    thorough = preset(small, 3, plan="thorough").specs
    assert [spec.particles for spec in thorough] == [200, 200, 400]
    compared = preset(small, 3, plan="compare").specs
    assert [spec.algorithm for spec in compared[2:]] == ["gibbs", "hmc", "mode_jumps"]
    for spec in compared:
        check(small, spec)


@pytest.mark.parametrize(("model", "jumps"), [("poisson", True), ("negative_binomial", False)])
def test_samplers_that_refuse_a_model_are_not_compared(model, jumps):
    counts = Dataset.from_array(np.arange(1.0, 31.0).reshape(5, 6))
    compared = preset(counts, 2, plan="compare", model=model).specs
    assert ("mode_jumps" in [spec.algorithm for spec in compared]) == jumps
    for spec in compared:
        check(counts, spec)


def test_chains_are_several_and_explorers_converge(small):
    *explorers, chain = preset(small, 3).specs
    assert check(small, chain)[1].chains == 4
    for spec in explorers:
        settings = check(small, spec)[1]
        assert settings.tolerance is None and settings.max_iterations > 1000


@pytest.mark.slow
def test_large_data_get_less_and_it_is_said():
    X = np.broadcast_to(np.float32(1.0), (4_000, 60_000))
    small = low_rank(12, 15, 3)
    large = dataclasses.replace(small, X=X, features=(), observations=(), labels={})
    found = preset(large, 60)
    counts = {spec.particles for spec in found.specs if spec.algorithm != "gibbs"}
    assert counts == {COUNTS[-1]}
    assert any(f"{COUNTS[-1]} factorizations of each kind" in words for words in found.left_out)
    assert any("left out" in words for words in found.left_out)
    assert "gibbs" not in {spec.algorithm for spec in found.specs}


def test_seed_part_held_out_and_number_are_taken_over(small):
    for spec in preset(small, 2, seed=5, holdout=0.2, restarts=7).specs:
        assert (spec.rank, spec.seed, spec.holdout) == (2, 5, 0.2)
        assert spec.algorithm == "gibbs" or spec.particles == 7


def test_a_rank_that_does_not_fit_is_refused(small):
    with pytest.raises(RunError, match="between 1 and 12"):
        preset(small, 13)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=list(EXAMPLES))
def test_every_example_can_be_started(example):
    dataset = example.dataset()
    specs = example.runs(dataset)
    assert len(specs) >= 2
    for spec in specs:
        check(dataset, spec)
        assert spec.rank == example.rank


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (RunSpec("random_restarts", 3, particles=60), "60 random restarts run until they converge"),
        (RunSpec("random_restarts", 3, particles=1), "1 random restart run until it converges"),
        (
            RunSpec("q_transform", 3, particles=20, settings={"tolerance": 1e-4}),
            "20 starts of Q-Transform, stopped as published",
        ),
        (
            RunSpec("nndsvdar", 3, particles=5),
            "5 factorizations by NNDSVDar run until they converge",
        ),
        (RunSpec("gibbs", 3, particles=60), "a Gibbs chain of 60 draws"),
        (RunSpec("hmc", 3, particles=60, settings={"chains": 1}), "an HMC chain of 60 draws"),
        (RunSpec("iasg", 3, "boolean", 60, settings={"chains": 2}), "2 IASG chains of 30 outputs"),
        (RunSpec("hmc", 3, particles=90, settings={"chains": 3}), "3 HMC chains of 30 draws"),
        (
            RunSpec("gibbs", 3, particles=1001, settings={"chains": 4}),
            "4 Gibbs chains, 1,001 draws together",
        ),
        (RunSpec("gibbs", 3, settings={"of_long_ago": 1}), "100 factorizations by Gibbs"),
        (RunSpec("alchemy", 3), "100 factorizations by alchemy"),
        (RunSpec("foreign", 3, particles=5), "5 factorizations of another program"),
        (RunSpec("rrt", 3, particles=9), "9 factorizations by RRT"),
    ],
)
def test_a_run_is_said_in_words(spec, words):
    assert in_words(spec) == words


def test_runs_are_said_in_one_sentence():
    specs = [RunSpec("nvi", 3, particles=n) for n in (1, 2, 3)]
    assert runs_in_words(specs) == (
        "1 factorization by NVI, 2 factorizations by NVI and 3 factorizations by NVI."
    )
    assert runs_in_words(specs[:1]) == "1 factorization by NVI."
    repeated = [RunSpec("nvi", 3, particles=1, seed=seed) for seed in (4, 5)]
    assert runs_in_words(repeated) == "2 × 1 factorization by NVI."


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.0, 0.4, "about a second"),
        (0.9, 2.2, "about 1–2 s"),
        (21.0, 38.0, "about 20–40 s"),
        (28.0, 31.0, "about 30 s"),
        (40.0, 130.0, "about 40 s to 2 min"),
        (100.0, 200.0, "about 2–3 min"),
        (3000.0, 9000.0, "about 50 min to 3 h"),
    ],
)
def test_a_range_is_said_with_no_more_digits_than_it_has(low, high, words):
    assert spoken(low, high) == words


def test_runs_share_the_cores(monkeypatch):
    monkeypatch.setattr("bnmf_core.runs.estimate.WORKERS", 2)
    one = Estimate(10.3, 0, 0, factor=1.0, busy=20.0)
    assert together([one]) == pytest.approx((10.3, 10.3))
    assert together([one, one]) == pytest.approx((20.3, 20.3))
    # One core is busy with the long chain however idle the other is.
    chain = Estimate(30.3, 0, 0, factor=1.0, busy=30.0)
    assert together([one, chain]) == pytest.approx((30.3, 30.3))
    # Errors of many runs cancel in part, and never add up to more than one's own.
    unsure = Estimate(10.3, 0, 0, factor=2.0, busy=20.0)
    low, high = together([unsure] * 4)
    assert high / low == pytest.approx(2.0)


def test_the_cost_holds_what_runs_are_expected_to_take(small):
    specs = preset(small, 3).specs
    estimates = [estimate(small, spec) for spec in specs]
    found = cost(small, specs[0], estimates, slower=1.0)
    low, high = together(estimates)
    assert found.findings[0] == low and found.findings[1] > high
    assert found.weighing is not None and found.weighing[0] < found.weighing[1]
    assert (
        "First findings in about" in found.sentence and "Weighing the modes then" in found.sentence
    )


def test_what_cannot_be_weighed_in_time_is_said():
    X = np.random.default_rng(0).random((20, 30))
    data = Dataset.from_array(X)
    large = dataclasses.replace(
        data, X=np.broadcast_to(np.float32(1.0), (20_000, 60_000)), features=(), observations=()
    )
    spec = RunSpec("random_restarts", 50)
    assert "not weighed" in cost(large, spec, [Estimate(1.0, 0, 0, busy=1.0)], 1.0).sentence


def test_what_takes_too_long_for_counts_is_left_out():
    """Sweeps draw a gamma for every entry of dispersed counts, zeros too."""
    X = np.random.default_rng(0).poisson(0.02, (1_000, 2_400)).astype(float)
    data = Dataset.from_array(X)
    kinds = {
        model: [spec.algorithm for spec in preset(data, 4, restarts=10, model=model).specs]
        for model in ("poisson", "negative_binomial")
    }
    assert "gibbs" in kinds["poisson"] and "gibbs" not in kinds["negative_binomial"]
    found = MODELS["negative_binomial"]
    problem = Problem(data, found, found.Settings(), 4)
    assert allowed_length(problem) == 0
    assert allowed_length(dataclasses.replace(problem, model=MODELS["poisson"])) > 0


def test_groups_are_called_as_all_their_runs_are():
    def run(run_id: str, seed: int, name: str = "") -> SimpleNamespace:
        return SimpleNamespace(
            id=run_id, name=name, spec=RunSpec("gibbs", 3, seed=seed), created=0.0
        )

    runs = [run("a", 0), run("b", 1), run("c", 0, "long")]
    groups = {"a": ["a", "b"], "c": ["c"]}
    assert group_names(runs, groups) == {"a": "Gibbs × 2", "c": "long"}
    assert group_names(runs, groups, counted=False) == {"a": "Gibbs", "c": "long"}
    # Two groups that are called the same are told by their first runs.
    alike = [run("a", 0), run("b", 1), run("c", 2), run("d", 3)]
    runs_in_words = group_names(alike, {"a": ["a", "b"], "c": ["c", "d"]})
    assert runs_in_words == {"a": "Gibbs, seed 0", "c": "Gibbs, seed 2"}
