"""All pairs of distances and the covering curve, against a plain loop."""

from collections.abc import Callable
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks import harness
from benchmarks.tables import part, spread
from bnmf_core import covering_numbers, distances
from bnmf_core.compare.coverage import persistence

TARGETS = {"max_angle": 12.0, "together": 25.0}
# Of everything else.
TARGET = 20.0
METRICS = ("max_angle", "wad", "l1_sum")
RANKS = (3, 10, 16)
FEATURES, OBSERVATIONS = 200, 60
EPSILONS = 100
AGREE = 1e-6
# Where all pairs take longer, repeats measure fewer particles and are scaled to all pairs.
SECONDS = 3.0
COLUMNS = (
    "R",
    "what",
    "ours, s",
    "plain loop, s (scaled)",
    "ratio (range)",
    "target",
    "of target",
    "met",
    "largest difference",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """Every rank and metric; the plain loop on a subset, scaled to all pairs."""
    size = Sizes(60, 60, 10) if quick else Sizes(1000, 3000, 20)
    rows, raw = [], {}
    for rank in RANKS[:2] if quick else RANKS:
        found = _rank(rank, size, harness.QUICK_REPEATS if quick else harness.REPEATS)
        raw[f"R={rank}"] = found
        rows += _rows(rank, found)
    return {
        "title": "Distances and coverage",
        "summary": [
            f"{size.particles:,} perturbed factorizations with D={FEATURES}: all pairs, and the "
            f"greedy covering curve over {EPSILONS} radii. The plain loop takes each pair's cost "
            "matrix in numpy and SciPy's linear_sum_assignment; columns are normalised once. It "
            f"is measured on {size.pairs:,} pairs drawn at random and scaled to all of them; its "
            f"covering, recomputed at each radius, on every {size.epsilon_step}th radius. Both "
            f"must agree there to {AGREE:g}. All pairs are computed once; where that takes over "
            f"{SECONDS:g} s, our repeats take fewer particles and are scaled by the number of "
            "pairs, too. Repeats take turns; ratios are medians of pairs.",
        ],
        "tables": [{"title": "All pairs", "columns": COLUMNS, "rows": rows}],
        "raw": raw,
    }


class Sizes(SimpleNamespace):
    """particles : factorizations. pairs : pairs that the plain loop takes in one repeat.

    epsilon_step : stride of the radii of the plain covering.
    """

    def __init__(self, particles: int, pairs: int, epsilon_step: int) -> None:
        super().__init__(particles=particles, pairs=pairs, epsilon_step=epsilon_step)


def perturbed(count: int, rank: int, rng: np.random.Generator) -> SimpleNamespace:
    """Noisy copies of a few factorizations, components in any order and at any scale."""
    centres = rng.exponential(size=(5, FEATURES, rank))
    A = centres[rng.integers(5, size=count)]
    A = A * rng.gamma(4.0, 0.25, size=A.shape)
    W = rng.exponential(size=(count, rank, OBSERVATIONS))
    scale = rng.gamma(2.0, 1.0, size=(count, 1, rank))
    order = np.argsort(rng.random((count, rank)), axis=1)
    A = np.take_along_axis(A * scale, order[:, None, :], axis=2)
    return SimpleNamespace(A=A, W=np.take_along_axis(W, order[:, :, None], axis=1))


def plain_pair(metric: str, particles: SimpleNamespace) -> Callable[[int, int], float]:
    """A plain distance of two factorizations; rows are prepared once."""
    A, W = particles.A, particles.W
    rows = A.transpose(0, 2, 1)
    order = 1 if metric == "l1_sum" else 2
    rows = np.ascontiguousarray(rows / np.linalg.norm(rows, ord=order, axis=2, keepdims=True))
    shares = W.sum(axis=2) * A.sum(axis=1)
    shares /= shares.sum(axis=1, keepdims=True)

    def angles(i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cost = np.degrees(np.arccos(np.clip(rows[i] @ rows[j].T, -1.0, 1.0)))
        return cost, *linear_sum_assignment(cost)

    def max_angle(i: int, j: int) -> float:
        cost, left, right = angles(i, j)
        return cost[left, right].max()

    def wad(i: int, j: int) -> float:
        cost, left, right = angles(i, j)
        return (cost[left, right] * (shares[i, left] + shares[j, right])).sum() / 2.0

    def l1_sum(i: int, j: int) -> float:
        cost = np.abs(rows[i][:, None, :] - rows[j][None, :, :]).sum(axis=2)
        return cost[linear_sum_assignment(cost)].sum()

    return {"max_angle": max_angle, "wad": wad, "l1_sum": l1_sum}[metric]


def plain_covering(matrix: np.ndarray, epsilons: np.ndarray) -> list[int]:
    """Greedy covering numbers; gains are recomputed for every centre."""
    numbers = []
    for epsilon in epsilons:
        near = matrix <= epsilon
        left = np.ones(len(matrix), dtype=bool)
        centres = 0
        while left.any():
            best = np.argmax(near[:, left].sum(axis=1))
            left &= ~near[best]
            centres += 1
        numbers.append(centres)
    return numbers


def _rank(rank: int, size: Sizes, repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(rank)
    particles = perturbed(size.particles, rank, rng)
    # Compiled before anything is timed.
    few = SimpleNamespace(A=particles.A[:3], W=particles.W[:3])
    all_pairs = size.particles * (size.particles - 1) / 2
    found: dict[str, Any] = {}
    for metric in METRICS:
        covering_numbers(distances(few, metric), np.array([0.0]), "published")
        found[metric] = _metric(metric, particles, size, repeats, all_pairs, rng)
    matrix = distances(particles, "max_angle")
    epsilons, _ = persistence(matrix, EPSILONS)
    some = epsilons[size.epsilon_step // 2 :: size.epsilon_step]

    def plain(repeat: int) -> float:
        return harness.seconds(lambda: plain_covering(matrix, some)) * size.epsilon_step

    ours, theirs = harness.in_turn(
        repeats, lambda _: harness.seconds(lambda: persistence(matrix, EPSILONS)), plain
    )
    same = np.array(plain_covering(matrix, some)) - covering_numbers(matrix, some, "published")
    found["covering"] = {"ours": ours, "plain": theirs, "difference": float(np.abs(same).max())}
    found["together"] = {
        side: [sum(times) for times in zip(*[part[side] for part in found.values()], strict=True)]
        for side in ("ours", "plain")
    }
    found["together"]["difference"] = max(
        found[what]["difference"] for what in (*METRICS, "covering")
    )
    return found


def _metric(
    metric: str,
    particles: SimpleNamespace,
    size: Sizes,
    repeats: int,
    all_pairs: float,
    rng: np.random.Generator,
) -> dict[str, Any]:
    i = rng.integers(size.particles, size=size.pairs)
    j = (i + rng.integers(1, size.particles, size=size.pairs)) % size.particles
    pair = plain_pair(metric, particles)
    expected = np.array([pair(a, b) for a, b in zip(i, j, strict=True)])
    results: list[np.ndarray] = []
    whole = harness.seconds(lambda: results.append(distances(particles, metric)))
    difference = float(np.abs(results[0][i, j] - expected).max())
    count = size.particles
    if whole > SECONDS:
        count = int(count * np.sqrt(SECONDS / whole))
    some = SimpleNamespace(A=particles.A[:count], W=particles.W[:count])

    def ours(repeat: int) -> float:
        took = harness.seconds(lambda: distances(some, metric))
        return took * all_pairs / (count * (count - 1) / 2)

    def plain(repeat: int) -> float:
        took = harness.seconds(lambda: [pair(a, b) for a, b in zip(i, j, strict=True)])
        return took * all_pairs / size.pairs

    times = harness.in_turn(repeats, ours, plain)
    return {"ours": times[0], "plain": times[1], "difference": difference, "whole": whole}


def _rows(rank: int, found: dict[str, Any]) -> list[list[Any]]:
    rows = []
    for what, times in found.items():
        ratio = harness.ratio(times["plain"], times["ours"])
        verdict = harness.against(ratio["median"], TARGETS.get(what, TARGET))
        rows.append(
            [
                rank,
                what,
                median(times["ours"]),
                median(times["plain"]),
                spread(ratio),
                verdict["target"],
                part(verdict["part"]),
                verdict["met"] and times["difference"] <= AGREE,
                times["difference"],
            ]
        )
    return rows


if __name__ == "__main__":
    harness.main(measure)
