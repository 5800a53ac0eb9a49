"""Lesson 10: chains that each look converged, but have not mixed."""

from functools import cache
from typing import Any

import numpy as np

from bnmf_core.compare.settled import LARGEST_R_HAT, SMALLEST_SIZE
from pages.frame.options import pick_one
from pages.lessons_parts import charts, touch
from pages.lessons_parts.lesson import Lesson, Question, Say
from pages.lessons_parts.stored import stored

OWN, COMMON = "own", "common"
AXES = {OWN: "of each chain", COMMON: "the same for all"}
# Length (from 0) and axes of each step.
SHOWN = {1: (1, OWN), 2: (1, COMMON), 3: (8, COMMON)}
# A limit of R̂ in common use (Gelman and Rubin 1992), which says little of the precision.
OLDER = 1.1
# The engine's limits for one chain, and for four.
ALONE, TOGETHER, LEAST = LARGEST_R_HAT[0], LARGEST_R_HAT[3], SMALLEST_SIZE[3]


@cache
def lengths() -> list[dict[str, Any]]:
    """The chains at every length: ``sweeps``, ``draws`` and their diagnostics."""
    found: list[dict[str, Any]] = stored("settled")["lengths"]
    return found


def settled(one: dict[str, Any]) -> bool:
    """Whether the four chains have mixed, by the engine's limits."""
    return bool(one["r_hat"] <= TOGETHER and min(one["bulk"], one["tail"]) >= LEAST)


def looking(one: dict[str, Any]) -> int:
    """Number of chains that look converged on their own."""
    return sum(r_hat <= ALONE for r_hat in one["alone"])


@cache
def facts() -> dict[str, float]:
    """Numbers of the short, the intermediate and the long chains."""
    short, long = lengths()[SHOWN[1][0]], lengths()[SHOWN[3][0]]
    near = next(one for one in lengths() if one["r_hat"] <= OLDER)
    draws = np.array(short["draws"])
    return {
        "sigma": stored("settled")["sigma"],
        "one_start": stored("settled")["one_start"],
        "low": float(np.median(draws[:2])),
        "high": float(np.median(draws[2:])),
        "kept": draws.size,
        "older": OLDER,
        "alone": max(short["alone"]),
        **{f"short_{name}": short[name] for name in ("sweeps", "r_hat", "bulk")},
        **{f"long_{name}": long[name] for name in ("sweeps", "r_hat", "bulk")},
        **{f"near_{name}": near[name] for name in ("sweeps", "r_hat", "bulk")},
    }


def sentence(length: int) -> str:
    """Whether each chain looks converged, and whether all have mixed."""
    one = lengths()[length]
    numbers = f"R̂ = {one['r_hat']:.2f}, bulk ESS = {one['bulk']:.0f}"
    after = f"After {one['sweeps']:,} sweeps"
    if settled(one):
        return f"{after} the four chains have settled: {numbers} of {facts()['kept']:d} draws."
    count = looking(one)
    looks = "chains look settled by themselves" if count != 1 else "chains looks settled by itself"
    many = "every chain looks settled by itself" if count == 4 else f"{count} of 4 {looks}"
    return f"{after} {many}; together they have not settled: {numbers}."


def show(step: int, say: Say) -> None:
    """The four chains, strip by strip, and R̂ and ESS at every length."""
    length, axes = SHOWN[step]
    drawn = charts.first()
    if not touch.presenting():
        axes = pick_one("Axis", AXES, axes, f"settled_axes_{step}")
    data = {
        "lengths": lengths(),
        "length": length,
        "common": axes == COMMON,
        "limits": {"r_hat": TOGETHER, "ess": LEAST},
    }
    with drawn:
        length = touch.picture("strips", data, key=f"settled_{step}_{axes}", moved="length")
    say(sentence(int(length)))


LESSON = Lesson(
    "settled",
    "Settled or not",
    "Chains that look settled one by one may disagree with each other.",
    "R̂ and ESS: Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021); the matrix: Masood, Pan "
    "and Doshi-Velez (2016), equation 7",
    (
        "Four Gibbs chains sample the matrix with two answers, with σ = {sigma:g}. Each strip "
        "shows the angle of one chain to the first answer. After {short_sweeps:,} sweeps every "
        "strip is level, and its own split R̂ is about {alone:.2f}.",
        "One axis for all shows the difference: two chains stay near {low:.0f}°, two near "
        "{high:.0f}°. Rank-normalised split R̂ compares the four chains: {short_r_hat:.2f}. The "
        "{kept:d} draws have a bulk ESS of {short_bulk:.0f}.",
        "Longer chains visit both answers again and again. After {long_sweeps:,} sweeps R̂ is "
        "{long_r_hat:.2f} and the bulk ESS is {long_bulk:.0f}. The curves show every length "
        "in between.",
    ),
    (
        Question(
            "Does R̂ near 1 prove that chains have settled?",
            "No. Four chains that all start in the first answer can have R̂ = {one_start:.2f} after "
            "{short_sweeps:,} sweeps, and have missed the second answer.",
        ),
        Question(
            "Why is each chain split into halves?",
            "A chain that drifts has two halves that differ. Split R̂ is then large, even if all "
            "chains drift alike.",
        ),
        Question(
            "Why is R̂ not enough?",
            "ESS says how precise a mean is. After {near_sweeps:,} sweeps R̂ is {near_r_hat:.2f}, "
            "below the common limit {older:g}, but the bulk ESS is only {near_bulk:.0f}.",
        ),
    ),
    show,
    "traces",
    "The page Traces shows the chains of your samplers, with R̂ and ESS of every quantity.",
    facts,
)
