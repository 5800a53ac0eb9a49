"""Lesson 9: two equal fits are joined by a ridge, or they are islands."""

import math
from functools import cache

import numpy as np
import streamlit as st

from bnmf_core.compare import triangles
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.compare.islands import Path, connections, lowest_path
from bnmf_core.core.problem import Problem
from bnmf_core.runs.examples import ASSUMED
from bnmf_core.solvers.nnls import solve_weights
from pages.frame.options import pick_one
from pages.lessons_parts import charts, touch, uniqueness
from pages.lessons_parts.lesson import Lesson, Question, Say

ACROSS, ALONG = "across", "along"
PAIRS = {ACROSS: "0° to the other fits", ALONG: "first to last of the other fits"}
# a of each step, and the two fits that a path may join.
SHOWN = {1: (0.5, ACROSS), 2: (0.6, ALONG), 3: (0.6, ACROSS)}
# Initial position on the path of each step, and the largest error in the picture.
HALFWAY, HIGHEST = 12, 0.07


@cache
def ends(a: float, pair: str) -> tuple[np.ndarray, np.ndarray]:
    """Two fits without error: A (2, 6, 3) and W (2, 3, 6)."""
    data = uniqueness.matrix(a)
    plane = triangles.Plane.of(data.truth[0].A)
    fits = uniqueness.answers(a)[[0, 1] if pair == ACROSS else [1, -1]]
    A = np.stack([np.maximum(plane.vectors(corners), 0.0) for corners in fits])
    return A, solve_weights(data.X, A)


@cache
def path(a: float, pair: str) -> Path:
    """The best path that the engine finds between the fits."""
    problem = Problem.without_model(uniqueness.matrix(a), 3)
    return lowest_path(problem, *ends(a, pair))


@cache
def errors(a: float, pair: str) -> np.ndarray:
    """(P,) relative errors along the path."""
    return np.sqrt(path(a, pair).f / uniqueness.matrix(a).squared_norm)


@cache
def separate(a: float, pair: str) -> bool:
    """Whether the engine calls the two fits islands."""
    apart = pairwise(*ends(a, pair), DISTANCES["max_angle"])
    data = uniqueness.matrix(a)
    return connections(data, *ends(a, pair), np.arange(2), apart, 0.0).families == 2


@cache
def facts() -> dict[str, float]:
    """Heights of the three paths, and their nats."""
    known = uniqueness.facts()
    sigma = ASSUMED["sigma"]
    return {
        "barrier": float(errors(*SHOWN[1]).max()),
        "ridge": below(float(errors(*SHOWN[2]).max())),
        "beside": float(errors(*SHOWN[3]).max()),
        "nats": path(*SHOWN[1]).highest / (2.0 * sigma**2),
        "sigma": sigma,
        **{name: known[name] for name in ("a", "first", "last")},
    }


def below(error: float) -> float:
    """The value rounded up to a hundredth of a percent."""
    return math.floor(1e4 * error + 1.0) / 1e4


def sentence(a: float, pair: str, place: int) -> str:
    """The kind of path, and the error at a position on it."""
    along = errors(a, pair)
    verdict = (
        f"two islands: on the best path found the error rises to {along.max():.1%}"
        if separate(a, pair)
        else f"one ridge: the error on this path stays below {below(along.max()):.2%}"
    )
    return f"At a = {a:.2f} these fits are {verdict}; here it is {along[place]:.2%}."


def ask(step: int) -> tuple[float, str]:
    """Select the number a and the pair of fits."""
    a, pair = SHOWN[step]
    if touch.presenting():
        return a, pair
    left, right = st.columns(2, gap="medium")
    name = "a, the number that the matrix is made of"
    a = round(left.slider(name, 0.5, uniqueness.MOST, a, 0.01, key=f"ridge_a_{step}"), 2)
    # At a = 0.5 there is one other fit: no path leads from it to itself.
    pair = pick_one("Path from", PAIRS, pair, f"ridge_pair_{step}", disabled=a == 0.5, place=right)
    return a, ACROSS if a == 0.5 else pair


def show(step: int, say: Say) -> None:
    """The triangle along the path, and the error along it."""
    drawn = charts.first()
    a, pair = ask(step)
    data = uniqueness.matrix(a)
    plane = triangles.Plane.of(data.truth[0].A)
    picture = {
        "points": plane.points(data.X).round(4).tolist(),
        "room": plane.room().round(4).tolist(),
        "path": [plane.points(A).round(4).tolist() for A in path(a, pair).A],
        "errors": errors(a, pair).round(6).tolist(),
        "highest": HIGHEST,
        "place": HALFWAY,
    }
    with drawn:
        place = touch.picture("path", picture, key=f"ridge_{step}", moved="place")
    say(sentence(a, pair, int(place)))


LESSON = Lesson(
    "ridge",
    "Ridge or islands",
    "Two equal fits may be joined by a path of equally good fits, or be islands.",
    "The path: string method (E, Ren and Vanden-Eijnden, 2007); the matrix: Laurberg and others "
    "(2008)",
    (
        "Two triangles fit these data without error. Drag the mark on the curve: it moves the "
        "blue triangle from one to the other. The curve shows the error on the way. It rises to "
        "{barrier:.1%}; the engine has found no lower path. The two fits count as islands.",
        "A larger a makes room. At a = {a:.1f} every triangle turned by {first:.0f}° to "
        "{last:.0f}° fits. The path from the first to the last stays below {ridge:.2%}. These "
        "fits are a ridge: infinitely many, and no barrier between them.",
        "The same data have both. The triangle at 0° fits as well, and the error on the path from "
        "it to the ridge rises to {beside:.1%}. It is an island beside the ridge.",
    ),
    (
        Question(
            "Is there a lower path?",
            "Perhaps. The engine improves a path round by round. A flat path proves a ridge; a "
            "high one shows only that no lower path was found.",
        ),
        Question(
            "Does a sampler cross the barrier?",
            "Rarely. With noise σ = {sigma:g} the log-likelihood falls by {nats:.0f} nats on the "
            "way at a = 0.5. More noise makes the barrier lower.",
        ),
        Question(
            "Why does the difference matter?",
            "Islands can be counted, and each has a mass. A ridge has no number of answers: its "
            "entries have ranges.",
        ),
    ),
    show,
    "overview",
    "The page Overview says which modes of your data such a path joins into one family.",
    facts,
)
