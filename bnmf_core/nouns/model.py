"""What a probability model is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Model:
    """A probability model of X given (A, W), batched over particles.

    Attributes
    ----------
    resolve : ``(dataset, rank, settings) → Settings`` with every "from the data" value set.
    log_joint : ``(problem, A (M, D, R), W (M, R, N)) → (M,)`` full normalised log joint, nats;
        takes ‖X − AW‖² of each particle, (M,), as a fourth argument where it is known.
    log_likelihood : the same arguments, the likelihood in the papers' form (no constant).
    score : ``(problem, A, W)`` → gradients of the log joint, (M, D, R) and (M, R, N), in A and
        W as they stand: a constraint on the columns of A is not taken into account.
    log_joint_and_score : ``(problem, A, W)`` → log joint (M,) and both gradients from the same
        products; with X in expanded form, so the log joint is exact to 1e-15·‖X‖²/σ² only.
    support : where A and W live: "positive" (every entry ≥ 0) or "simplex" (every column of A
        sums to 1, entries of W ≥ 0).
    prior : ``(problem, rng) → A (D, R), W (R, N)``, a draw from the prior.
    scale : ``(A (M, D, R), W (M, R, N)) → (A, W)`` with the same products AW, at the scale of
        the components that the prior favours or demands.
    score_along : ``(problem, A, W, moved_A, moved_W)`` → derivative of the score along a direction,
        of the same shapes; None where it is not known in closed form.
    curvature : ``(problem, A, W)`` → trace of the log joint's second derivatives (M,) and its
        gradients in A and W; None where it is not known in closed form.
    offending : ``(problem, A, W, suspects) → (M,)`` a row of X for which the likelihood is zero, −1
        where there is none; ``suspects`` are rows to look at first. None: it is nowhere zero.
    """

    key: str
    label: str
    Settings: type
    resolve: Callable[..., Any]
    log_joint: Callable[..., np.ndarray]
    log_likelihood: Callable[..., np.ndarray]
    score: Callable[..., tuple[np.ndarray, np.ndarray]]
    log_joint_and_score: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    support: str
    prior: Callable[..., tuple[np.ndarray, np.ndarray]]
    scale: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    summary: str
    reference: str
    score_along: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None
    curvature: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
    offending: Callable[..., np.ndarray] | None = None
