"""Distinct factorizations among many: the places between which a sampler may jump."""

import numpy as np

from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")
# Errors that agree to this many digits belong to one minimum.
DIGITS = 9


def landmarks(
    A: np.ndarray, squared_error: np.ndarray, threshold: float, most: int
) -> list[tuple[int, np.ndarray]]:
    """The best basis of each group of similar A (m, D, R), at most so many, largest group first.

    From the best to the worst, a basis joins the first group to whose best it has no angle between
    matched components above ``threshold``, in degrees, or else begins a group. Returns the index of
    each and the order (R,) of its components that matches those of the very best.
    """
    # Of those that ended at one minimum rounding must not choose, but their order.
    alike = np.round(squared_error / max(squared_error.min(), np.finfo(float).tiny), DIGITS)
    order = np.argsort(alike, kind="stable")
    unit = unit_columns(A)[order]
    leaders: list[int] = []
    sizes: list[int] = []
    for i, one in enumerate(unit):
        for place, leader in enumerate(leaders):
            if match(unit[leader], one)[0] <= threshold:
                sizes[place] += 1
                break
        else:
            leaders.append(i)
            sizes.append(1)
    largest = np.argsort(-np.array(sizes), kind="stable")[:most]
    return [(int(order[leaders[g]]), match(unit[0], unit[leaders[g]])[1]) for g in largest]


def unit_columns(A: np.ndarray) -> np.ndarray:
    """Bases A (m, D, R) with columns of length one; empty ones stay empty."""
    norm = np.linalg.norm(A, axis=1, keepdims=True)
    unit: np.ndarray = A / np.where(norm > 0, norm, 1.0)
    return unit


def match(one: np.ndarray, other: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest angle between matched unit columns in degrees, and the order of the other's."""
    cosines = one.T @ other
    _, order = optimize.linear_sum_assignment(-cosines)
    worst = cosines[np.arange(order.size), order].min()
    return float(np.degrees(np.arccos(np.clip(worst, -1.0, 1.0)))), order
