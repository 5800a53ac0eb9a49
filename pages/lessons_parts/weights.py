"""Lesson 7: Stein weights of five particles that are dragged (paper 3, algorithm 5)."""

from functools import cache

import numpy as np

from bnmf_core.posterior.places import Block
from bnmf_core.posterior.stein import EXPONENT, Products, ksd
from bnmf_core.posterior.weights import stein_weights
from pages.lessons_parts import touch
from pages.lessons_parts.lesson import Lesson, Question, Say

# One number X = 1 is modelled as a·w: noise σ, and the kernel's length for both.
SIGMA, LENGTH = 0.5, 1.0
# The edges of the picture, in log a and log w.
LEAST, MOST = -2.6, 2.0
SPREAD = ((-1.2, 0.9), (-0.2, 0.0), (0.9, -1.2), (0.4, -0.6))
# Fifth particle in each step: off the ridge, at the fourth particle, on the ridge.
FIFTH = {1: (-1.5, -0.5), 2: SPREAD[3], 3: (-0.5, 0.7)}
# Smaller weights count as 0.
NOTHING = 0.005


def slopes(places: np.ndarray) -> np.ndarray:
    """(M, 2) gradient of the log density at (log a, log w), with the Jacobian of the logarithms.

    a, w ~ Exp(1), X = 1 ~ N(a w, σ²): −(1 − e^{u+v})²/(2σ²) − e^u − e^v + u + v.
    """
    product = np.exp(places.sum(axis=1, keepdims=True))
    return (1.0 - product) * product / SIGMA**2 - np.exp(places) + 1.0


def kernel(places: np.ndarray) -> np.ndarray:
    """The Stein kernel (M, M), a block for each of the two numbers."""
    by = slopes(places)
    blocks = [Block(places[:, i : i + 1], by[:, i : i + 1], 1) for i in (0, 1)]
    return Products.of(blocks).kernel(LENGTH, LENGTH)


def places_of(step: int) -> np.ndarray:
    """(5, 2) initial positions of the particles."""
    return np.array([*SPREAD, FIFTH[step]])


@cache
def weighed(flat: tuple[float, ...]) -> tuple[np.ndarray, float, float]:
    """Weights (M,), their discrepancy, and that of equal weights; twins share equally."""
    places = np.array(flat).reshape(-1, 2)
    K = kernel(places)
    weights = stein_weights(K)
    same = (places[:, None] == places).all(axis=-1)
    equal = np.full(len(places), 1.0 / len(places))
    return (same * weights).sum(axis=1) / same.sum(axis=1), ksd(K, weights), ksd(K, equal)


def sentence(places: np.ndarray) -> str:
    """A sentence on the weights."""
    weights, least, equal = weighed(tuple(places.ravel().tolist()))
    percents = ", ".join(f"{weight:.0%}" for weight in weights)
    clauses = [f"The particles weigh {percents}"]
    without = [str(k + 1) for k in np.flatnonzero(weights < NOTHING)]
    if without:
        clauses.append(f"{_and(without)} would only do harm")
    same = (places[:, None] == places).all(axis=-1)
    twins = [str(k + 1) for k in np.flatnonzero(same.sum(axis=1) > 1)]
    if twins:
        share = weights[same.sum(axis=1) > 1].sum()
        clauses.append(f"{_and(twins)} are in one place and share {share:.0%}")
    times = float(f"{equal / least:.2g}")
    return f"{'; '.join(clauses)}; with equal weights the discrepancy is {times:,g} times as large."


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


@cache
def facts() -> dict[str, float]:
    """The weight of the fourth particle alone, and of it and its copy together."""
    alone, *_ = weighed(tuple(places_of(2)[:4].ravel().tolist()))
    both, *_ = weighed(tuple(places_of(2).ravel().tolist()))
    off, *_ = weighed(tuple(places_of(1).ravel().tolist()))
    return {"alone": alone[3], "both": both[3] + both[4], "off": off[4]}


def show(step: int, say: Say) -> None:
    """Particles to drag, and their weights."""
    data = {
        "sigma": SIGMA,
        "length": LENGTH,
        "exponent": EXPONENT,
        "least": LEAST,
        "most": MOST,
        "places": places_of(step).tolist(),
    }
    places = touch.picture("particles", data, key=f"weights_{step}", moved="places")
    say(sentence(np.array(places, dtype=np.float64)))


LESSON = Lesson(
    "weights",
    "Stein weights",
    "A few factorizations stand for a posterior when each is given the weight that brings them "
    "nearest to it.",
    "Masood and Doshi-Velez, A particle-based variational approach to Bayesian NMF, section 3 and "
    "algorithm 5",
    (
        "The smallest factorization there is: X is the single number 1, explained as a times w. "
        "The blue ridge is the posterior of the two. Five particles are to stand for it. Their "
        "weights make the Stein discrepancy, a distance from the posterior, as small as it can "
        "be. Particle 5 lies off the ridge and is given {off:.0%}. Drag it back.",
        "Particle 5 is a copy of particle 4. Nothing is gained by it: together they have "
        "{both:.0%}, as much as particle 4 has without a copy, {alone:.0%}. So many restarts that "
        "end in one place cannot outvote the others.",
        "Now all five lie along the ridge, and the weights say which part of it each stands for. "
        "Drag one along the ridge: its neighbours give weight away or take it over. What no "
        "particle is near to, no weight can make up for.",
    ),
    (
        Question(
            "Does a small discrepancy show that no mode was missed?",
            "No. It is computed where the particles are. A mode that none of them is near to does "
            "not enter.",
        ),
        Question(
            "Why logarithms of a and w?",
            "At zero the posterior does not vanish, and there the discrepancy as published would "
            "not be zero even for the posterior itself. In logarithms it is.",
        ),
        Question(
            "What does the computer solve?",
            "It makes wᵀKw as small as it can be for weights of at least 0 that sum to 1, a "
            "quadratic program. K is made of the places and of the slopes of the log density "
            "there. A particle on a very steep slope can make it smaller with a weight of 1%, as "
            "it balances the slopes of the others: drag one far to the upper right.",
        ),
    ),
    show,
    "quality",
    "The page Fit and weights weighs the factorizations of your runs in this way.",
    facts,
)
