"""Weights and evidence that an algorithm hands over, on their way to particles and to the disk."""

from dataclasses import replace

import numpy as np
import pytest

from bnmf_core.analysis.comparison import representing
from bnmf_core.core.algorithm import Batch, Shard
from bnmf_core.core.spec import RunSpec
from bnmf_core.numerics.populations import combine
from bnmf_core.runs import engine, planning
from bnmf_core.store.checkpoint import Checkpoint
from bnmf_core.store.chunks import Chunk, assemble
from bnmf_core.store.folders import FolderSink

SPEC = RunSpec("tempered_smc", 2, particles=8)
BATCH = Batch(np.ones((1, 2, 1)), np.ones((1, 1, 2)), None, totals=None)
BRIEF = {"population": 10, "sweeps": 1}


def chunk(shard, size, **told) -> Chunk:
    names = ("chain", "log_joint", "error", "seconds")
    return Chunk(
        shard=shard,
        position=0,
        first=0,
        A=np.ones((size, 3, 2)),
        W=np.ones((size, 2, 4)),
        states=size,
        **{name: np.full(size, float(shard)) for name in names},
        **told,
    )


def test_weights_follow_from_their_logarithms_however_far_down():
    parts = [
        chunk(0, 2, log_weights=np.array([-5000.0, -5000.0 + np.log(2)])),
        chunk(1, 1, log_weights=np.array([-5000.0 + np.log(3)])),
    ]
    particles = assemble(parts, [0, 2], SPEC, {})
    np.testing.assert_allclose(particles.weights, [1 / 6, 1 / 3, 1 / 2], rtol=1e-12)


def test_without_weights_all_count_the_same():
    particles = assemble([chunk(0, 3), chunk(1, 1)], [0, 3], SPEC, {})
    np.testing.assert_array_equal(particles.weights, np.full(4, 0.25))
    assert dict(particles.info) == {}


def test_evidence_and_notes_of_shards_become_those_of_the_run():
    parts = [chunk(k, 1, log_evidence=-100.0 + k / 10, note="Once.") for k in range(4)]
    info = assemble(parts, [0, 1, 2, 3], SPEC, {"dataset": "matrix"}).info
    assert info["log_evidence"] == pytest.approx(np.log(np.exp([0, 0.1, 0.2, 0.3]).mean()) - 100)
    assert info["notes"] == ["Once."] and info["dataset"] == "matrix"


def test_what_was_stored_is_read_again(tmp_path):
    sink, checkpoint = FolderSink(tmp_path), Checkpoint(BATCH, {}, 0, 0.0)
    told = {"log_weights": np.array([-3.0, -4.0]), "log_evidence": -7.5, "note": "Two modes."}
    told |= {"totals": {"mean_A": np.ones((2, 3, 2))}}
    sink.save(Shard(0, 0, 2, 0), checkpoint, chunk(0, 2, **told))
    sink.save(Shard(1, 2, 1, 0), checkpoint, chunk(1, 1))
    weighted, plain = sink.chunks()
    np.testing.assert_array_equal(weighted.log_weights, told["log_weights"])
    assert (weighted.log_evidence, weighted.note) == (-7.5, "Two modes.")
    np.testing.assert_array_equal(weighted.totals["mean_A"], np.ones((2, 3, 2)))
    assert plain.totals == {}
    assert (plain.log_weights, plain.log_evidence, plain.note) == (None, None, "")


# Populations


def test_close_estimates_have_the_error_of_their_mean():
    logs = -1e5 + np.array([0.00, 0.01, -0.02, 0.015])
    found = combine(logs)
    assert found.log_evidence == pytest.approx(logs.mean(), abs=1e-3)
    assert found.error == pytest.approx(logs.std(ddof=1) / 2, rel=0.05)
    assert found.effective == pytest.approx(4.0, abs=0.01) and found.disagreement == ""


@pytest.mark.slow
def test_the_error_covers_the_truth_as_often_as_it_says():
    """Estimates exp(s g − s²/2) have mean one: log 1 = 0 lies within two errors mostly."""
    rng = np.random.default_rng(0)
    found = [combine(0.4 * rng.standard_normal(8) - 0.08) for _ in range(2000)]
    inside = [abs(one.log_evidence) < 2 * one.error for one in found]
    assert 0.88 < np.mean(inside) < 0.97
    assert abs(np.log(np.mean([np.exp(one.log_evidence) for one in found]))) < 0.02


@pytest.mark.parametrize(("lead", "shown"), [(1.8, True), (2.0, False), (900.0, False)])
def test_populations_disagree_where_one_outweighs_the_others_together(lead, shown):
    found = combine(np.array([0.0, lead, 0.0, 0.0]))
    assert (found.log_evidence is not None) == shown == (found.error is not None)
    assert found.disagreement.endswith("(mode_evidence).") != shown
    if not shown:
        assert f"disagree by {lead:.1f} nats" in found.disagreement


def test_one_population_cannot_tell_its_error():
    found = combine(np.array([-3.0]))
    assert found.log_evidence is None and found.disagreement.startswith("Only one population")


def test_one_that_missed_everything_does_not_spoil_the_rest():
    found = combine(np.array([0.1, 0.0, -0.1, -40.0]))
    assert found.log_evidence == pytest.approx(np.log(3 / 4), abs=0.01) and found.error < 0.5


# In a run


def test_a_population_counts_by_its_evidence(small):
    particles = engine.run(small, RunSpec("tempered_smc", 2, particles=8, settings=BRIEF))
    assert particles.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert dict(particles.trace) == {}  # particles of a population are no chain
    for k in range(4):
        assert np.ptp(particles.weights[particles.chain == k]) == 0.0
    halves = particles.subset(np.arange(4))
    np.testing.assert_allclose(
        halves.weights, particles.weights[:4] / particles.weights[:4].sum(), rtol=1e-12
    )


def test_populations_that_disagree_are_told_and_give_no_number(small):
    spec = RunSpec("tempered_smc", 2, particles=4, settings=BRIEF)
    plan = planning.make_plan(small, spec)
    parts = []
    for shard in plan.shards:
        checkpoint, made = None, None
        while made is None:
            checkpoint, made = engine.advance(plan, shard, checkpoint)
        parts.append(made)
    apart = [replace(part, log_evidence=10.0 * k) for k, part in enumerate(parts)]
    info = assemble(apart, [0, 1, 2, 3], spec, {}).info
    assert info["log_evidence"] is None and info["log_evidence_error"] is None
    assert "disagree by 30.0 nats" in info["notes"][0] and "mode_evidence" in info["notes"][0]


# The particles that stand for all


def test_members_keep_the_weight_of_every_group():
    rng = np.random.default_rng(1)
    weights = np.repeat([0.7, 0.2, 0.1, 0.0], 300) / 300 * rng.uniform(0.5, 1.5, 1200)
    weights /= weights.sum()
    chosen, of_chosen = representing(weights, 200)
    assert chosen.size <= 200 and (np.diff(chosen) > 0).all()
    assert of_chosen.sum() == pytest.approx(1.0)
    for first in range(0, 1200, 300):
        inside = (chosen >= first) & (chosen < first + 300)
        assert of_chosen[inside].sum() == pytest.approx(
            weights[first : first + 300].sum(), abs=1 / 200
        )


def test_members_of_equal_weight_are_evenly_spaced_and_few_are_all_taken():
    chosen, of_chosen = representing(np.full(1000, 1e-3), 200)
    assert np.ptp(np.diff(chosen)) <= 1 and np.ptp(of_chosen) == 0.0
    chosen, of_chosen = representing(np.array([0.5, 0.5, 0.0]), 200)
    np.testing.assert_array_equal(chosen, [0, 1, 2])
    np.testing.assert_array_equal(of_chosen, [0.5, 0.5, 0.0])


def test_a_batch_without_weights_is_as_before():
    assert (BATCH.log_weights, BATCH.log_evidence, BATCH.note) == (None, None, "")
