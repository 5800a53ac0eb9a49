"""Islands or a ridge: problems whose solutions are known to be apart, or a continuum."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from bnmf_core import RunSpec, connections, distances, find_modes, laurberg, run
from bnmf_core.compare.islands import UNJOINED, _balanced, _spaced, lowest_path
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, DataError
from bnmf_core.core.problem import Problem
from bnmf_core.data.synthetic import infinite_solution

DELTAS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Pairs:
    """Just A and W."""

    def __init__(self, pairs):
        self.A, self.W = (np.stack(factors) for factors in zip(*pairs, strict=True))


def told(dataset, found, labels, threshold=5.0, **options):
    apart = distances(found)
    return connections(dataset, found.A, found.W, labels, apart, threshold, **options)


def shuffled(pairs, seed):
    """The same factorizations with components in another order and at another scale."""
    rng = np.random.default_rng(seed)
    for A, W in pairs:
        order, scale = rng.permutation(A.shape[1]), rng.uniform(0.2, 5.0, A.shape[1])
        yield (A * scale)[:, order], (W / scale[:, None])[order]


def test_two_solutions_are_two_islands():
    data = laurberg("two")
    found = Pairs(shuffled([(t.A, t.W) for t in data.truth], 0))
    result = told(data, found, np.arange(2))
    assert result.verdict == f"2 modes, {UNJOINED}" and result.families == 2
    assert result.single_linkage == 2
    assert result.paths["end_error"].item() < 1e-7 and result.paths["path_error"].item() > 0.01


def test_a_path_begins_and_ends_where_it_should_and_its_height_is_that_of_a_factorization():
    data = laurberg("two")
    (first, last) = data.truth
    problem = Problem.without_model(data, 3)
    A, W = np.stack([first.A, last.A]), np.stack([first.W, last.W])
    path = lowest_path(problem, A, W)
    np.testing.assert_allclose(path.A[0] @ path.W[0], data.X, atol=1e-12)
    np.testing.assert_allclose(path.A[-1] @ path.W[-1], data.X, atol=1e-12)
    errors = ((data.X - path.A @ path.W) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(path.f, errors, atol=1e-9)
    straight = ((data.X - 0.25 * A.sum(axis=0) @ W.sum(axis=0)) ** 2).sum()
    assert 0.01 < path.highest < straight
    # Where the goal is met from the first, the straight line between the two is enough.
    assert len(lowest_path(problem, A, W, goal=np.inf).A) == len(path.A)


def test_a_continuum_is_one_family_however_it_is_cut():
    data = laurberg("infinite")
    found = Pairs(shuffled([infinite_solution(delta) for delta in DELTAS], 1))
    result = told(data, found, np.array([0, 3, 2, 4, 1]))
    assert result.verdict == "one connected family, shown as 5 pieces"
    assert result.family.tolist() == [0] * 5
    assert len(result.paths) == 4 and (result.paths["rise"] <= 3).all()


def test_two_solutions_beside_a_continuum_are_two_families():
    """A block each: every one of five points of the continuum with every one of the two."""
    two, infinite = laurberg("two"), laurberg("infinite")
    data = Dataset.from_array(block_diag(two.X, infinite.X))
    pairs = []
    for known in two.truth:
        for delta in DELTAS[:: 2 if known is two.truth[1] else 1]:
            A, W = infinite_solution(delta)
            pairs.append((block_diag(known.A, A), block_diag(known.W, W)))
    labels = np.array([0, 2, 3, 4, 6, 1, 5, 7])
    result = told(data, Pairs(shuffled(pairs, 2)), labels)
    assert result.family.tolist() == [0, 1, 0, 0, 0, 1, 0, 1]
    assert result.verdict == (
        f"2 families, {UNJOINED}: modes 1, 3, 4, 5 and 7 are one connected family; modes 2, 6 and "
        "8 are one connected family"
    )
    alone = told(
        data, Pairs(shuffled(pairs[:6], 2)), labels[[0, 1, 2, 3, 5, 4]].argsort().argsort()
    )
    assert alone.verdict.endswith("stands alone")


def test_restarts_on_the_continuum_that_reach_it_are_one_family():
    data = laurberg("infinite")
    settings = {"max_iterations": 5000, "tolerance": 1e-12}
    found = run(data, RunSpec("random_restarts", rank=6, particles=40, seed=3, settings=settings))
    exact = np.flatnonzero(found.error < 1e-4)
    assert exact.size >= 30
    kept = Pairs([(found.A[m], found.W[m]) for m in exact])
    apart = distances(kept)
    modes = find_modes(apart, 5.0)
    assert modes.count > 1
    result = connections(data, kept.A, kept.W, modes.labels, apart, 5.0)
    assert result.verdict == f"one connected family, shown as {modes.count} pieces"


def test_nothing_depends_on_chance_and_nothing_is_changed():
    data = laurberg("two")
    found = Pairs([(t.A, t.W) for t in data.truth])
    before = found.A.copy(), found.W.copy()
    heights = [told(data, found, np.arange(2)).paths["path_error"].item() for _ in range(2)]
    assert heights[0] == heights[1]
    np.testing.assert_array_equal(found.A, before[0])
    np.testing.assert_array_equal(found.W, before[1])


def test_missing_entries_are_left_out():
    data = laurberg("infinite")
    mask = np.random.default_rng(0).random(data.X.shape) < 0.9
    masked = Dataset.from_array(np.where(mask, data.X, np.nan))
    found = Pairs([infinite_solution(delta) for delta in DELTAS])
    assert told(masked, found, np.arange(5)).families == 1


def test_one_mode_and_too_many():
    data = laurberg("infinite")
    one = Pairs([infinite_solution(0.5)])
    assert told(data, one, np.zeros(1, int)).verdict == "one mode"
    many = Pairs([infinite_solution(delta) for delta in np.linspace(0, 1, 14)])
    result = told(data, many, np.arange(14))
    assert result.verdict == (
        "12 of 14 modes were examined: one connected family, shown as 12 pieces"
    )
    assert (result.modes, result.family.size) == (14, 12)


def test_progress_is_told_and_cancelling_is_heard():
    data = laurberg("infinite")
    found = Pairs([infinite_solution(delta) for delta in DELTAS])
    steps = []
    told(data, found, np.arange(5), on_progress=steps.append)
    assert steps == [0.25, 0.5, 0.75, 1.0]
    with pytest.raises(Cancelled):
        told(data, found, np.arange(5), cancel=lambda: True)


def test_paths_are_spaced_evenly_and_keep_their_ends():
    rng = np.random.default_rng(4)
    A, W = _balanced(rng.random((4, 5, 2)), rng.random((4, 2, 6)))
    np.testing.assert_allclose(np.linalg.norm(A, axis=1), np.linalg.norm(W, axis=2), rtol=1e-12)
    path_A, path_W = _spaced(A, W)
    np.testing.assert_allclose(path_A[[0, -1]], A[[0, -1]], atol=1e-12)
    np.testing.assert_allclose(path_W[[0, -1]], W[[0, -1]], atol=1e-12)
    straight_A, _ = _spaced(A[:2], W[:2])
    steps = np.diff(straight_A.reshape(len(straight_A), -1), axis=0)
    np.testing.assert_allclose(steps, np.repeat(steps[:1], len(steps), axis=0), atol=1e-12)


def test_what_does_not_fit_is_said():
    data = laurberg("two")
    found = Pairs([(t.A, t.W) for t in data.truth])
    with pytest.raises(DataError, match="2 factorizations"):
        told(data, found, np.arange(3))
