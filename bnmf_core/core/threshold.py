"""A threshold below which every factorization is good enough, and its description."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # a problem has a model, and a model may have a threshold
    from bnmf_core.core.problem import Problem


@dataclass(frozen=True)
class Threshold:
    """A model's objective f(X, AW) and its ε: a factorization with f ≤ ε is good enough.

    Attributes
    ----------
    values : ``(problem, A (M, D, R), W (M, R, N)) → f (M,)``, in f's own unit.
    epsilon : ``settings → ε``, None while it is left open.
    label : ``settings → f in words``.
    likelihood : ``(settings, f) → p(X | AW)`` relative to its largest value, of f's shape.
    softness : ``settings → β``: the likelihood falls from (1 − β)ε on; 0 where it does so at once.
    relative_error : ``(settings, ‖X‖²) → ε`` as a relative error ‖X − AW‖/‖X‖, None where f is
        another thing.
    help : what is seen in a picture of the likelihood over f.
    """

    values: Callable[[Problem, np.ndarray, np.ndarray], np.ndarray]
    epsilon: Callable[[Any], float | None]
    label: Callable[[Any], str]
    likelihood: Callable[[Any, np.ndarray], np.ndarray]
    softness: Callable[[Any], float]
    relative_error: Callable[[Any, float], float | None]
    help: str


def threshold_sentence(values: np.ndarray, epsilon: float) -> str:
    """How many of the objective values (M,) meet ε, and the smallest ε that something meets."""
    values = np.asarray(values, dtype=np.float64)
    met, best = int((values <= epsilon).sum()), float(values.min())
    if met:
        return f"{met} of {values.size} factorizations meet the threshold ε = {epsilon:.4g}."
    return (
        f"None of the {values.size} factorizations meets the threshold ε = {epsilon:.4g}; the "
        f"smallest ε that one of them meets is {rounded_up(best):.4g}."
    )


def rounded_up(value: float, room: float = 0.0) -> float:
    """A value > 0 and a part of it more, rounded up to four digits: what is shown suffices."""
    digits = 3 - int(np.floor(np.log10(value)))
    return float(np.ceil((1 + room) * value * 10.0**digits) / 10.0**digits)
