"""Trees over changes of basis: movements on the manifold, what becomes a node, where trees end."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import sparse

from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import cross, pairwise
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.explorers import oblique
from bnmf_core.numerics.deviations import largest_deviations
from bnmf_core.numerics.linalg import balanced_svd
from bnmf_core.rrt import rrt
from bnmf_core.rrt.mixture import best_scale
from bnmf_core.rrt.tree import REJECTIONS, in_one_order
from bnmf_core.runs import engine, planning

MAX_ANGLE = DISTANCES["max_angle"]
numbers = some.integers(0, 2**32 - 1)
ranks = some.integers(1, 8)


def points(rank: int, seed: int, count: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [oblique.uniform_point(rank, rng) for _ in range(count)]


def spec(model="uniform", particles=60, seed=0, model_settings=None, rank=3, **settings) -> RunSpec:
    chosen = {"start": "known", "attempts": 1500} | settings
    noise = {"uniform": {"epsilon": 0.05}, "gaussian": {"sigma": 0.05}}[model]
    return RunSpec("rrt", rank, model, particles, seed, chosen, noise | (model_settings or {}))


@given(ranks, numbers, some.floats(1e-3, 1e3))
def test_retraction_gives_columns_of_length_one(rank, seed, size):
    Q = size * np.random.default_rng(seed).standard_normal((4, rank, rank))
    lengths = np.linalg.norm(oblique.retracted(Q), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-14)


@given(ranks.filter(lambda rank: rank > 1), numbers, some.floats(1e-3, 1.0), some.floats(0, 0.3))
def test_a_path_approaches_its_target_with_every_step(rank, seed, step, growth):
    Q, target = points(rank, seed)
    path = oblique.path(Q, target, step, growth, 200)
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1.0, rtol=0, atol=1e-14)
    # Column by column: the angle to the target never grows.
    cosines = np.einsum("krs,rs->ks", np.concatenate([Q[None], path]), target)
    assert (np.diff(cosines, axis=0) >= -1e-14).all()


@given(ranks.filter(lambda rank: rank > 1), numbers, some.floats(1e-4, 1e-3), some.floats(0, 0.2))
def test_steps_have_the_stated_lengths_and_grow_by_the_factor(rank, seed, step, growth):
    Q, target = points(rank, seed)
    path = np.concatenate([Q[None], oblique.path(Q, target, step, growth, 10)])
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=(1, 2))
    stated = step * (1 + growth) ** np.arange(10)
    # The chord of a step s on a sphere is s − s³/2·…: equal to first order.
    assert (np.abs(lengths - stated) <= stated**2).all()


@given(ranks.filter(lambda rank: rank > 1), numbers)
def test_a_path_with_steps_enough_ends_at_its_target(rank, seed):
    Q, target = points(rank, seed)
    path = oblique.path(Q, target, 0.02, 0.1, 500)
    np.testing.assert_allclose(path[-1], target, rtol=0, atol=1e-14)
    assert oblique.path(target, target, 0.02, 0.1, 500).shape[0] <= 1


@given(ranks, numbers)
def test_changes_of_basis_are_those_of_least_squares(rank, seed):
    rng = np.random.default_rng(seed)
    A_svd, _ = balanced_svd(rng.exponential(size=(12, 10)), rank)
    A = rng.exponential(size=(3, 12, rank))
    expected = np.stack([np.linalg.lstsq(A_svd, a)[0] for a in A])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(oblique.changes_of_basis(A_svd, A), expected, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_the_change_of_basis_of_an_exact_factorization_gives_it_back(rank):
    data = low_rank(15, 20, rank)
    truth = data.truth[0]
    A_svd, W_svd = balanced_svd(data.X, rank)
    Q = oblique.changes_of_basis(A_svd, truth.A[None])
    A, W, invertible = oblique.factors(Q, A_svd, W_svd)
    assert invertible.all()
    # The scale of the components is not kept.
    scale = np.linalg.norm(truth.A, axis=0) / np.linalg.norm(A[0], axis=0)
    np.testing.assert_allclose(A[0] * scale, truth.A, atol=1e-9)
    np.testing.assert_allclose(W[0] / scale[:, None], truth.W, atol=1e-9)


def test_a_large_rank_is_no_reason_to_call_a_basis_singular():
    # The determinant of a random matrix of unit columns falls by e^(−R/2).
    Q = np.stack(points(80, 0, 20))
    assert (np.abs(np.linalg.det(Q)) < 1e-12).all()
    invertible = oblique.factors(Q, np.ones((2, 80)), np.ones((80, 2)))[2]
    np.testing.assert_array_equal(invertible, np.abs(np.linalg.inv(Q)).max(axis=(1, 2)) < 1e8)
    assert invertible.all()
    twice = np.repeat(np.eye(3)[:, :1], 3, axis=1)
    assert not oblique.factors(twice[None], np.ones((2, 3)), np.ones((3, 2)))[2].any()


@given(numbers, some.floats(1e-4, 0.05))
def test_angles_between_near_bases_are_the_maximum_angle(seed, apart):
    rng = np.random.default_rng(seed)
    A = np.eye(6)[:, :3] + 0.3 * rng.random((6, 3))
    others = np.maximum(A + apart * rng.standard_normal((5, 6, 3)), 0.0)
    W = np.ones((6, 3, 2))
    expected = cross(A[None], W[:1], others, W[1:], MAX_ANGLE)[0]
    found = oblique.angles_between(oblique.unit_columns(A), oblique.unit_columns(others))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@given(numbers)
def test_angles_between_never_exceed_the_maximum_angle(seed):
    A = np.random.default_rng(seed).exponential(size=(6, 5, 3))
    W = np.ones((6, 3, 2))
    unit = oblique.unit_columns(A)
    assert (oblique.angles_between(unit[0], unit) <= pairwise(A, W, MAX_ANGLE)[0] + 1e-5).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_node_is_feasible_under_the_uniform_likelihood(seed):
    data = laurberg("two", a=0.55, noise=0.005, rng=np.random.default_rng(seed))
    tree = engine.run(data, spec(seed=seed))
    assert tree.M > 10
    # Beyond what the tree tells of itself.
    assert np.abs(data.X - tree.A @ tree.W).max() <= 0.05
    assert np.isfinite(tree.log_joint).all()


def test_every_node_is_as_probable_as_the_threshold_at_its_time():
    data = laurberg("two", noise=0.02)
    settings = {"start": "restarts", "starts": 8, "temporary": 20, "allowance": 5.0}
    tree = engine.run(data, spec("gaussian", 60, **settings))
    kind, turn = tree.diagnostics["kind"], tree.diagnostics["turn"]
    np.testing.assert_array_equal(kind[:9], [0] * 8 + [1])
    # Starts are nodes as far as the space of the singular vectors holds them.
    poorest = tree.log_joint[kind == 0].min()
    nodes = node_densities(data, tree, 9)
    nodes = nodes[nodes >= poorest - 5]
    first, second = (kind == 2) & (turn == 0), turn == 1
    assert first.sum() == 20 - len(nodes) + 1
    assert tree.log_joint[first].min() >= poorest - 5 - 1e-8
    risen = max(nodes.max(), tree.log_joint[first].max())
    assert second.sum() > 5
    assert tree.log_joint[second].min() >= risen - 5 - 1e-9


def node_densities(data: Dataset, tree: Particles, count: int) -> np.ndarray:
    """Log joint of the nodes that the first particles, its starts, became."""
    problem = planning.make_plan(data, tree.spec).problem
    svd = problem.svd(tree.R)
    order = in_one_order(tree.A[:count])
    A, W, _ = oblique.factors(oblique.changes_of_basis(svd[0], order), *svd)
    return problem.model.log_joint(problem, *best_scale(A, W))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["quality", "diversity"])
def test_an_allowance_lets_less_probable_nodes_in_and_no_others(way):
    data = laurberg("two", noise=0.02)
    tree = engine.run(data, spec("gaussian", 60, way=way, allowance=12.0, polish=0))
    level = tree.log_joint[0]
    lowest = tree.log_joint[1:].min()
    assert level - 12.0 - 1e-8 <= lowest < level


@pytest.mark.parametrize("rescale", [True, False])
@pytest.mark.parametrize("way", ["quality", "diversity"])
def test_an_ill_conditioned_start_lets_no_poor_node_in(way, rescale):
    """The projection of one such start is worse than A W = 0, and would be the threshold."""
    data = laurberg("two", noise=0.05, embed=(60, 60))
    settings = {"start": "restarts", "starts": 50, "attempts": 300, "rescale": rescale}
    tree = engine.run(data, spec("gaussian", 75, way=way, **settings))
    start, node = tree.diagnostics["kind"] == 0, tree.diagnostics["kind"] == 2
    assert node_densities(data, tree, int(start.sum())).min() < 100 * tree.log_joint[start].min()
    assert node.sum() > 10
    assert tree.log_joint[node].min() >= tree.log_joint[start].min() - 1e-6
    assert tree.error[node].max() < 1.05 * tree.error[start].max()


@pytest.mark.slow
def test_a_tree_without_a_feasible_start_names_an_allowance_that_makes_one_feasible():
    data = Dataset.from_array(np.random.default_rng(0).exponential(size=(12, 15)))
    chosen = spec("gaussian", 30, start="restarts", starts=8)
    tree = engine.run(data, chosen)
    assert set(tree.diagnostics["kind"]) == {0, 1}
    (failed,) = tree.info["failed_chains"]
    assert failed["reason"].startswith("The tree cannot grow: projected onto the leading")
    named = float(failed["reason"].split("allowance of ")[1].split(" nats")[0].replace(",", ""))
    for part, grows in ((1.0, True), (0.99, False)):
        with_it = replace(chosen, settings={**chosen.settings, "allowance": part * named})
        assert (engine.run(data, with_it).diagnostics["kind"] == 2).any() == grows


def test_parents_come_before_children_and_starts_have_none():
    tree = engine.run(laurberg("two", a=0.55), spec(temporary=15))
    parent, kind = tree.diagnostics["parent"], tree.diagnostics["kind"]
    np.testing.assert_array_equal(parent == -1, kind < 2)
    assert (parent < tree.ids).all()
    assert tree.diagnostics["turn"].max() > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", [0.0, 0.3])
def test_nodes_of_one_turn_keep_the_least_angle(first):
    chosen = spec(temporary=12, angle=first, angle_growth=0.4, particles=80)
    tree = engine.run(laurberg("two", a=0.55), chosen)
    apart = pairwise(tree.A, tree.W, MAX_ANGLE)
    turn, angle = tree.diagnostics["turn"], tree.diagnostics["least_angle"]
    np.testing.assert_allclose(angle, first + 0.4 * turn, atol=1e-12)
    grown = tree.diagnostics["kind"] == 2
    assert turn.max() > 0
    for number in range(turn.max() + 1):
        rows = np.flatnonzero(grown & (turn == number))
        between = apart[np.ix_(rows, rows)][np.triu_indices(rows.size, 1)]
        assert between.size == 0 or between.min() >= first + 0.4 * number - 1e-5


def walk(chosen: RunSpec, data: Dataset, look) -> None:
    """Make a run's steps one after the other and look at each state and batch."""
    plan = planning.make_plan(data, chosen)
    rng = plan.shards[0].generator()
    state = rrt.init(plan.problem, plan.settings, plan.shards[0], rng)
    while state.counters.made < chosen.particles:
        state, batch = rrt.step(plan.problem, state, plan.settings, rng)
        look(state, batch)
        if batch.ended:
            break


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("uniform", {"temporary": 7}),
        ("gaussian", {"temporary": 7, "starts": 12, "start": "restarts"}),
        ("gaussian", {"temporary": 9, "starts": 3, "start": "restarts", "allowance": 20.0}),
    ],
)
def test_temporary_nodes_never_exceed_their_limit(model, settings, monkeypatch):
    monkeypatch.setattr(rrt, "MOST_ATTEMPTS", 5)
    sizes = []

    def look(state, batch):
        if state.counters.made > 13:
            sizes.append(int((~state.tree.nodes.base).sum()))

    walk(spec(model, 60, **settings), laurberg("two", a=0.55, noise=0.01), look)
    assert max(sizes) > 3
    assert max(sizes) <= settings["temporary"]


def test_components_that_join_the_mixture_become_base_nodes(monkeypatch):
    monkeypatch.setattr(rrt, "MOST_ATTEMPTS", 5)
    base, components = set(), set()

    def look(state, batch):
        if state.tree is not None:
            base.update(state.tree.nodes.number[state.tree.nodes.base].tolist())
            components.update(state.mixture.numbers.tolist())

    data = laurberg("two", a=0.55, noise=0.01)
    walk(spec(temporary=8, model_settings={"epsilon": 0.3}), data, look)
    assert len(components) > 1
    assert components <= base
    assert base - components <= {0}


def test_a_start_that_is_not_feasible_is_refused_with_an_epsilon_that_works():
    data = laurberg("two", noise=0.02)
    chosen = spec(model_settings={"epsilon": 1e-3}, particles=5)
    with pytest.raises(SettingsError, match="No start is feasible: with ε = 0.001") as refusal:
        planning.check(data, chosen)
    named = float(str(refusal.value).removesuffix(".").split()[-1])
    known = data.truth
    least = min(largest_deviations(data.X, t.A[None], t.W[None])[0] for t in known)
    assert least <= named <= 1.001 * least
    # The two known factorizations have one product AW, so either is a start.
    planning.check(data, replace(chosen, model_settings={"epsilon": named}))
    tree = engine.run(data, replace(chosen, model_settings={"epsilon": named}))
    assert tree.M >= 1
    assert np.abs(data.X - tree.A @ tree.W).max() <= named
    below = {"epsilon": least * (1 - 1e-6)}
    with pytest.raises(SettingsError, match="No start is feasible"):
        planning.check(data, replace(chosen, model_settings=below))


def test_solved_starts_that_are_not_feasible_are_refused_as_well():
    data = laurberg("two", noise=0.05)
    with pytest.raises(SettingsError, match="The smallest ε that makes one feasible is"):
        engine.run(data, spec(start="restarts", starts=3, model_settings={"epsilon": 1e-9}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_settings": {"epsilon": 1e-9}}, "left the region where every entry is within ε"),
        ({"angle": 60.0}, "came to lie too near to a node"),
    ],
)
def test_a_tree_that_cannot_grow_says_why(changes, reason):
    chosen = spec(attempts=100, **changes)
    tree = engine.run(laurberg("two"), chosen)
    (failed,) = tree.info["failed_chains"]
    assert tree.M == 1 and failed["after_draw"] == 1
    assert failed["reason"].startswith("The tree found no new node in 100 attempts.")
    assert f"100 {reason}" in failed["reason"] or f"99 {reason}" in failed["reason"]
    assert failed["reason"].endswith(".")


def test_counts_of_failed_attempts_add_up():
    rejected = np.zeros(len(REJECTIONS), dtype=np.int64)

    def look(state, batch):
        nonlocal rejected
        counters = state.counters
        assert (counters.rejected >= rejected).all()
        assert counters.failed <= counters.rejected.sum()
        rejected = counters.rejected

    walk(spec(attempts=200), laurberg("two"), look)
    assert rejected.sum() >= 200


def test_a_known_start_is_that_of_the_first_chain_of_a_sampler():
    data = laurberg("two")
    starts = []
    for seed in range(6):
        tree = engine.run(data, spec(seed=seed, particles=1))
        settings = {"start": "known", "chains": 1, "warm_up": 0, "leapfrog_steps": 1}
        chain = engine.run(
            data, replace(tree.spec, algorithm="hmc", settings=settings, particles=1)
        )
        to_known = [
            cross(p.A[:1], p.W[:1], t.A[None], t.W[None], MAX_ANGLE)[0, 0]
            for p in (tree, chain)
            for t in data.truth
        ]
        assert (to_known[0] < 1e-6) == (to_known[2] < 5.0)
        starts.append(to_known[0] < 1e-6)
    assert len(set(starts)) == 2


def test_unseen_entries_may_hold_anything():
    data = laurberg("two", a=0.55)
    mask = np.ones(data.X.shape, dtype=bool)
    mask[0, 1] = mask[4, 2] = False
    masked = replace(data, X=np.where(mask, data.X, 0.0), mask=mask)
    tree = engine.run(masked, spec(model_settings={"epsilon": 0.05}, particles=30))
    apart = np.abs(data.X - tree.A @ tree.W)
    assert tree.M > 5
    assert apart[:, mask].max() <= 0.05


def test_a_sparse_matrix_grows_the_same_tree():
    # Noise, so that no two singular values are the same and the singular vectors are certain.
    data = laurberg("two", a=0.55, noise=0.01)
    dense = engine.run(data, spec(particles=20))
    stored = engine.run(replace(data, X=sparse.csc_array(data.X)), spec(particles=20))
    np.testing.assert_array_equal(dense.diagnostics["parent"], stored.diagnostics["parent"])
    np.testing.assert_allclose(dense.A, stored.A, atol=1e-7)


@pytest.mark.slow
def test_a_tree_covers_more_than_a_chain_of_the_same_time_from_the_same_start():
    data = laurberg("two", a=0.55)
    tree = engine.run(data, spec(particles=100, attempts=2000))
    hmc = RunSpec(
        "hmc", 3, "uniform", 200, 0, {"start": "known", "chains": 1}, tree.spec.model_settings
    )
    chain = engine.run(data, hmc)
    while chain.info["run_seconds"] < tree.info["run_seconds"]:
        hmc = replace(hmc, particles=2 * hmc.particles)
        chain = engine.run(data, hmc)
    ranges = [pairwise(p.A, p.W, MAX_ANGLE).max() for p in (tree, chain)]
    assert ranges[0] > 3 * ranges[1]


def test_quality_is_looked_for_under_a_flat_likelihood_too():
    """No bound has a best variance there, so no start is optimised under it."""
    chosen = spec(way="quality", start="restarts", starts=8, particles=20, polish=50)
    tree = engine.run(laurberg("two", noise=0.01), chosen)
    assert tree.M > 1 and np.isfinite(tree.log_joint).all()
    assert 1 not in tree.diagnostics["kind"]
