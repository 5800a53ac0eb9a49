"""Planted flows: components kept in another order, split in two, merged, and new ones."""

import numpy as np
import pytest
from scipy.spatial.distance import cosine

from bnmf_core.compare.flow import COUNTERPART, component_flow, identities_like
from bnmf_core.core.errors import DataError


@pytest.fixture
def planted():
    """Four components of 12 features, each on features of its own but for a little."""
    rng = np.random.default_rng(0)
    A = np.kron(np.eye(4), np.ones((3, 1))) * (0.5 + rng.random((12, 4))) + 0.02
    W = rng.random((4, 30)) * np.array([[4.0], [3.0], [2.0], [1.0]])
    return A, W


def of(flow, column):
    return flow.nodes[flow.nodes["column"] == column].set_index("component")


def test_components_in_another_order_and_scale_are_the_same(planted):
    A, W = planted
    turned = [2, 0, 3, 1]
    scale = np.array([1.0, 10.0, 0.1, 3.0])
    flow = component_flow([(A, W), (A[:, turned] * scale, W[turned] / scale[:, None])])
    assert set(flow.links["kind"]) == {"kept"}
    np.testing.assert_allclose(flow.links["angle"].astype(float), 0.0, atol=1e-5)
    left, right = of(flow, 0), of(flow, 1)
    np.testing.assert_allclose(left["share"], right["share"])
    assert left["identity"].tolist() == right["identity"].tolist() == [0, 1, 2, 3]
    assert [turned[position] for position in right["position"]] == left["position"].tolist()


def test_shares_are_parts_of_the_sum_of_all_entries(planted):
    A, W = planted
    nodes = of(component_flow([planted]), 0)
    for component, row in nodes.iterrows():
        r = int(row["position"])
        part = np.outer(A[:, r], W[r]).sum() / (A @ W).sum()
        assert row["share"] == pytest.approx(part), component
    assert nodes["share"].is_monotonic_decreasing


def test_a_component_that_is_split_has_two_links(planted):
    """The first one falls into two pieces; the larger is its partner."""
    A, W = planted
    large, small = A[:, 0].copy(), A[:, 0].copy()
    large[2], small[:2] = 0.0, 0.0
    A2 = np.column_stack([large, small, A[:, 1:]])
    W2 = np.vstack([W[0], W[0], W[1:]])
    flow = component_flow([planted, (A2, W2)])
    split = flow.links[flow.links["kind"] == "split"]
    assert len(split) == 1 and len(flow.links) == 5
    left, right = of(flow, 0), of(flow, 1)
    parent = int(left.index[left["position"] == 0][0])
    pieces = [int(right.index[right["position"] == r][0]) for r in (0, 1)]
    assert split["left"].item() == parent
    assert set(flow.links.loc[flow.links["left"] == parent, "right"]) == set(pieces)
    for _, link in flow.links.iterrows():
        a = A[:, int(left.loc[link["left"], "position"])]
        b = A2[:, int(right.loc[link["right"], "position"])]
        assert link["angle"] == pytest.approx(np.degrees(np.arccos(1 - cosine(a, b))))
    # Partners keep their colour; the other piece has a new one and stands below its sibling.
    new = int(split["right"].item())
    assert right.loc[new, "identity"] == 4
    kept = next(piece for piece in pieces if piece != new)
    assert right.loc[kept, "identity"] == left.loc[parent, "identity"]
    assert right.loc[new, "place"] == right.loc[kept, "place"] + 1


def test_the_other_way_round_the_pieces_are_merged(planted):
    A, W = planted
    large, small = A[:, 0].copy(), A[:, 0].copy()
    large[2], small[:2] = 0.0, 0.0
    pieces = (np.column_stack([large, small, A[:, 1:]]), np.vstack([W[0], W[0], W[1:]]))
    flow = component_flow([pieces, planted])
    assert flow.links["kind"].value_counts().to_dict() == {"kept": 4, "merged": 1}


def test_what_is_nowhere_near_has_no_link_and_a_new_identity(planted):
    A, W = planted
    before = A[:, :3] * (A[:, :3] > 0.1), W[:3]
    after = A * (A > 0.1), W
    flow = component_flow([before, after])
    right = of(flow, 1)
    new = int(right.index[right["position"] == 3][0])
    assert new not in set(flow.links["right"])
    assert right.loc[new, "identity"] == 3
    assert (flow.links["angle"] < COUNTERPART).all()


def test_every_place_is_taken_once_in_every_column():
    rng = np.random.default_rng(1)
    made = [(rng.random((20, R)), rng.random((R, 9))) for R in (2, 3, 6, 4, 4)]
    flow = component_flow(made)
    for column, part in flow.nodes.groupby("column"):
        R = made[column][0].shape[1]
        assert sorted(part["place"]) == list(range(R))
        assert part["identity"].is_unique
        assert part["share"].sum() == pytest.approx(1.0)


def test_a_component_that_comes_back_is_the_same_again(planted):
    A, W = planted
    without = A[:, [0, 1, 3]] * (A[:, [0, 1, 3]] > 0.1), W[[0, 1, 3]]
    whole = A * (A > 0.1), W
    flow = component_flow([whole, without, whole])
    first, last = of(flow, 0), of(flow, 2)
    assert first["identity"].tolist() == last["identity"].tolist()
    assert len(flow.links) == 6


def test_identities_come_from_a_reference(planted):
    A, _ = planted
    turned = [3, 2, 0, 1]
    assert identities_like(A[:, turned], A, np.array([7, 8, 9, 10])).tolist() == [10, 9, 7, 8]
    flow = component_flow([planted, planted], np.array([5, 2, 9, 4]))
    assert of(flow, 1)["identity"].tolist() == [5, 2, 9, 4]


def test_factorizations_of_other_features_are_refused():
    with pytest.raises(DataError, match="same features"):
        component_flow([(np.ones((3, 1)), np.ones((1, 2))), (np.ones((4, 1)), np.ones((1, 2)))])
