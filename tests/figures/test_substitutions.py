"""Substitutions stand in the order and the colours of their field, and are named."""

import numpy as np
import pytest

from bnmf_core import Dataset, load_sample
from bnmf_core.figures.component_grid import component_grid
from bnmf_core.figures.gallery import basis_bars
from bnmf_core.figures.style import component_color
from bnmf_core.figures.substitutions import SUBSTITUTIONS, substitutions
from tests.figures.vision import difference, lab

NAMES = [f"{a}[{s}]{b}" for a in "ACGT" for b in "ACGT" for s in SUBSTITUTIONS]
RNG = np.random.default_rng(0)


def test_names_are_recognised_and_stand_by_class_and_context():
    found = substitutions(NAMES)
    assert [block.name for block in found.blocks] == list(SUBSTITUTIONS)
    assert [(block.first, block.end) for block in found.blocks][1] == (16, 32)
    ordered = [NAMES[d] for d in found.order]
    assert ordered == [f"{a}[{s}]{b}" for s in SUBSTITUTIONS for a in "ACGT" for b in "ACGT"]
    assert found.colors == [SUBSTITUTIONS[name[2:5]] for name in ordered]


def test_a_part_of_the_classes_has_a_block_for_each():
    found = substitutions(["A[T>G]C", "G[C>A]A", "A[C>A]A"])
    assert [(block.name, block.first, block.end) for block in found.blocks] == [
        ("C>A", 0, 2),
        ("T>G", 2, 3),
    ]
    assert found.order.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "names",
    [
        ["TP53", "BRCA1"],
        [*NAMES, "TP53"],
        ["A[C>C]A"],
        ["A[G>A]A"],
        ["AC>CA"],
        ["A[C>A]A", "a[c>a]a"],
        [],
    ],
    ids=["genes", "mixed", "same", "purine", "doublet", "twice", "none"],
)
def test_other_names_are_not(names):
    assert substitutions(names) is None


@pytest.mark.parametrize("ground", ["#FFFFFF", "#0E1117"])
def test_colours_are_seen_on_a_light_and_on_a_dark_ground(ground):
    assert min(difference(lab(color), lab(ground)) for color in SUBSTITUTIONS.values()) > 20


@pytest.mark.parametrize("K", [1, 2, 12])
def test_bars_keep_their_shares_and_classes_are_named(K):
    A = RNG.random((K, 96, 3))
    figure = basis_bars(A, NAMES, [f"mode {k + 1}" for k in range(K)])
    shown = {name: share for name, share in zip(NAMES, A[0, :, 1] / A[0, :, 1].sum(), strict=True)}
    bars = figure.data[1]
    names = [name.replace("&gt;", ">") for name in bars.x]
    np.testing.assert_allclose(bars.y, [shown[name] for name in names])
    assert list(bars.marker.color) == [SUBSTITUTIONS[name[2:5]] for name in names]
    told = [note.text for note in figure.layout.annotations]
    if K < 12:
        assert told.count("T&gt;C") == K
    else:
        assert sum("T&gt;C" in text for text in told) == 1
    # The component's own colour stays beside its number.
    assert any(component_color(1) in text and text.endswith(" 2") for text in told)


@pytest.mark.parametrize("R", [3, 12])
def test_the_grid_has_a_trace_a_class_and_names_it(R):
    data = load_sample("signatures")
    A = RNG.random((2, 96, R))
    figure = component_grid(data, A, np.zeros((2, R)), ["one", "two"], [0, 1])
    filled = [trace for trace in figure.data if trace.fill == "toself"]
    assert [trace.line.color for trace in filled] == list(SUBSTITUTIONS.values())
    # Each class has an outline for each of the profiles, parted by gaps.
    assert all(np.isnan(trace.x).sum() == 2 * R - 1 for trace in filled)
    notes = [note.text for note in figure.layout.annotations if "C&gt;T" in (note.text or "")]
    assert len(notes) == (2 * R if R == 3 else 1)


def test_the_grid_draws_other_features_in_the_colours_of_components():
    data = Dataset.from_array(RNG.random((12, 9)))
    A = RNG.random((1, 12, 3))
    figure = component_grid(data, A, np.zeros((1, 3)), ["one"], [0])
    filled = [trace.line.color for trace in figure.data if trace.fill == "toself"]
    assert filled == [component_color(r) for r in range(3)]
