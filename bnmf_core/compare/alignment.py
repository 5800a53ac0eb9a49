"""Putting the components of many factorizations into one common order.

NMF leaves the order of the components open. Each factorization is matched with a reference
at the smallest sum of angles between columns of A (paper 3, footnote 9).
"""

import dataclasses

import numpy as np
import pandas as pd

from bnmf_core.compare.distances.assignment import assign
from bnmf_core.compare.distances.costs import angles, paired_angles
from bnmf_core.compare.distances.scaling import unit_l2_columns
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.particles import Particles

# Unit columns are float64 copies: this many entries (64 MB) at a time.
ENTRIES_AT_ONCE = 8_000_000

# Degrees between matched components beyond which they are not the same: a cosine under ½.
NO_COUNTERPART = 60.0


def matching(A: np.ndarray, reference_A: np.ndarray) -> np.ndarray:
    """Which column of each basis belongs to each column of the reference.

    Parameters
    ----------
    A : (M, D, R). reference_A : (D, R).

    Returns
    -------
    permutation : (M, R) int64; ``A[m][:, permutation[m, r]]`` is matched with
        ``reference_A[:, r]``. The sum of the matched angles is the smallest possible.

    Raises
    ------
    DataError
        When the shapes do not fit or an entry is not finite.
    """
    A = _checked_bases(A, reference_A)
    reference = unit_l2_columns(np.asarray(reference_A)[None])
    permutation = np.empty((A.shape[0], A.shape[2]), np.int64)
    for block in _blocks(A):
        columns = unit_l2_columns(A[block])
        if not (np.isfinite(columns).all() and np.isfinite(reference).all()):
            raise DataError("A factorization holds an entry that is not a finite number.")
        permutation[block] = assign(angles(reference, columns)[0])
    return permutation


def largest_first(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The order (R,) of components by how much of X each explains: A (D, R), W (R, N).

    Where a component has a number, on all pages, it is its place in this order, of the
    factorization that is shown first.
    """
    return np.argsort(-A.sum(axis=0) * W.sum(axis=1), kind="stable")


def align(particles: Particles, reference: int | np.ndarray = 0) -> Particles:
    """Particles with the components of every factorization in the order of a reference.

    Parameters
    ----------
    reference : position of a particle (0 to M − 1), or a basis (D, R).

    Returns
    -------
    New Particles: columns of A and rows of W are reordered alike, everything else is unchanged.

    Raises
    ------
    SettingsError
        When there is no particle at that position.
    DataError
        When the reference basis has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import RunSpec, align, laurberg, run
    >>> particles = run(laurberg("unique"), RunSpec("q_transform", rank=3, particles=2))
    >>> aligned = align(particles, reference=0)
    >>> bool(np.array_equal(aligned.A[0], particles.A[0]))
    True
    """
    if np.ndim(reference) == 0:
        if not 0 <= reference < particles.M:
            raise SettingsError(
                f"There is no factorization at position {reference}; the positions are 0 to "
                f"{particles.M - 1}."
            )
        reference = particles.A[int(reference)]
    permutation = matching(particles.A, np.asarray(reference))
    return dataclasses.replace(
        particles,
        A=np.take_along_axis(particles.A, permutation[:, None, :], axis=2),
        W=np.take_along_axis(particles.W, permutation[:, :, None], axis=1),
    )


def without_counterpart(A_aligned: np.ndarray) -> np.ndarray:
    """Which components of K aligned factorizations have no partner in the first: (K, R) bool.

    Matching gives every component a partner, however unlike; one farther than
    ``NO_COUNTERPART`` degrees away shares less than half of its direction with it.
    """
    return component_angles(A_aligned, A_aligned[0]) > NO_COUNTERPART


def component_angles(
    A: np.ndarray, reference_A: np.ndarray, permutation: np.ndarray | None = None
) -> np.ndarray:
    """Angle in degrees between each component and the reference's: (M, R).

    Parameters
    ----------
    A : (M, D, R). reference_A : (D, R).
    permutation : (M, R) as :func:`matching` gives it; None when A is in the reference's order.
    """
    A = _checked_bases(A, reference_A)
    reference = unit_l2_columns(np.asarray(reference_A)[None])
    result = np.empty((A.shape[0], A.shape[2]))
    for block in _blocks(A):
        columns = unit_l2_columns(A[block])
        if permutation is not None:
            columns = np.take_along_axis(columns, permutation[block][:, :, None], axis=1)
        result[block] = paired_angles(columns, np.repeat(reference, columns.shape[0], axis=0))
    return result


def component_stability(
    A: np.ndarray,
    reference_A: np.ndarray,
    permutation: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """How much each component of a reference varies over a set of factorizations.

    Every component is compared with its partner, in whatever order the factorizations have them.

    Parameters
    ----------
    A : (M, D, R) bases. reference_A : (D, R).
    permutation : (M, R) the partners as :func:`matching` gives them, to save its time; None: they
        are matched here.
    weights : (M,) of each factorization, not all 0; all alike when left out.

    Returns
    -------
    A row per component: ``component`` (0-based), ``mean_angle`` (weighted) and ``max_angle``
    to the reference, in degrees. A small angle is a component on which the set agrees.

    Raises
    ------
    DataError
        When the shapes do not fit or an entry is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import component_stability
    >>> A = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [1.0, 0.0]]])
    >>> component_stability(A, A[0])["max_angle"].tolist()
    [0.0, 0.0]
    """
    if permutation is None:
        permutation = matching(A, reference_A)
    turned = component_angles(A, reference_A, permutation)
    return pd.DataFrame(
        {
            "component": np.arange(turned.shape[1]),
            "mean_angle": np.average(turned, axis=0, weights=weights),
            "max_angle": turned.max(axis=0),
        }
    )


def _checked_bases(A: np.ndarray, reference_A: np.ndarray) -> np.ndarray:
    A = np.asarray(A)
    if A.ndim != 3 or A.shape[1:] != np.shape(reference_A):
        raise DataError(
            f"The bases are {A.shape} and the reference is {np.shape(reference_A)}; bases "
            "(M, D, R) need a reference (D, R)."
        )
    return A


def _blocks(A: np.ndarray) -> list[slice]:
    M, D, R = A.shape
    size = max(1, ENTRIES_AT_ONCE // (D * R))
    return [slice(start, min(start + size, M)) for start in range(0, M, size)]
