"""Lesson 2: scale and order of components do not matter."""

from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core import low_rank
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.figures.components import factors
from pages.frame.words import plain
from pages.lessons_parts import charts, touch
from pages.lessons_parts.lesson import Lesson, Question, Say

# Scale of component 1, and the order, of each step.
SHOWN = {1: (4.0, "1, 2, 3"), 2: (1.0, "3, 1, 2"), 3: (4.0, "3, 1, 2")}
STRETCHES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
ORDERS = {"1, 2, 3": [0, 1, 2], "2, 1, 3": [1, 0, 2], "3, 1, 2": [2, 0, 1], "3, 2, 1": [2, 1, 0]}


@cache
def first() -> tuple[np.ndarray, np.ndarray]:
    """The original A (5, 3) and W (3, 6)."""
    (truth,) = low_rank(5, 6, 3, rng=np.random.default_rng(4)).truth
    return truth.A, truth.W


def changed(stretch: float, order: str) -> tuple[np.ndarray, np.ndarray]:
    """The same factorization with component 1 scaled, and another order of components."""
    A, W = first()
    by = np.array([stretch, 1.0, 1.0])
    return (A * by)[:, ORDERS[order]], (W / by[:, None])[ORDERS[order]]


@cache
def facts() -> dict[str, float]:
    """Relative change of A in step 3, although the factorization is the same."""
    return {"moved": moved(*SHOWN[3])}


def moved(stretch: float, order: str) -> float:
    """Relative change of A."""
    A, _ = first()
    other, _ = changed(stretch, order)
    return float(np.linalg.norm(other - A) / np.linalg.norm(A))


def sentence(stretch: float, order: str) -> str:
    """What has changed, and what has not."""
    A, W = first()
    other_A, other_W = changed(stretch, order)
    pair = np.stack([A, other_A]), np.stack([W, other_W])
    apart = {key: pairwise(*pair, DISTANCES[key])[0, 1] for key in ("max_angle", "l1_sum")}
    same = np.allclose(other_A @ other_W, A @ W, rtol=1e-12)
    return (
        f"The entries of A have moved by {moved(stretch, order):.0%}, those of A W "
        f"{'not at all' if same else 'too'}; the largest angle between the two factorizations is "
        f"{apart['max_angle']:.0f}° and the ℓ1 distance {apart['l1_sum']:.0f}."
    )


def show(step: int, say: Say) -> None:
    """A, W and A W, with a scaled component and another order."""
    stretch, order = SHOWN[step]
    drawn = charts.first()
    if not touch.presenting():
        left, right = st.columns(2, gap="medium")
        stretch = left.select_slider(
            "Stretch part 1 of A by", STRETCHES, stretch, key=f"scale_stretch_{step}"
        )
        order = right.segmented_control(
            "Order of the parts",
            list(ORDERS),
            default=order,
            required=True,
            format_func=plain,
            key=f"scale_order_{step}",
        )
    say(sentence(stretch, order))
    A, W = changed(stretch, order)
    names = [f"part {k + 1}" for k in ORDERS[order]]
    table = pd.DataFrame(np.vstack([A, W.T]), columns=names)
    table.insert(
        0, "of", [f"A, row {d + 1}" for d in range(5)] + [f"W, column {n + 1}" for n in range(6)]
    )
    with drawn:
        charts.chart(
            factors(A, W, ORDERS[order]),
            "A colour stays with its part. Each part is shaded by its own largest entry, so the "
            "picture stays and the numbers change.",
            name="lesson_scale",
            origin="A random matrix of rank 3, generated",
            table=table,
        )


LESSON = Lesson(
    "scale",
    "Scale and order do not matter",
    "Two factorizations that differ by scale and order of their parts are one and the same.",
    "Masood, Pan and Doshi-Velez (2016), sections 2.2 and 3.1",
    (
        "Make part 1 four times as large in A and divide its row of W by four: the product of the "
        "two is what it was. No data can say how large a part is on its own, only how much of it "
        "there is in all.",
        "Write the parts in another order, in A and in W alike: the sum over parts is what it was. "
        "With R parts there are R! orders, and each is a copy of the posterior.",
        "So distances between factorizations first take away scale and order: they match each part "
        "with its counterpart and compare directions, such as the angle between them. Compared "
        "entry by entry, this A would be {moved:.0%} off, and it is the same.",
    ),
    (
        Question(
            "Why not fix the scale once and for all?",
            "One can, as the threshold model of lesson 6 does by columns of A that sum to 1. "
            "Restarts and Gibbs do not, and the prior then prefers a scale of its own.",
        ),
        Question(
            "Is the non-uniqueness of lesson 1 of this kind?",
            "No. There the triangles themselves differ: the parts point elsewhere, whatever their "
            "scale and order.",
        ),
        Question(
            "Which counterpart does a part have?",
            "The one in the matching that makes all parts together fit best. It depends on the "
            "distance: the best matching by angles need not be the best by ℓ1.",
        ),
    ),
    show,
    "components",
    "The page Components shows those of all your factorizations in one order and scale.",
    facts,
)
