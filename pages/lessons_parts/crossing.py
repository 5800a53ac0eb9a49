"""Lesson 4: a chain that stays in its mode, against four other methods."""

from functools import cache
from typing import Any

from bnmf_core.registry import label_of
from pages.lessons_parts import touch
from pages.lessons_parts.lesson import Lesson, Question, Say
from pages.lessons_parts.stored import stored

# The methods that each step shows.
SHOWN = {
    1: ("gibbs", "random_restarts", "q_transform", "rrt", "mode_jumps"),
    2: ("random_restarts", "q_transform", "rrt"),
    3: ("gibbs", "mode_jumps"),
}
LEGEND = ("the two answers", "near the first", "near the second", "near neither")


@cache
def ways() -> dict[str, dict[str, Any]]:
    """Results of each method, by the key of its algorithm."""
    return {way["key"]: way for way in stored("crossing")["ways"]}


@cache
def facts() -> dict[str, float]:
    """Factorizations of each method near the first and the second mode, and R̂."""
    found: dict[str, float] = {
        name: stored("crossing")[name] for name in ("sigma", "epsilon", "chains")
    }
    for key, way in ways().items():
        found[f"{key}_made"] = way["made"]
        found |= {f"{key}_{name}": way[f"in_{name}"] for name in ("first", "second")}
        found[f"{key}_share"] = way["in_second"] / way["made"]
        if "r_hat" in way:
            found[f"{key}_r_hat"] = way["r_hat"]
    return found


def sentence(step: int) -> str:
    """Which samplers found the second mode, and their R̂."""
    templates = {
        1: (
            "Four Gibbs chains agree, R̂ = {gibbs_r_hat:.2f}, and none of their {gibbs_made} draws "
            "is near the second answer; restarts ended there {random_restarts_second} times of "
            "{random_restarts_made}."
        ),
        2: (
            "Three ways without a chain found both answers: {random_restarts_second}, "
            "{q_transform_second} and {rrt_second} of {rrt_made} factorizations are near the "
            "second."
        ),
        3: (
            "Mode jumps spend {mode_jumps_share:.0%} of their draws near the second answer, where "
            "half of the probability is; Gibbs spends {gibbs_share:.0%}."
        ),
    }
    return templates[step].format_map(facts())


def _label(key: str) -> str:
    chains = ways()[key].get("r_hat") is not None
    return label_of(key) + (f", one of {facts()['chains']:d} chains" if chains else "")


def show(step: int, say: Say) -> None:
    """Animate the triangles of each method."""
    numbers = stored("crossing")
    count = max(len(ways()[key]["corners"]) for key in SHOWN[step])
    data = {
        "ways": [
            {"label": _label(key), **{name: ways()[key][name] for name in ("corners", "near")}}
            for key in SHOWN[step]
        ],
        "answers": numbers["answers"],
        "points": numbers["points"],
        "legend": LEGEND,
        "count": count,
        "shown": count,
    }
    touch.picture("chain", data, key=f"crossing_{step}", moved="shown")
    say(sentence(step))


LESSON = Lesson(
    "crossing",
    "A chain in its mode",
    "Chains can agree with each other perfectly and have missed half of the posterior.",
    "Masood, Pan and Doshi-Velez (2016), equation 7; the tree: Masood and Doshi-Velez, Rapid "
    "posterior exploration; Q-Transform: their paper on particles, section 4",
    (
        "The matrix of lesson 1 at a = 0.5 has exactly two answers, dashed, and by symmetry each "
        "has half of the probability. All {chains:d} Gibbs chains start in the first. Play: the "
        "triangle trembles and never turns over, since every triangle on the way misses the "
        "points. R̂ compares the chains with each other, finds them alike, and is near 1.",
        "Restarts begin anywhere and fall into either answer. Q-Transform begins at points that "
        "small problems have taught it. The tree grows towards where nothing is known yet and "
        "keeps whatever misses no entry by more than {epsilon:g}. All three find the second "
        "answer. None says how probable it is: how often a restart ends there is another matter.",
        "Mode jumps is a Gibbs chain that also proposes leaps between the modes that restarts "
        "found, and accepts them so that the posterior stays what it is. Of its {mode_jumps_made} "
        "draws {mode_jumps_second} are near the second answer. Its chains agree, too: R̂ = "
        "{mode_jumps_r_hat:.2f}. R̂ alone cannot tell it from the chain that saw one half.",
    ),
    (
        Question(
            "Would more draws help the Gibbs chain?",
            "In the long run it is right. But the way between the answers leads through "
            "factorizations so improbable that with this little noise it is not seen in any run "
            "that one would wait for.",
        ),
        Question(
            "Would chains that start in different modes warn us?",
            "Not always. R̂ compares numbers such as the error, and here those are the same in "
            "both answers. The angle between factorizations tells them apart.",
        ),
        Question(
            "Why not take restarts only?",
            "They find modes. Their shares are the sizes of basins, not probabilities: that is the "
            "next lesson.",
        ),
    ),
    show,
    "coverage",
    "Run Gibbs and restarts on your data, on the page Analyse; the page Coverage shows whether the "
    "chains saw as much.",
    facts,
)
