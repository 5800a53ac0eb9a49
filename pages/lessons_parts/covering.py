"""Lesson 3: covering numbers (paper 1, figures 2 to 4)."""

from functools import cache

import numpy as np

from bnmf_core.compare.coverage import covering_balls, covering_numbers
from pages.lessons_parts import touch
from pages.lessons_parts.lesson import Lesson, Question, Say

# Radii of the picture; radius of each step: those of the paper's figures 2 and 3, and one
# that distinguishes two modes but nothing within them.
EPSILONS = np.arange(51) / 10.0
SHOWN = {1: 1.0, 2: 2.5, 3: 4.0}
NAMES = ("One mode", "Two modes")
# Half the width of the picture in the points' unit; balls may need more.
REACH = 3.6


@cache
def points() -> tuple[np.ndarray, np.ndarray]:
    """(17, 2) twice: a wide cloud, and two narrow ones with a gap between them."""
    rng = np.random.default_rng(0)
    wide = rng.normal(0.0, 0.9, (17, 2))
    narrow = rng.normal(0.0, 0.35, (17, 2))
    narrow[:, 0] += np.where(np.arange(17) < 9, -2.3, 2.3)
    return wide, narrow


def apart(cloud: np.ndarray) -> np.ndarray:
    """Distances between all points of a cloud."""
    return np.linalg.norm(cloud[:, None] - cloud, axis=-1)


@cache
def curve(which: int) -> np.ndarray:
    """(E,) the fewest balls for each radius."""
    return covering_numbers(apart(points()[which]), EPSILONS, "exact")


@cache
def covers(which: int) -> list[tuple[float, list[int]]]:
    """The fewest balls: from which radius on, and around which points."""
    numbers, distances = curve(which), apart(points()[which])
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[0] + 1))
    return [(float(EPSILONS[e]), covering_balls(distances, EPSILONS[e]).tolist()) for e in first]


@cache
def facts() -> dict[str, float]:
    """Balls at the paper's radii, and how long each number stays above one."""
    found: dict[str, float] = {}
    for which, name in enumerate(("one", "two")):
        numbers = curve(which)
        found |= {f"{name}_at_{step}": int(numbers[_at(SHOWN[step])]) for step in SHOWN}
        found[f"{name}_until"] = float(EPSILONS[numbers > 1].max())
    numbers = curve(1)
    found["two_from"] = float(EPSILONS[numbers == 2].min())
    return found


def _at(epsilon: float) -> int:
    return int(np.argmin(np.abs(EPSILONS - epsilon)))


def sentence(epsilon: float) -> str:
    """Number of balls that each set needs, and the set that needs several up to larger radii."""
    one, two = (int(curve(which)[_at(epsilon)]) for which in (0, 1))
    balls = f"{one} ball{'s' if one > 1 else ''}"
    if one > two:
        which = "so a single small radius takes the wide mode for the more diverse"
    elif one < two:
        which = "so the gap between the modes counts, and the width of one no longer does"
    else:
        which = "so this radius does not tell the two sets apart"
    return f"At ε = {epsilon:.1f} one mode needs {balls} and two modes need {two}, {which}."


def show(step: int, say: Say) -> None:
    """The two sets with their balls, and the curves."""
    data = {
        "sets": [
            {"name": name, "points": points()[k].tolist(), "covers": covers(k)}
            for k, name in enumerate(NAMES)
        ],
        "reach": REACH,
        "most": float(EPSILONS[-1]),
        "largest": len(points()[0]),
        "epsilon": SHOWN[step],
    }
    epsilon = touch.picture("balls", data, key=f"covering_{step}", moved="epsilon")
    say(sentence(float(epsilon)))


LESSON = Lesson(
    "covering",
    "How much has been seen: covering numbers",
    "The fewest balls that hold a set of factorizations say how diverse it is, at each radius.",
    "Masood, Pan and Doshi-Velez (2016), section 3.2, with the counts of figures 2 and 3; the "
    "points are ours",
    (
        "Each dot stands for one factorization, and the distance between dots for how different "
        "two of them are. Put balls of radius ε around some of the dots so that every dot is in "
        "one: the fewest that will do is the covering number. At ε = 1 the wide mode needs "
        "{one_at_1}, the two narrow ones only {two_at_1}.",
        "At ε = 2.5 it is the other way round: {one_at_2} against {two_at_2}. Which set is the "
        "more diverse depends on the radius, so one radius alone says little.",
        "So compute the curve at all radii: what persists counts. Two modes need two balls "
        "from ε = {two_from:.1f} to {two_until:.1f}; one mode comes down to a single ball after "
        "ε = {one_until:.1f}. A long flat step of the curve is structure, a short one is scatter.",
    ),
    (
        Question(
            "Where does each curve begin and end?",
            "At ε = 0 every different dot needs a ball of its own; once ε reaches the largest "
            "distance in the set, one ball does, around any dot.",
        ),
        Question(
            "Can the number rise while ε grows?",
            "No: balls that hold all dots still do when they grow. A greedy count, which large "
            "sets need, may rise on some sets; here the count is exact.",
        ),
        Question(
            "Does a high number mean that a sampler did well?",
            "It means that what it made is diverse. Poor factorizations are diverse, too, so "
            "covering numbers are read beside the errors.",
        ),
    ),
    show,
    "coverage",
    "The page Coverage draws these curves for your runs, in the distance that you choose.",
    facts,
)
