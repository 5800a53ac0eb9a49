"""Lesson 8: three numbers between no and yes, of which only products are seen (paper 4, §4.1.2)."""

from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.boolean.figures.three_variables import NAMES, cut_picture, maximum_and_mean
from bnmf_core.boolean.three_variables import ThreeVariables
from pages.frame.options import pick_one
from pages.frame.words import plain
from pages.lessons_parts import charts, touch, yes_no_sentences
from pages.lessons_parts.lesson import Lesson, Question, Say

# Midpoints of intervals of 0 to 1, without the ends, where Beta(½, ½) is unbounded.
ALONG = (np.arange(80) + 0.5) / 80
PRIORS = {"flat": "Flat", "normal": "Normal", "laplace": "Laplace", "beta": "Beta(½, ½)"}
OBSERVED = {"a": "x and y", "b": "x and z", "c": "y and z"}
# What each step shows: what is observed, and the prior; and the z at which the density is cut.
SHOWN = {1: (0.0, 1.0, 1.0, "flat"), 2: (0.0, 0.0, 0.0, "flat"), 3: (1.0, 0.0, 0.0, "normal")}
# Height of each chart in pixels, so that the text below fits on a small screen.
HEIGHT = 240
CUT = {1: 1.0, 2: 0.0, 3: 0.0}


@st.cache_data(max_entries=64, show_spinner=False)
def answered(question: ThreeVariables) -> tuple[np.ndarray | None, np.ndarray]:
    """The maximum of the density, if any, and the means."""
    return question.maxima if question.bounded else None, question.means


@cache
def facts() -> dict[str, float]:
    """Numbers of the three steps."""
    shown = [ThreeVariables(*SHOWN[step]) for step in SHOWN]
    x, _, z = shown[0].maxima[0]
    return {
        "x": x,
        "z": z,
        "mean": float(shown[1].means[0]),
        "corners": len(shown[1].best_corners),
        "misfit": float(shown[0].misfit(shown[0].best_corners[0])),
    }


def sentence(question: ThreeVariables) -> str:
    """Whether binary values fit, and the maximum of the density."""
    return f"{yes_no_sentences.fit(question)} {yes_no_sentences.largest(question)}"


def ask(step: int) -> tuple[ThreeVariables, float]:
    """Select observations, prior and formula, and the section in z."""
    *observed, prior = SHOWN[step]
    if touch.presenting():
        return ThreeVariables(*observed, prior=prior), CUT[step]
    columns = st.columns([5, 5, 5, 5, 4], gap="small", vertical_alignment="bottom")
    arguments = [
        column.slider(
            plain(f"{name}: {what}?"),
            0.0,
            1.0,
            first,
            0.05,
            key=f"yes_no_{name}_{step}",
            help="What is observed of the product: are both yes? 0 is no, 1 is yes.",
        )
        for column, (name, what), first in zip(columns, OBSERVED.items(), observed, strict=False)
    ]
    z = columns[3].slider(
        "z of the cut",
        0.0,
        1.0,
        CUT[step],
        0.05,
        key=f"yes_no_z_{step}",
        help="The picture shows x and y for this z. Maximum and mean are over all three.",
    )
    with columns[4].popover("Prior", help="The prior, and the formula as printed"):
        prior = pick_one(
            "Prior of x, y and z",
            PRIORS,
            prior,
            f"yes_no_prior_{step}",
            help="Flat favours nothing. Normal and Laplace favour small numbers, Beta(½, ½) "
            "numbers near 0 and near 1.",
        )
        printed = st.toggle(
            "Formula as printed",
            key=f"yes_no_printed_{step}",
            help="In the publication two of the three squares have the wrong sign: (xy − a)² − "
            "(xz − b)² − (yz − c)². Off: all three are added.",
        )
    return ThreeVariables(*arguments, prior=prior, printed=printed), z


def show(step: int, say: Say) -> None:
    """A section of the density, its maximum and mean."""
    drawn = charts.first()
    question, z = ask(step)
    say(sentence(question))
    maxima, mean = answered(question)
    origin = (
        f"a = {question.a:g}, b = {question.b:g}, c = {question.c:g}, {PRIORS[question.prior]} "
        f"prior, formula {'as printed' if question.printed else 'corrected'}"
    )
    left, right = drawn.columns(2, gap="medium")
    with left:
        x, y = np.meshgrid(ALONG, ALONG, indexing="ij")
        density = question.log_density(np.stack([x, y, np.full_like(x, z)]))
        charts.chart(
            cut_picture(ALONG, density, z, mean, question.bounded, HEIGHT),
            "The brighter, the denser.",
            name="lesson_yes_no_cut",
            origin=origin,
            table=pd.DataFrame({"x": x.ravel(), "y": y.ravel(), "log density": density.ravel()}),
        )
    with right:
        table = pd.DataFrame({"variable": NAMES, "mean": mean})
        if maxima is not None:
            table.insert(1, "largest density", maxima[0])
        charts.chart(
            maximum_and_mean(None if maxima is None else maxima[0], mean, HEIGHT),
            yes_no_sentences.means(question)
            + (f" {yes_no_sentences.PRINTED}" if question.printed else ""),
            name="lesson_yes_no_bars",
            origin=origin,
            table=table,
        )


LESSON = Lesson(
    "yes_no",
    "Between 0 and 1",
    "A binary matrix can be explained by numbers in between, and a mean is no maximum.",
    "Gonsior (2019), section 4.1.2, with two signs of equation 4.1 put right",
    (
        "Three numbers x, y and z between 0 (no) and 1 (yes). Seen are only their products: a is "
        "whether x and y are both yes, b for x and z, c for y and z; a cell of a table is such a "
        "product. Here b and c say yes and a says no, which no choice explains: the best misses "
        "by {misfit:.0f}. The density is largest at x = y = {x:.2f}, z = {z:.2f}, in between.",
        "All three products are no. That leaves {corners:d} choices that explain everything: none "
        "is yes, or any one of the three. The mean of each number, {mean:.2f}, belongs to none of "
        "them in particular.",
        "Only a is yes: yes, yes, no explains it exactly. But a prior that favours small numbers "
        "outweighs three observations, and the density is largest where all are no. A table with "
        "more cells speaks louder than its prior.",
    ),
    (
        Question(
            "Is x = {x:.2f} a probability of yes?",
            "No. It is where the density of a number between no and yes is largest. A probability "
            "of yes would be a share of draws.",
        ),
        Question(
            "Cut at one half, do mean and maximum agree?",
            "Not always: the mean counts all of the density and not its top alone. Move a, b and "
            "c, or take the Laplace prior at the first step: there they say the opposite for z.",
        ),
        Question(
            "What does the formula as printed do?",
            "It rewards a poor fit of b and of c, since two of the three squares are subtracted. "
            "Switch it on at step 3 and see what it takes for the best answer.",
        ),
    ),
    show,
    "boolean",
    "The page Boolean says which tiles of a binary matrix can be believed, and which entries "
    "are undecided.",
    facts,
)
