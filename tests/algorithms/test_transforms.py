"""Libraries of transforms: what they are learned on, what decides them, how they are kept."""

import io
import threading
from dataclasses import asdict

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import TransformLibrary, transform_library
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, NotFoundError, RunError, SettingsError, StoreError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.explorers import library, q_transform, transforms
from bnmf_core.explorers.processes import PROCESSES, Source, process
from bnmf_core.explorers.transforms import Recipe, learn
from bnmf_core.numerics.linalg import balanced_svd
from bnmf_core.runs import engine
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import random_start
from bnmf_core.store import files


def target(seed: int, D: int = 30, N: int = 40) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset.from_array(rng.exponential(size=(D, 4)) @ rng.exponential(size=(4, N)))


def alike(one: TransformLibrary, other: TransformLibrary) -> bool:
    return np.array_equal(one.Q_A, other.Q_A) and np.array_equal(one.Q_W, other.Q_W)


@pytest.fixture
def own_home(home):
    """Nothing learned or given before, here or in memory."""
    library.learned.cache_clear()
    library.given.cache_clear()
    yield home
    library.learned.cache_clear()
    library.given.cache_clear()


# What they are learned on


@pytest.mark.parametrize("key", PROCESSES)
def test_sources_are_non_negative_and_small(key):
    for size in (3, 12):
        X = process(key).make(Source(size, 3, 0.5), target(0).X, np.random.default_rng(1))
        assert X.shape == (size, size) and np.isfinite(X).all()
        assert (X >= 0).all() and X.any()


@pytest.mark.parametrize("key", PROCESSES)
def test_exactly_the_processes_that_say_so_depend_on_the_target(key):
    recipe = Recipe(process=key, rank=2, size=8, restarts=2)
    one, other = (learn(recipe, 2, target(seed).X) for seed in (0, 1))
    assert alike(one, other) != PROCESSES[key].needs_target
    if PROCESSES[key].needs_target:
        with pytest.raises(SettingsError, match="needs a target"):
            learn(recipe, 2)
    else:
        assert alike(one, learn(recipe, 2))


def test_factors_without_noise_have_the_rank_and_the_law_that_they_should():
    rng = np.random.default_rng(2)
    for key, largest in (("gaussian", np.inf), ("uniform", 4.0), ("dirichlet", 1.0)):
        X = process(key).make(Source(40, 4, 0.0), None, rng)
        assert np.linalg.matrix_rank(X) == 4 and X.max() <= largest
    # Columns of A and of W sum to one, so those of AW do too.
    np.testing.assert_allclose(X.sum(axis=0), 1.0)


@pytest.mark.parametrize("key", ["gaussian", "uniform", "dirichlet"])
def test_noise_is_relative_to_the_terms_of_the_product(key):
    """Its deviation is that part of √(mean square of a_dr w_rn), whatever the law."""
    quiet, noisy = (
        process(key).make(Source(300, 300, noise), None, np.random.default_rng(3))
        for noise in (0.0, 0.01)
    )
    found = (noisy - quiet).std()
    rng = np.random.default_rng(4)
    terms = {
        "gaussian": rng.standard_normal(10**6) * rng.standard_normal(10**6),
        "uniform": rng.uniform(size=10**6) * rng.uniform(size=10**6),
        # One coordinate of a Dirichlet(1, …, 1) of length n is Beta(1, n − 1).
        "dirichlet": rng.beta(1, 299, 10**6) * rng.beta(1, 299, 10**6),
    }[key]
    assert found == pytest.approx(0.01 * np.sqrt((terms**2).mean()), rel=0.03)


def test_sub_samples_are_entries_of_the_target_and_projections_combine_its_columns():
    data = target(5)
    part = process("sub_sample").make(Source(10, 1, 0.0), data.X, np.random.default_rng(6))
    assert np.isin(part, data.X).all()
    few = Dataset.from_array(data.X[:, :6])
    make = process("column_projection").make
    projected = make(Source(10, 1, 0.0), few.X, np.random.default_rng(7))
    # Six columns of a matrix of rank four, under one projection for all of them.
    assert projected.shape == (10, 6) and np.linalg.matrix_rank(projected) == 4


@pytest.mark.parametrize("key", ["sub_sample", "column_projection"])
def test_sparse_and_dense_targets_give_the_same_sources(key):
    X = np.where(target(8).X > 4, target(8).X, 0.0)
    source = Source(10, 1, 0.0)
    dense = process(key).make(source, X, np.random.default_rng(9))
    stored = process(key).make(source, sparse.csc_array(X), np.random.default_rng(9))
    np.testing.assert_array_equal(stored, dense)


def test_a_target_of_hardly_anything_but_zeros_is_refused_in_a_sentence():
    X = np.zeros((2000, 2000))
    X[0, 0] = 1.0
    with pytest.raises(RunError, match="held nothing but zeros; choose a larger source size"):
        learn(Recipe(process="sub_sample", rank=1, size=2), 1, X)


# Learning


def test_the_defaults_are_what_they_have_always_been():
    """Algorithm 2 and §6.1 written out: the seeds and the order of draws are part of the result."""
    found = learn(Recipe(rank=4), 3)
    for index in range(3):
        rng = np.random.default_rng([12_080_926, 4, index])
        A, W = np.abs(rng.standard_normal((12, 4))), np.abs(rng.standard_normal((4, 12)))
        X = np.maximum(A @ W + 0.1 * rng.standard_normal((12, 12)), 0.0)
        data = Dataset.from_array(X)
        problem = Problem.without_model(data, 4)
        starts = [random_start(data, 4, rng) for _ in range(5)]
        A, W = hals.solve(
            problem, np.stack([a for a, _ in starts]), np.stack([w for _, w in starts]), 500, 1e-5
        )
        A, W = transforms.equal_norms(A, W)
        A_svd, W_svd = balanced_svd(X, 4)
        for m in range(5):
            expected_A = np.linalg.lstsq(A_svd, A[m], rcond=None)[0]
            expected_W = np.linalg.lstsq(W_svd.T, W[m].T, rcond=None)[0].T
            np.testing.assert_array_equal(found.Q_A[5 * index + m], expected_A)
            np.testing.assert_array_equal(found.Q_W[5 * index + m], expected_W)


@pytest.mark.parametrize("key", PROCESSES)
def test_transforms_are_least_squares_optimal(key, monkeypatch):
    """The normal equations A_SVDᵀ(A_SVD Q_A − A) = 0 and (Q_W W_SVD − W) W_SVDᵀ = 0."""
    given = []
    solve = transforms.least_squares
    monkeypatch.setattr(
        transforms, "least_squares", lambda *args: given.append(args) or solve(*args)
    )
    found = learn(Recipe(process=key, source_rank=5), 2, target(10).X)
    for index, (X, A, W) in enumerate(given):
        A_svd, W_svd = balanced_svd(X, 3)
        for m in range(5):
            Q_A, Q_W = found.Q_A[5 * index + m], found.Q_W[5 * index + m]
            residual_A, residual_W = A_svd @ Q_A - A[m], Q_W @ W_svd - W[m]
            scale = np.linalg.norm(X)
            np.testing.assert_allclose(A_svd.T @ residual_A / scale, 0, atol=1e-10)
            np.testing.assert_allclose(residual_W @ W_svd.T / scale, 0, atol=1e-10)


def test_every_part_of_the_recipe_counts():
    usual = learn(Recipe(), 1)
    for changed in (
        {"process": "uniform"},
        {"size": 13},
        {"source_rank": 4},
        {"noise": 0.2},
        {"rank": 2},
    ):
        other = learn(Recipe(**changed), 1)
        assert not (other.Q_A.shape == usual.Q_A.shape and alike(other, usual)), changed
    assert alike(usual, learn(Recipe(source_rank=3), 1))
    assert learn(Recipe(restarts=2), 3).count == 6


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"process": "magic"}, "no generating process 'magic'; there are gaussian, uniform"),
        ({"rank": 0}, "transfer rank was 0"),
        ({"rank": 5, "size": 4}, "source size was 4 and the transfer rank 5"),
        ({"source_rank": 0}, "source rank was 0"),
        ({"restarts": 0}, "number of restarts was 0"),
        ({"noise": -1.0}, "noise was -1.0"),
        ({"noise": float("nan")}, "noise was nan"),
        ({"sets": 0}, "0 source matrices"),
    ],
)
def test_what_makes_no_sense_is_refused(own_home, changes, sentence):
    with pytest.raises(BNMFError, match=sentence):
        transform_library(**changes)


# Kept on disk


def test_a_library_survives_being_stored(tmp_path):
    made = learn(Recipe(rank=2, process="dirichlet"), 2)
    made.save(tmp_path / "library.npz")
    buffer = io.BytesIO()
    made.save(buffer)
    for again in (
        TransformLibrary.load(tmp_path / "library.npz"),
        TransformLibrary.load(io.BytesIO(buffer.getvalue())),
    ):
        assert alike(again, made)
        assert (again.key, again.recipe) == (made.key, asdict(Recipe(rank=2, process="dirichlet")))
        # Products round as the layout in memory has it.
        assert again.Q_A.strides == made.Q_A.strides and again.Q_W.strides == made.Q_W.strides
        with pytest.raises(ValueError, match="read-only"):
            again.Q_A[0] = 0
    assert [path.name for path in tmp_path.iterdir()] == ["library.npz"]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"Q_A": np.ones((2, 3, 3))}, "no array 'Q_W'"),
        ({"Q_A": np.ones((2, 3)), "Q_W": np.ones((2, 3, 3))}, "Q_A is not a stack"),
        ({"Q_A": np.ones((2, 3, 3)), "Q_W": np.ones((2, 3, 2))}, "do not go together"),
        ({"Q_A": np.full((1, 1, 1), np.nan), "Q_W": np.ones((1, 1, 1))}, "not finite"),
        ({"Q_A": np.array([[["a"]]]), "Q_W": np.ones((1, 1, 1))}, "matrices of numbers"),
        ({"Q_A": np.array([[[None]]]), "Q_W": np.ones((1, 1, 1))}, "Python objects"),
        (
            {"Q_A": np.ones((1, 1, 1)), "Q_W": np.ones((1, 1, 1)), "recipe": np.array("[1]")},
            "recipe is no list of settings",
        ),
    ],
)
def test_a_file_that_is_no_library_is_refused_with_the_reason(tmp_path, arrays, sentence):
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(StoreError, match=sentence) as caught:
        TransformLibrary.load(tmp_path / "wrong.npz")
    assert "wrong.npz" in str(caught.value) and str(caught.value).endswith(".")


def test_a_torn_or_missing_file_is_refused_with_a_sentence(tmp_path):
    learn(Recipe(), 1).save(tmp_path / "torn.npz")
    content = (tmp_path / "torn.npz").read_bytes()
    (tmp_path / "torn.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r"torn.npz is not a library of transforms: .*damaged"):
        TransformLibrary.load(tmp_path / "torn.npz")
    with pytest.raises(StoreError, match=r"absent.npz is not .*No such file"):
        TransformLibrary.load(tmp_path / "absent.npz")


def test_a_learned_library_is_read_from_disk_the_next_time(own_home, monkeypatch):
    first = transform_library(2)
    library.learned.cache_clear()
    monkeypatch.setattr(library, "learn", lambda *args: pytest.fail("learned again"))
    again = transform_library(2)
    assert again is not first and alike(again, first)


def test_a_torn_or_foreign_cache_file_is_made_again(own_home):
    first = transform_library(2)
    (path,) = (own_home / "transforms" / "learned").iterdir()
    other = learn(Recipe(rank=3), 20)
    for damage in (
        lambda: path.write_bytes(path.read_bytes()[:100]),
        lambda: other.save(path),
    ):
        damage()
        library.learned.cache_clear()
        assert alike(transform_library(2), first)
        assert alike(TransformLibrary.load(path), first)


def test_other_code_does_not_take_what_this_code_learned(own_home, monkeypatch):
    transform_library(2)
    library.learned.cache_clear()
    monkeypatch.setattr(library, "_code", lambda: "other code")
    transform_library(2)
    assert len(list((own_home / "transforms" / "learned").iterdir())) == 2


def test_a_folder_that_cannot_be_written_to_costs_time_only(own_home, monkeypatch):
    def refuse(*arguments):
        raise PermissionError("read-only")

    monkeypatch.setattr(files, "write", refuse)
    assert alike(transform_library(2), learn(Recipe(rank=2)))
    assert not list(own_home.rglob("*.npz"))


def test_writers_at_once_leave_a_whole_file(tmp_path):
    made = [learn(Recipe(rank=rank), 1) for rank in (2, 3)]
    path = tmp_path / "library.npz"
    made[0].save(path)
    done = threading.Event()

    def write(found):
        while not done.is_set():
            found.save(path)

    writers = [threading.Thread(target=write, args=(found,)) for found in made]
    for writer in writers:
        writer.start()
    keys = {TransformLibrary.load(path).key for _ in range(40)}
    done.set()
    for writer in writers:
        writer.join()
    assert keys <= {found.key for found in made}
    assert [entry.name for entry in tmp_path.iterdir()] == ["library.npz"]


# What runs make of them


def test_a_run_records_the_library_it_was_given(own_home, small):
    """Same spec, same bits: the key tells the content."""
    given = learn(Recipe(rank=3, process="uniform"), 3)
    spec = RunSpec("q_transform", 4, particles=7, settings={"library": library.keep(given)})
    one, other = engine.run(small, spec), engine.run(small, spec)
    np.testing.assert_array_equal(one.A, other.A)
    assert one.info["settings"]["library"] == given.key
    as_learned = RunSpec("q_transform", 4, particles=7, settings={"process": "uniform"})
    np.testing.assert_array_equal(engine.run(small, as_learned).A, one.A)


def test_a_library_that_cannot_serve_is_named_before_the_run(own_home, small):
    def refused(sentence, **settings):
        with pytest.raises(BNMFError, match=sentence):
            engine.run(small, RunSpec("q_transform", 3, particles=7, settings=settings))

    refused("no library of transforms 'feedbeeffeedbeef' here", library="feedbeeffeedbeef")
    refused("'Library of transforms' was 'nonsense'", library="nonsense")
    one = learn(Recipe(restarts=3), 1)
    refused("has 3 pairs of transforms, so at most 3 factorizations", library=library.keep(one))
    wide = TransformLibrary(np.ones((9, 13, 2)), np.ones((9, 2, 13)))
    refused("acts on 13 singular directions", library=library.keep(wide))
    refused("source size was 2 and the transfer rank 3", source_size=2)
    # What lies under the key must be what the key says.
    path = own_home / "transforms" / "given" / f"{one.key}.npz"
    learn(Recipe(), 2).save(path)
    library.given.cache_clear()
    refused("was altered on disk", library=one.key)
    with pytest.raises(NotFoundError, match="bring it in again"):
        library.given("0" * 16)


def test_transforms_need_not_be_square(own_home, small):
    rng = np.random.default_rng(11)
    wide = TransformLibrary(rng.random((4, 5, 2)), rng.random((4, 2, 5)))
    problem = Problem.without_model(small, 2)
    settings = q_transform.Settings(library=library.keep(wide))
    A, W = q_transform.starts(problem, settings, Shard(0, 0, 4, seed=0))
    A_svd, W_svd = balanced_svd(small.X, 5)
    for i in range(4):
        np.testing.assert_allclose(A[i], np.abs(A_svd @ wide.Q_A[i]), rtol=1e-12)
        np.testing.assert_allclose(W[i], np.abs(wide.Q_W[i] @ W_svd), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["sub_sample", "column_projection"])
def test_a_run_learns_on_its_own_data_once(own_home, key, monkeypatch):
    calls = []
    learn_once = q_transform.learn
    monkeypatch.setattr(q_transform, "learn", lambda *args: calls.append(1) or learn_once(*args))
    settings = {"process": key, "block": 5}
    spec = RunSpec("q_transform", 3, particles=20, settings=settings)
    one = engine.run(target(12), spec)
    assert len(calls) <= 2  # two threads may begin at once
    np.testing.assert_array_equal(engine.run(target(12), spec).A, one.A)
    assert not np.array_equal(engine.run(target(13), spec).A, one.A)
    assert not (own_home / "transforms").exists()


def test_a_target_with_gaps_is_completed_before_it_is_sampled():
    X = target(14).X.copy()
    X[3, 4:9] = np.nan
    data = Dataset.from_array(X)
    problem = Problem.without_model(data, 3)
    found = transform_library(3, 2, process="sub_sample", target=data)
    assert alike(found, learn(Recipe(process="sub_sample"), 2, problem.completed))
