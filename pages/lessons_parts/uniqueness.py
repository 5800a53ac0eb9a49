"""Lesson 1: why a factorization need not be unique."""

from functools import cache

import numpy as np
import streamlit as st

from bnmf_core import laurberg
from bnmf_core.compare import triangles
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.core.dataset import Dataset
from pages.lessons_parts import touch
from pages.lessons_parts.lesson import Lesson, Question, Say

# a, and rotation of the triangle, of each step.
SHOWN = {1: (0.5, 0), 2: (0.4, 0), 3: (0.6, 60)}
LEAST, MOST = 0.4, 0.6
# Tried rotations in degrees, and most drawn ones among those that fit.
TURNS = np.arange(0.0, 120.0)
DRAWN = 9
# Tolerance of containment, for rounding.
ROUNDING = 1e-9


def matrix(a: float) -> Dataset:
    """The 6×6 matrix made of a."""
    return laurberg("unique" if a < 0.5 else "two", a=a)


def answers(a: float) -> np.ndarray:
    """(t, 3, 2) corners of the equilateral triangles without error, by their turns."""
    data = matrix(a)
    plane = triangles.Plane.of(data.truth[0].A)
    least, most = plane.radii(plane.points(data.X), TURNS)
    fits = least <= most + ROUNDING
    return triangles.equilateral(TURNS[fits]) * least[fits, None, None]


@cache
def picture(a: float, turn: float) -> dict[str, object]:
    """Data of the picture: points, plane, feasible region, solutions and initial triangle."""
    data = matrix(a)
    plane = triangles.Plane.of(data.truth[0].A)
    fitting = answers(a)
    few = np.unique(np.linspace(1, len(fitting) - 1, DRAWN).round().astype(int))
    least, most = plane.radii(plane.points(data.X), np.array([turn]))
    begins = triangles.equilateral(np.array([turn]))[0] * min(least[0], most[0])
    return {
        "X": data.X.tolist(),
        "plane": plane.to_vector.tolist(),
        "points": plane.points(data.X).tolist(),
        "room": plane.room().tolist(),
        "answers": fitting[[0, *few] if len(fitting) > 1 else [0]].tolist(),
        "corners": begins.tolist(),
        "turn": turn,
    }


def error(a: float, corners: np.ndarray) -> float:
    """Relative error of the factorization whose basis has these corners (3, 2)."""
    data = matrix(a)
    basis = triangles.Plane.of(data.truth[0].A).vectors(corners)
    return triangles.relative_error(data.X, np.maximum(basis, 0.0))


@cache
def facts() -> dict[str, float]:
    """The angle between the two solutions, and the range of rotations at the largest a."""
    two = matrix(0.5).truth
    A, W = np.stack([one.A for one in two]), np.stack([one.W for one in two])
    apart = pairwise(A, W, DISTANCES["max_angle"])
    data = matrix(MOST)
    plane = triangles.Plane.of(data.truth[0].A)
    least, most = plane.radii(plane.points(data.X), TURNS)
    band = TURNS[(least <= most + ROUNDING) & (TURNS > 0)]
    return {"angle": float(apart[0, 1]), "first": band.min(), "last": band.max(), "a": MOST}


def sentence(a: float) -> str:
    """The number of triangles."""
    if a < 0.5:
        return (
            f"At a = {a:.2f} a single triangle holds all six points and stays in the room: there "
            "is one factorization."
        )
    if a == 0.5:
        return (
            "At a = 0.50 exactly two triangles hold all six points: two factorizations without "
            f"error, whose parts are {facts()['angle']:.0f}° apart."
        )
    return (
        f"At a = {a:.2f} a whole band of triangles holds all six points: infinitely many "
        "factorizations without error."
    )


def show(step: int, say: Say) -> None:
    """The triangle, and the slider of a."""
    begins, turn = SHOWN[step]
    a = begins
    if not touch.presenting():
        a = st.slider(
            "a, the number that the matrix is made of",
            LEAST,
            MOST,
            begins,
            0.01,
            key=f"uniqueness_a_{step}",
        )
    a = round(a, 2)
    shown = picture(a, turn)
    corners = touch.picture("triangle", shown, key=f"uniqueness_{step}", moved="corners")
    missed = error(a, np.array(corners))
    drawn = f" The triangle as you have drawn it misses X by {missed:.2%}." if missed > 1e-6 else ""
    say(sentence(a) + drawn)


LESSON = Lesson(
    "uniqueness",
    "Why NMF is not unique",
    "Three components are a triangle around the data, and there may be room for another one.",
    "Laurberg and others (2008), as used by Masood, Pan and Doshi-Velez (2016), equations 6 and 7",
    (
        "The six dots are the columns of X. X = A W with nothing negative says two things: every "
        "dot lies in the triangle whose corners are the columns of A, and the triangle lies in the "
        "feasible region, where no entry is negative. Drag the inside of the triangle to turn it, "
        "or drag a corner: the error is zero only where all dots are inside. At a = 0.5 that is so "
        "twice, at 0° and at 60°; the two bases are {angle:.0f}° apart.",
        "With a smaller a the dots lie farther out and the room is narrower. Only one triangle is "
        "left. Whether a factorization is unique is a matter of the data, not of the algorithm.",
        "With a larger a the dots come closer together and the room grows. The first triangle "
        "still fits at 0° alone, but around the second there is a band: at a = {a:.1f} every turn "
        "from {first:.0f}° to {last:.0f}° fits. No fit can tell which of them made the data.",
    ),
    (
        Question(
            "Why may a corner not leave the feasible region?",
            "Outside it, some entry of that column of A would be negative.",
        ),
        Question(
            "Would more observations help?",
            "Only those that lie farther out. A dot inside the others is in every triangle that "
            "holds those, and rules none of them out.",
        ),
        Question(
            "The error is 0 for two triangles. Is each of them the truth?",
            "Each explains X exactly. X alone cannot tell which one made the data. Use other "
            "knowledge, or report both.",
        ),
    ),
    show,
    "overview",
    "The page Overview counts how many different factorizations of your data fit equally well, and "
    "with three components it draws their triangles.",
    facts,
)
