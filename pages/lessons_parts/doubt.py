"""Lesson 11: three kinds of uncertainty, two of which vanish with more data."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.figures.spreads import DOUBTS, doubts
from pages.frame.options import pick_one
from pages.frame.words import shown
from pages.lessons_parts import charts, touch
from pages.lessons_parts.lesson import Lesson, Question, Say
from pages.lessons_parts.stored import stored

WAYS = {
    "counts": "Draw the counts again",
    "starts": "Start elsewhere",
    "draws": "Posterior draws",
}
FEW, SOME, MANY = 0, 1, 2
# Level of counts (from 0), and kind of uncertainty, of each step.
SHOWN = {1: (SOME, "counts"), 2: (SOME, "starts"), 3: (SOME, "draws")}
# Degrees of the axis; angle from the best restart beyond which a restart is in the other mode.
FARTHEST, APART = 42.0, 20.0


@cache
def levels() -> list[dict[str, Any]]:
    """Stored results with few, some and many counts."""
    found: list[dict[str, Any]] = stored("doubt")["levels"]
    return found


def angles(level: int, way: str) -> np.ndarray:
    """(K,) degrees from the best restart, the smallest first."""
    return np.array(levels()[level]["angles"][way])


def other(level: int) -> tuple[int, float]:
    """Number of restarts in the other mode, and its distance in degrees."""
    away = angles(level, "starts")
    away = away[away > APART]
    return away.size, float(np.median(away))


@cache
def facts() -> dict[str, float]:
    """Medians, and the other mode, with few, some and many counts."""
    found: dict[str, float] = {"each": angles(SOME, "counts").size}
    for name, level in (("few", FEW), ("some", SOME), ("many", MANY)):
        second, apart = other(level)
        found |= {
            name: levels()[level]["counts"],
            f"{name}_second": second,
            f"{name}_apart": apart,
            f"{name}_farthest": float(angles(level, "counts").max()),
            f"{name}_again": float(np.median(angles(level, "counts"))),
            f"{name}_drawn": float(np.median(angles(level, "draws"))),
        }
    return found


def sentence(level: int, way: str) -> str:
    """The extent of one kind of uncertainty."""
    counts, away = levels()[level]["counts"], angles(level, way)
    if way == "starts":
        second, apart = other(level)
        return (
            f"With {counts:,} counts in a column, {second} of {away.size} random starts end in "
            f"another factorization, {apart:.0f}° away."
        )
    low, middle, high = np.quantile(away, [0.05, 0.5, 0.95])
    what = "resamples" if way == "counts" else "posterior draws"
    return (
        f"With {counts:,} counts in a column, 90% of the {what} lie {low:.1f}° to {high:.1f}° from "
        f"the best factorization (median {middle:.1f}°)."
    )


def show(step: int, say: Say) -> None:
    """The angles of all three kinds, one of them highlighted."""
    level, way = SHOWN[step]
    drawn = charts.first()
    if not touch.presenting():
        left, right = st.columns(2, gap="medium")
        way = pick_one("What is done again", WAYS, way, f"doubt_way_{step}", place=left)
        level = right.segmented_control(
            "Counts in a column",
            [FEW, SOME, MANY],
            default=level,
            required=True,
            format_func=shown({k: f"{stored['counts']:,}" for k, stored in enumerate(levels())}),
            key=f"doubt_counts_{step}",
        )
    say(sentence(level, way))
    found = {kind: angles(level, kind) for kind in WAYS}
    rows = [(DOUBTS[kind][0], degrees) for kind, of in found.items() for degrees in of]
    with drawn:
        charts.chart(
            doubts(found, way, FARTHEST),
            "Each point is one factorization: the largest angle of its components to those of the "
            "best one. The three spreads overlap and are not shares of anything.",
            name="lesson_doubt",
            origin=f"Poisson counts around a matrix with two answers, {found[way].size} of each",
            table=pd.DataFrame(rows, columns=["what is done again", "angle (°)"]),
        )


LESSON = Lesson(
    "doubt",
    "Three kinds of doubt",
    "Other counts, other starts and posterior draws make three spreads; more data shrink two.",
    "Resampling of counts: Islam and others (2022), SigProfilerExtractor; the means: Masood, Pan "
    "and Doshi-Velez (2016), equation 7",
    (
        "The matrix with two answers gives the means of Poisson counts, {some:,} in a column. The "
        "counts are drawn again {each:d} times around those seen, and a solver starts from the "
        "best factorization. Half of the results lie within {some_again:.1f}° of it; with {few:,} "
        "counts that is {few_again:.1f}°, with {many:,} it is {many_again:.1f}°.",
        "The same counts from {each:d} random starts: {some_second:d} end in another "
        "factorization, {some_apart:.0f}° away. More counts do not bring the two nearer: they are "
        "{few_apart:.0f}° apart with {few:,} counts and {many_apart:.0f}° with {many:,}.",
        "Gibbs chains draw from the posterior around the best factorization. Their median angle "
        "is {some_drawn:.1f}°, that of the resamples {some_again:.1f}°: two views of the same "
        "noise. Neither shows the other factorization.",
    ),
    (
        Question(
            "Can the three be added up?",
            "No. Resamples and draws show the same noise in two ways, and chains that cross would "
            "also show the other mode. None of them is a share of the whole.",
        ),
        Question(
            "Which of them shrinks with more counts?",
            "Resamples and draws: with a hundred times the counts, medians fall from "
            "{few_again:.1f}° to {many_again:.1f}° and from {few_drawn:.1f}° to "
            "{many_drawn:.1f}°. The other mode stays where it is; more counts may leave it with "
            "less posterior mass.",
        ),
        Question(
            "Why does the solver start from the best factorization?",
            "So that resamples show the noise. From random starts many would end in the other "
            "mode. With few counts a resample can lose the mode all the same: of {few:,} counts "
            "the farthest of {each:d} resamples is {few_farthest:.0f}° away.",
        ),
    ),
    show,
    "components",
    "The page Components shows all three for every component, under Which components can be "
    "trusted?",
    facts,
)
