"""Checkpoints: every state comes back as it was; those of other versions are set aside."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from bnmf_core.core.errors import RunError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs import engine, planning
from bnmf_core.store import files
from bnmf_core.store.checkpoint import (
    ANOTHER_VERSION,
    Checkpoint,
    Failure,
    from_arrays,
    to_arrays,
)

HMC = RunSpec(
    "hmc",
    2,
    particles=4,
    seed=3,
    model_settings={"sigma": 0.1, "rate": 1.0},
    settings={"chains": 1, "warm_up": 3, "leapfrog_steps": 4},
)
RRT = RunSpec(
    "rrt",
    3,
    "uniform",
    particles=40,
    seed=3,
    model_settings={"epsilon": 0.3, "rate": 1.0},
    settings={"start": "known", "temporary": 4},
)
GENERATOR = np.random.default_rng(0).bit_generator.state


@dataclass(frozen=True, eq=False)
class Leaf:
    values: np.ndarray
    name: str


@dataclass(frozen=True, eq=False)
class Branch:
    count: int
    share: float
    ready: bool
    leaf: Leaf | None
    leaves: tuple[Leaf, ...]
    pair: tuple[int, np.ndarray]
    bare: np.ndarray


numbers = arrays_of.arrays(
    st.sampled_from([np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool)]),
    arrays_of.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3),
)
leaves = st.builds(Leaf, numbers, st.text(max_size=4))
branches = st.builds(
    Branch,
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none() | leaves,
    st.lists(leaves, max_size=3).map(tuple),
    st.tuples(st.integers(0, 9), numbers),
    numbers,
)


def assert_same(one, other):
    assert type(one) is type(other)
    if is_dataclass(one):
        for part in fields(one):
            assert_same(getattr(one, part.name), getattr(other, part.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for ours, theirs in zip(one, other, strict=True):
            assert_same(ours, theirs)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def stored_and_read(checkpoint, State, folder):
    path = folder / "checkpoint.npz"
    files.write_arrays(path, to_arrays(checkpoint))
    return from_arrays(files.read_arrays(path), State)


@given(state=branches)
def test_what_is_stored_comes_back_as_it_was(state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    made = Checkpoint(state, GENERATOR, 3, 0.5, 4, {"0": 3}, Failure(4, "Why."))
    back = stored_and_read(made, Branch, folder)
    assert_same(back.state, state)
    assert_same(back.draws, made.draws)
    assert (back.produced, back.recorded, back.generator) == (3, 4, GENERATOR)
    assert back.failure == made.failure


def test_plain_numbers_of_numpy_come_back_as_python_has_them(tmp_path):
    leaf = Leaf(np.zeros(2), "")
    state = Branch(
        np.int64(3), np.float64(0.5), np.bool_(True), leaf, (), (1, np.ones(1)), np.ones(1)
    )
    back = stored_and_read(Checkpoint(state, GENERATOR, 0, 0.0), Branch, tmp_path).state
    assert (back.count, back.share, back.ready) == (3, 0.5, True)


@dataclass(frozen=True, eq=False)
class Gained(Leaf):
    more: int = 0


@dataclass(frozen=True, eq=False)
class Renamed:
    values: np.ndarray
    title: str


@dataclass(frozen=True, eq=False)
class Deeper:
    values: Leaf
    name: str


@dataclass(frozen=True, eq=False)
class Leveled:
    values: np.ndarray
    name: Leaf


@pytest.mark.parametrize("State", [Gained, Renamed, Deeper, Leveled])
def test_a_state_of_another_shape_is_set_aside_with_a_sentence(State):
    stored = to_arrays(Checkpoint(Leaf(np.zeros(2), "leaf"), GENERATOR, 3, 0.5, 4, {"0": 3}))
    back = from_arrays(stored, State)
    assert back.failure == Failure(4, ANOTHER_VERSION)
    assert (back.state, back.fraction, back.produced, back.draws) == (None, 1.0, 3, {"0": 3})


def test_a_file_that_is_no_checkpoint_is_refused_with_a_sentence():
    for wrong in ({}, {"meta": np.array("{")}, {"meta": np.array("[]")}, {"meta": np.array("{}")}):
        with pytest.raises(StoreError, match="holds something else than a state"):
            from_arrays(wrong, Leaf)


def test_a_state_holds_a_trajectory_only_while_one_is_under_way(monkeypatch):
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    monkeypatch.setattr("bnmf_core.core.algorithm.STEP_WORK", 1.0)  # one leapfrog step at a time
    plan = planning.make_plan(data, HMC)
    checkpoint, seen = None, []
    for _ in range(8):
        checkpoint, _ = engine.advance(plan, plan.shards[0], checkpoint)
        under_way = checkpoint.state.trajectory
        seen.append(0 if under_way is None else under_way.leapfrogs)
    assert seen == [1, 2, 3, 0, 1, 2, 3, 0]


def test_a_run_of_which_no_shard_can_be_continued_says_so(tmp_path):
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    tree = planning.make_plan(data, RRT)
    checkpoint, _ = engine.advance(tree, tree.shards[0], None)
    stored = to_arrays(replace(checkpoint, produced=2))

    class Begun(engine.MemorySink):
        def checkpoint(self, shard, State):
            return from_arrays(stored, State)

    # The fields of a tree are not those of a chain.
    plan, sink = planning.make_plan(data, HMC), Begun()
    assert sink.checkpoint(plan.shards[0], plan.algorithm.State).failure.reason == ANOTHER_VERSION
    with ThreadPoolExecutor(1) as executor:
        assert engine.drive(plan, sink, executor).message.endswith(ANOTHER_VERSION)
    stored = to_arrays(replace(checkpoint, produced=0, draws={}))
    with ThreadPoolExecutor(1) as executor, pytest.raises(RunError, match="another version"):
        engine.drive(plan, sink, executor)
