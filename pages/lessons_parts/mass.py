"""Lesson 5: basin, height and mass are three things."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.figures.modes import three_answers
from pages.frame.options import pick_one
from pages.lessons_parts import charts, touch
from pages.lessons_parts.lesson import Lesson, Question, Say
from pages.lessons_parts.stored import stored

# Draw of the noise (0: none) and likelihood power of each
# step.
SHOWN = {1: (0, "1"), 2: (1, "1"), 3: (1, "0.1")}
BELIEFS = {"1": "at its word", "0.1": "a tenth"}


def weighed(draw: int) -> dict[str, Any]:
    """Stored results for a draw of the noise, from 1, or without noise, 0."""
    found: dict[str, Any] = stored("mass")["draws"][draw]
    return found


def mass(draw: int, belief: str) -> np.ndarray:
    """(2,) the posterior masses of the two modes."""
    return np.array(weighed(draw)["masses"][belief]["mass"])


@cache
def facts() -> dict[str, float]:
    """Numbers without noise and of the first draw, and the range of masses over draws."""
    first, exact = weighed(1), weighed(0)["masses"]["1"]
    heavier = [float(mass(draw, "1").max()) for draw in range(1, len(stored("mass")["draws"]))]
    nats = max(first["below_best"])
    return {
        "sigma": stored("mass")["sigma"],
        "even": exact["mass"][0],
        "even_low": exact["mass_low"][0],
        "even_high": exact["mass_high"][0],
        "nats": nats,
        "times": float(np.exp(nats)),
        "odds": float(mass(1, "1").max() / mass(1, "1").min()),
        "least": min(heavier),
        "most": max(heavier),
        "draws": len(heavier),
        "milder": float(mass(1, "0.1").max()),
        "at_word": float(mass(1, "1").max()),
    }


def sentence(draw: int, belief: str) -> str:
    """Basin, height and mass, in two sentences."""
    one, of = weighed(draw), mass(draw, belief)
    share = [count / sum(one["restarts"]) for count in one["restarts"]]
    believed = "" if belief == "1" else " if the noise model is believed a tenth as far"
    fit, their = ("miss X by less than 1%", "Yet their") if draw else ("fit exactly", "Their")
    return (
        f"Both modes {fit}, and restarts end in them {share[0]:.0%} to {share[1]:.0%}. {their} "
        f"probabilities are {of[0]:.1%} and {of[1]:.1%}{believed}."
    )


def show(step: int, say: Say) -> None:
    """The two modes under all three measures."""
    draw, belief = SHOWN[step]
    drawn = charts.first()
    if not touch.presenting():
        left, right = st.columns(2, gap="medium")
        draw = left.slider(
            "Draw of the noise",
            0,
            len(stored("mass")["draws"]) - 1,
            draw,
            key=f"mass_draw_{step}",
            help="0: without noise. Else the same matrix with other noise of the same size.",
        )
        belief = pick_one(
            "How far the noise model is believed",
            BELIEFS,
            belief,
            f"mass_belief_{step}",
            help="A tenth: ten entries of X count as one.",
            place=right,
        )
    say(sentence(draw, belief))
    one, sigma = weighed(draw), facts()["sigma"]
    of = {name: np.array(values) for name, values in one["masses"][belief].items()}
    restarts = np.array(one["restarts"]) / sum(one["restarts"])
    height = np.exp(-np.array(one["below_best"]))
    table = pd.DataFrame(
        {
            "mode": [1, 2],
            "share of restarts": restarts,
            "below the best (nats)": one["below_best"],
            "error": one["error"],
            **of,
        }
    )
    with drawn:
        charts.chart(
            three_answers(restarts, height, of["mass"], of["mass_low"], of["mass_high"]),
            "Height: the density at the best place that restarts found, over that of the better "
            "mode. Bars on the mass: 90% of what its errors allow.",
            name="lesson_mass",
            origin=(
                f"Two solutions {f'with noise σ = {sigma:g}' if draw else 'without noise'}, "
                f"{sum(one['restarts'])} restarts, modes {one['apart']:g}° apart"
            ),
            table=table,
        )


LESSON = Lesson(
    "mass",
    "Basin, height and mass",
    "How often a mode is found, how good it is and how probable it is are three questions.",
    "The matrix: Masood, Pan and Doshi-Velez (2016), equation 7; the masses are computed by "
    "annealing from each mode",
    (
        "The matrix with two answers has no noise. An exchange of its rows and columns swaps the "
        "answers and leaves X as it is. Each answer therefore has half of the mass; annealing "
        "estimates {even:.0%} ({even_low:.0%} to {even_high:.0%}). Restarts and heights are about "
        "equal, too.",
        "Noise of σ = {sigma:g} ends the symmetry. In draw 1 the better mode is {times:.0f} times "
        "as dense as the other ({nats:.1f} nats) and {odds:,.0f} times as probable. Over {draws:d} "
        "draws the heavier mode has {least:.0%} to {most:.1%} of the mass. Restarts stay near half "
        "and half.",
        "These masses take the noise model at its word. If ten entries of X count as one, "
        "{at_word:.1%} become {milder:.0%}. A conclusion that needs an exact noise model is better "
        "called open.",
    ),
    (
        Question(
            "What is mass, if not height?",
            "Height times width, in every direction: the integral of the density over the mode. "
            "In many dimensions width can outweigh any height.",
        ),
        Question(
            "Why are the basins nearly equal?",
            "Where a restart ends depends on the error far from its minima, which so little noise "
            "hardly changes.",
        ),
        Question(
            "Both fit. Which one should be reported?",
            "Both, each with its mass and what the mass rests on; and what the two have in common, "
            "which holds either way.",
        ),
    ),
    show,
    "overview",
    "The page Overview shows all three for your data: found by, below the best, posterior mass.",
    facts,
)
