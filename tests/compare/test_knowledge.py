"""What more knowledge leaves: never more, nothing where all is known, and the planted answer."""

import numpy as np
import pytest

from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.compare.knowledge import describe_region, groups_of, knowledge, smallest_simplex
from tests.compare.test_feasible import holds, loose


def by_name(rows):
    return {known.split(" (")[0].split(":")[0]: turns for known, turns in rows}


@pytest.mark.parametrize("R", [2, 3])
def test_more_knowledge_leaves_less(R):
    A, W = loose(3)
    rows = by_name(knowledge(A[:, :R], W[:R]))
    free = rows.pop("no entry of A and W below 0")
    rows.pop("and the smallest volume")
    assert free.min() > 1.0
    for turns in rows.values():
        assert (turns <= free + 1e-6).all() or np.isnan(turns).all()
    if R == 3:
        assert [rows[f"and component {r + 1} locked"][r] for r in range(3)] == [0, 0, 0]


def test_the_smallest_triangle_is_the_planted_one_where_the_data_reach_its_corners():
    A, W = loose(3)
    feasible = Feasible.of(A, W)
    alone = Feasible.of(A, np.column_stack([W, np.eye(3)]))
    found = smallest_simplex(alone)
    own = alone.places(np.eye(3))
    assert np.linalg.norm(found[:, None] - own, axis=2).min(axis=0).max() < 0.02
    triangle = smallest_simplex(feasible)
    assert holds(triangle[None], feasible.hull, 1e-3).all()
    assert feasible.inside(triangle).min() > -1e-3


def test_several_matrices_together_leave_less_than_each_alone():
    rng = np.random.default_rng(3)
    A = rng.gamma(0.6, size=(10, 3))
    # The second one has pure components, the first one mixtures alone.
    mixed, pure = 0.5 + rng.gamma(1.0, size=(3, 20)), np.eye(3).repeat(2, axis=1)
    W = np.column_stack([mixed, pure])
    groups = groups_of({"day": np.array(["1"] * 20 + ["2"] * 6), "id": np.arange(26).astype(str)})
    assert list(groups) == ["day 1", "day 2"]
    rows = by_name(knowledge(A, W, groups=groups))
    assert list(rows)[:3] == ["day 1 alone", "day 2 alone", "all together"]
    assert (rows["day 1 alone"] > rows["all together"] + 1).any()
    assert (rows["day 1 alone"] >= rows["all together"] - 1e-6).all()
    # One observation spans no plane: nothing is said of it.
    few = {"one": np.arange(26) == 0}
    assert not any("one alone" in known for known, _ in knowledge(A, W, groups=few))


def test_labels_of_too_many_values_or_of_one_make_no_groups():
    values = np.array(list("aabbcc"))
    assert list(groups_of({"one": np.full(6, "x"), "kind": values})) == [
        "kind a",
        "kind b",
        "kind c",
    ]
    assert groups_of({"id": np.arange(6).astype(str)}) == {}


def test_sums_of_one_leave_places_of_positive_scale_and_a_fit_that_has_none_says_so():
    A, W = loose(3)
    name, turns = knowledge(A, W)[1]
    assert "not this fit" in name and np.isnan(turns).all()
    # All components have the same scale, and so do their mixtures.
    (_, free), (name, turns) = knowledge(A / A.sum(axis=0), W / W.sum(axis=0))[:2]
    assert name == "and weights that sum to 1"
    np.testing.assert_allclose(turns, free, atol=1e-9)
    scales = np.array([1.0, 5.0, 0.2])
    (_, free), (_, turns) = knowledge(A, scales[:, None] * (W / W.sum(axis=0)))[:2]
    assert (turns <= free).all() and (turns < free - 1).any()


def test_sparse_components_have_as_many_entries_near_zero_as_their_own():
    A, W = loose(3)
    A[:2, 0] = 0.0  # two entries are zero: a corner of the room
    rows = by_name(knowledge(A, W))
    sparse = rows["and as many entries near 0 as they have now"]
    assert sparse[0] < rows["no entry of A and W below 0"][0] - 1


def test_regions_in_words():
    A, W = loose(3)
    two = region(Feasible.of(A[:, :2], W[:2]))
    assert f"component a can turn by up to {two.angle[0]:.0f}°" in describe_region(two, ["a", "b"])
    three = describe_region(region(Feasible.of(A, W)), ["a", "b", "c"], locked=1)
    assert "b can turn" not in three and "while b is locked" in three
