"""Numbers of one factorization that neither the order nor the scale of its components changes.

An entry of A or W has no trace worth looking at: components may change places, and a factor may
pass from A_r to W_r without changing the model. These numbers are the same for (A, W) and
(A P S, S⁻¹ Pᵀ W), so the draws of a chain can be followed by them.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.compare.distances.scaling import component_shares, unit_l2_columns
from bnmf_core.core.loss import MEASURE, Loss
from bnmf_core.core.squared_error import SQUARED_ERROR

# Number of entries processed together: normalised copies of A or W stay below 64 MB.
BLOCK = 2**23


@dataclass(frozen=True)
class Invariant:
    """A number of a factorization that is free of label and scale.

    Attributes
    ----------
    key, label : registry key and name on screen. unit : its unit, "" for a plain number.
    summary : one sentence for the screen.
    """

    key: str
    label: str
    unit: str
    summary: str


# The order is the order on screen.
INVARIANTS: dict[str, Invariant] = {
    invariant.key: invariant
    for invariant in (
        Invariant(
            "total",
            "Total of the reconstruction",
            "",
            "The sum of all entries of AW, in the data's unit.",
        ),
        Invariant(
            "largest_share",
            "Largest share",
            "",
            "The part of the reconstruction's total that its largest component makes, from 1/R "
            "to 1.",
        ),
        Invariant(
            "share_entropy",
            "Entropy of the shares",
            "nats",
            "How evenly the components share the reconstruction: 0 when one makes all of it, "
            "ln R when all make the same.",
        ),
        Invariant(
            "overlap",
            "Overlap of the basis",
            "",
            "The largest cosine between two columns of A: 0 when none share a feature, 1 when two "
            "point the same way.",
        ),
        Invariant(
            "overlap_weights",
            "Overlap of the weights",
            "",
            "The largest cosine between two rows of W: 0 when no observation uses two components.",
        ),
        Invariant(
            "sparseness",
            "Sparseness of the basis",
            "",
            "Hoyer's sparseness of a column of A, averaged over the columns: 0 when all entries "
            "are equal, 1 when a single one is not zero.",
        ),
    )
}

UNEXPLAINED = "the part of X that AW leaves unexplained."
# All invariants.
QUANTITIES: dict[str, Invariant] = {
    known.key: known
    for known in (
        Invariant("log_joint", "Log joint", "nats", "The log density of X, A and W together."),
        Invariant(
            "log_likelihood",
            "Log-likelihood without its constant",
            "nats",
            "How probable X is, given A and W, as the literature prints it.",
        ),
        Invariant(
            "error",
            MEASURE.capitalize(),
            "",
            f"For Gaussian noise the {SQUARED_ERROR.measure} {SQUARED_ERROR.axis}: {UNEXPLAINED}",
        ),
        *INVARIANTS.values(),
    )
}


def quantities(loss: Loss | None) -> dict[str, Invariant]:
    """The invariants with the name of a loss; None: losses differ."""
    if loss is None:
        return QUANTITIES
    means = UNEXPLAINED if loss is SQUARED_ERROR else f"{loss.ends}."
    known = Invariant("error", loss.measure.capitalize(), "", f"{loss.axis}: {means}")
    return QUANTITIES | {"error": known}


def invariants(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    """Every invariant of every factorization.

    Parameters
    ----------
    A : (m, D, R) and W : (m, R, N), entries ≥ 0, possibly read-only memory maps.

    Returns
    -------
    Maps each key of ``INVARIANTS`` to an (m,) float64 array. With one component there is
    nothing to overlap: 0. An empty column has no direction and overlaps with none; where all of
    AW is zero, the shares count as equal.
    """
    m = A.shape[0]
    result = {key: np.empty(m) for key in INVARIANTS}
    size = max(1, BLOCK // max(1, A[:1].size, W[:1].size))
    for first in range(0, m, size):
        chosen = slice(first, first + size)
        for key, values in _of_block(A[chosen], W[chosen]).items():
            result[key][chosen] = values
    return result


def _of_block(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    sums_A = A.sum(axis=1, dtype=np.float64)
    sums_W = W.sum(axis=2, dtype=np.float64)
    shares = component_shares(A, W)
    logarithms = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    columns = unit_l2_columns(A)
    return {
        "total": (sums_A * sums_W).sum(axis=1),
        "largest_share": shares.max(axis=1),
        # abs: a single share of 1 would give −0.
        "share_entropy": np.abs((shares * logarithms).sum(axis=1)),
        "overlap": _largest_cosine(columns),
        "overlap_weights": _largest_cosine(unit_l2_columns(W.transpose(0, 2, 1))),
        "sparseness": _sparseness(columns),
    }


def _largest_cosine(rows: np.ndarray) -> np.ndarray:
    """Largest product of two of the R unit rows (m, R, P) of each: (m,)."""
    R = rows.shape[1]
    if R == 1:
        return np.zeros(rows.shape[0])
    cosines = rows @ rows.transpose(0, 2, 1)
    cosines[:, np.arange(R), np.arange(R)] = 0.0
    return np.minimum(cosines.max(axis=(1, 2)), 1.0)


def _sparseness(columns: np.ndarray) -> np.ndarray:
    """(√D − ‖a‖₁/‖a‖₂)/(√D − 1) of unit rows (m, R, D), averaged (Hoyer 2004, section 3.1)."""
    D = columns.shape[2]
    if D == 1:
        return np.zeros(columns.shape[0])
    sums = columns.sum(axis=2)
    sparseness = np.where(sums > 0, (np.sqrt(D) - sums) / (np.sqrt(D) - 1.0), 0.0)
    return np.clip(sparseness, 0.0, 1.0).mean(axis=1)
