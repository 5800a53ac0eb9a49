"""Samples and features of a factorization in one plane (a biplot), by their shares of components.

The shares of a sample sum to 1, so samples lie in a simplex whose corners are the components.
Features do too: the share of component r in feature d is what it adds to row d of AW. The plane is
that of the first two principal components of the shares of samples. Of three components it is the
simplex itself, of two a line.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.compare.samples import sample_amounts, sample_shares
from bnmf_core.core.errors import DataError
from bnmf_core.lazy import lazy

linalg = lazy("scipy.linalg")


@dataclass(frozen=True, eq=False)
class Biplot:
    """Places in one plane, and how much of the shares it shows.

    Attributes
    ----------
    corners : (R, 2), where a component has everything. samples : (N, 2). features : (D, 2); NaN
        where AW holds nothing.
    shown, shown_of_features : the part of the variation of shares around the mean sample that lies
        in the plane; 1 where nothing varies.
    strongest : (R, n) features that each component makes most of, with much of them to itself.
    """

    corners: np.ndarray
    samples: np.ndarray
    features: np.ndarray
    shown: float
    shown_of_features: float
    strongest: np.ndarray


def biplot(A: np.ndarray, W: np.ndarray, most: int = 3) -> Biplot:
    """Samples and features by their shares of components, in the plane that shows samples best.

    Parameters
    ----------
    A : (D, R), W : (R, N), with R ≥ 2. most : strongest features of each component.

    Raises
    ------
    DataError
        For fewer than two components.

    Source: Gabriel 1971.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.biplot import biplot
    >>> found = biplot(np.eye(3), np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.3], [0.0, 0.0, 0.5]]))
    >>> bool(np.allclose(found.samples[2], [0.2, 0.3, 0.5] @ found.corners)), found.shown
    (True, 1.0)
    """
    R = A.shape[1]
    if R < 2:
        raise DataError(f"A biplot needs two components; this factorization has {R}.")
    of_samples, of_features = sample_shares(A, W).T, sample_shares(W.T, A.T).T
    within = linalg.helmert(R).T  # (R, R − 1), lengths and angles in the simplex
    known = of_samples.sum(axis=1) > 0
    mean = of_samples[known].mean(axis=0) if known.any() else np.full(R, 1 / R)
    centred = (of_samples[known] - mean) @ within
    directions = within @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    # The same picture each time: the largest entry of a direction is positive.
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    plane = np.zeros((R, 2))
    plane[:, : directions.shape[1]] = directions * np.sign(largest)
    score = sample_amounts(W.T, A.T) * of_features.T
    return Biplot(
        corners=plane - mean @ plane,
        samples=_placed(of_samples, mean, plane),
        features=_placed(of_features, mean, plane),
        shown=_shown(of_samples, mean, plane),
        shown_of_features=_shown(of_features, mean, plane),
        strongest=np.argsort(-score, axis=1, kind="stable")[:, :most],
    )


def _placed(shares: np.ndarray, mean: np.ndarray, plane: np.ndarray) -> np.ndarray:
    known = shares.sum(axis=1, keepdims=True) > 0
    return np.where(known, (shares - mean) @ plane, np.nan)


def _shown(shares: np.ndarray, mean: np.ndarray, plane: np.ndarray) -> float:
    away = shares[shares.sum(axis=1) > 0] - mean
    every = float((away**2).sum())
    # Rounding is no variation.
    return min(float(((away @ plane) ** 2).sum()) / every, 1.0) if every > 1e-20 else 1.0
