"""Pictures of the weights: shares fill each column, groups stand in their order, changes add up."""

import numpy as np
import pytest

from bnmf_core.compare.samples import (
    by_total,
    in_groups,
    prevalence,
    sample_amounts,
    sample_groups,
    sample_shares,
)
from bnmf_core.figures.samples import (
    MOST_COLUMNS,
    composition_table,
    consensus_picture,
    group_flow,
    sample_composition,
    sample_strips,
)


def grouped(count):
    """Random weights of so many observations, their shares, order and groups."""
    rng = np.random.default_rng(0)
    A, W = rng.random((5, 3)), rng.random((3, count))
    shares = sample_shares(A, W)
    return W, shares, in_groups(shares), sample_groups(shares)


@pytest.mark.parametrize("count", [12, 1_000])
def test_shares_fill_every_column_and_many_observations_are_averaged(count):
    W, shares, order, groups = grouped(count)
    names = [f"sample {n}" for n in range(count)]
    drawn = sample_strips(W, shares, order, groups, names, ["a", "b"] * (count // 2))
    checked = drawn
    bars = np.array([trace.y for trace in checked.data if trace.type == "bar"])
    assert bars.shape == (3, min(count, MOST_COLUMNS))
    np.testing.assert_allclose(bars.sum(axis=0), 1.0)
    assert sum(int(note.text.replace(",", "")) for note in checked.layout.annotations) == count
    if count <= 40:
        assert list(checked.layout.xaxis.ticktext) == [names[n] for n in order]


def test_a_chosen_component_is_framed_and_its_shares_stand_out():
    W, shares, order, groups = grouped(12)
    names = [str(n) for n in range(12)]
    framed = {}
    for chosen in (None, 1):
        drawn = sample_strips(W, shares, order, groups, names, chosen=chosen)
        bright = [bar for bar in drawn.data if bar.type == "bar" and bar.opacity == 1.0]
        assert len(bright) == (3 if chosen is None else 1)
        framed[chosen] = [(box.y0, box.y1) for box in drawn.layout.shapes if box.yref == "y"]
    assert (0.5, 1.5) in framed[1] and (0.5, 1.5) not in framed[None]


def test_changes_in_the_title_are_those_off_the_diagonal():
    changes = np.array([[3, 1], [2, 4]])
    checked = group_flow(changes, ("mode 1", "mode 2"))
    assert checked.layout.title.text == "30 % change group from mode 1 to mode 2"
    link = checked.data[0].link
    assert sum(link.value) == 10
    moved = [v for v, a, b in zip(link.value, link.source, link.target, strict=True) if b - a != 2]
    assert sorted(moved) == [1, 2]


def test_consensus_is_drawn_as_it_is():
    consensus = np.array([[1.0, 0.5], [0.5, 1.0]])
    checked = consensus_picture(consensus, np.array([0, 1]), "4 optima")
    np.testing.assert_array_equal(checked.data[0].z, consensus)
    assert checked.layout.title.text == "Consensus of 4 optima"


def test_a_chosen_observation_is_framed_where_it_stands_among_many():
    W, shares, order, groups = grouped(1_000)
    names = [str(n) for n in range(1_000)]
    drawn = sample_strips(W, shares, order, groups, names, sample=17)
    frame = drawn.layout.shapes[-1]
    assert order[frame.x0] == 17 and frame.x1 == frame.x0 + 1
    assert drawn.layout.annotations[-1].text == "17"
    # A bar that stands for several names one of them.
    bar = next(trace for trace in drawn.data if trace.type == "bar")
    assert (np.asarray(bar.customdata) == order[np.floor(bar.x).astype(int)]).all()


def test_shares_of_one_observation_add_up_in_every_factorization():
    shares = np.array([[0.25, 0.75], [0.96, 0.04]])
    drawn = sample_composition(shares, ["mode 1 · HALS 3", "mode 2"], "<b>", ["sun", ""])
    np.testing.assert_allclose(sum(np.array(bar.x) for bar in drawn.data), 1.0)
    assert [list(bar.text) for bar in drawn.data] == [["1 (sun)", "1 (sun)"], ["2", ""]]
    assert list(drawn.data[0].y) == ["mode 1<br>HALS 3", "mode 2"]
    assert drawn.layout.title.text == "Shares of components in &lt;b&gt;"
    table = composition_table(shares, ["a", "b"])
    assert table["share of 2"].tolist() == [0.75, 0.04] and list(table["factorization"]) == [
        "a",
        "b",
    ]


def test_totals_add_up_to_what_the_factorization_makes_of_each_observation():
    rng = np.random.default_rng(0)
    A, W = rng.random((5, 3)), rng.random((3, 12)) * 100
    shares, amounts = sample_shares(A, W), sample_amounts(A, W)
    order, groups = by_total(amounts), sample_groups(shares)
    names = [str(n) for n in range(12)]
    drawn = sample_strips(W, shares, order, groups, names, amounts=amounts)
    bars = np.array([trace.y for trace in drawn.data if trace.type == "bar"])
    totals = (A @ W).sum(axis=0)
    np.testing.assert_allclose(bars.sum(axis=0), np.sort(totals)[::-1], rtol=1e-12)
    assert drawn.layout.yaxis2.range[1] == pytest.approx(totals.max())
    assert drawn.layout.title.text == "Weights and totals of 12 observations"
    # Groups that the order tears apart are not parted.
    assert not drawn.layout.annotations and not drawn.layout.shapes
    assert list(drawn.layout.xaxis.ticktext) == [names[n] for n in np.argsort(-totals)]


def test_prevalence_is_the_mean_share_of_observations_that_hold_something():
    _, shares, *_ = grouped(12)
    np.testing.assert_allclose(prevalence(shares), shares.mean(axis=1), rtol=1e-12)
    empty = np.concatenate([shares, np.zeros((3, 4))], axis=1)
    np.testing.assert_allclose(prevalence(empty), shares.mean(axis=1), rtol=1e-12)
    assert prevalence(np.stack([shares, shares])).sum(axis=1) == pytest.approx([1.0, 1.0])
