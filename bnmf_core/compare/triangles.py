"""Factorizations of rank 3 as triangles that hold the data (paper 2, figures 1 to 3).

Where X = A W has rank 3, the columns of X and of A, each scaled to sum 1, lie in one plane. X = A W
with W ≥ 0 says that every column of X lies in the triangle of the columns of A, and A ≥ 0 that the
triangle lies in the room of the plane where no entry is negative.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import DataError
from bnmf_core.solvers.nnls import solve_weights

# Values below this fraction of the largest entry are 0.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of three columns that sum to 1, drawn so that they make a triangle of radius 1.

    Attributes
    ----------
    to_vector : (D, 3). The vector at (x, y) is ``to_vector @ (x, y, 1)``; its entries sum to 1.
    """

    to_vector: np.ndarray

    @classmethod
    def of(cls, A: np.ndarray) -> "Plane":
        """The plane of the columns of A (D, 3); (0, 0) is their mean, the first one is at (0, 1).

        Raises
        ------
        DataError
            When A has not three columns that make a triangle.
        """
        A = np.asarray(A, dtype=np.float64)
        if A.ndim != 2 or A.shape[1] != 3 or np.linalg.matrix_rank(A) < 3:
            raise DataError("A triangle has three corners: A needs three independent columns.")
        columns = A / A.sum(axis=0)
        centre = columns.mean(axis=1)
        up = columns[:, 0] - centre
        radius = float(np.linalg.norm(up))
        up = up / radius
        aside = columns[:, 2] - centre
        aside = aside - (aside @ up) * up
        aside /= np.linalg.norm(aside)
        return cls(np.column_stack([radius * aside, radius * up, centre]))

    def vectors(self, points: np.ndarray) -> np.ndarray:
        """The columns (D, k) at points (k, 2)."""
        points = np.asarray(points, dtype=np.float64)
        return self.to_vector[:, :2] @ points.T + self.to_vector[:, 2:]

    def points(self, columns: np.ndarray) -> np.ndarray:
        """Positions (k, 2) of columns (D, k), scaled to sum 1 and projected onto the plane."""
        columns = np.asarray(columns, dtype=np.float64)
        away = columns / columns.sum(axis=0) - self.to_vector[:, 2:]
        return np.linalg.lstsq(self.to_vector[:, :2], away, rcond=None)[0].T

    def room(self) -> np.ndarray:
        """Corners (k, 2) of the part of the plane without a negative entry, in their order."""
        slopes, heights = self.to_vector[:, :2], self.to_vector[:, 2]
        corners = []
        for i in range(len(slopes)):
            for j in range(i):
                pair = slopes[[i, j]]
                if abs(np.linalg.det(pair)) > ROUNDING:
                    corner = np.linalg.solve(pair, -heights[[i, j]])
                    if (slopes @ corner + heights >= -ROUNDING).all():
                        corners.append(corner)
        distinct = np.unique(np.round(corners, 9), axis=0)
        return distinct[np.argsort(np.arctan2(distinct[:, 1], distinct[:, 0]))]

    def radii(self, points: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equilateral triangles around (0, 0): how large they have to be and how large they can be.

        Parameters
        ----------
        points : (k, 2) that they hold. turns : (t,) degrees, anticlockwise, from a corner on top.

        Returns
        -------
        (t,) the least radius of a triangle that holds all points, and (t,) the largest of one that
        stays in the room. A turn fits where the first is no larger than the second.
        """
        corners = equilateral(turns)
        least = (-2.0 * np.asarray(points) @ corners.transpose(0, 2, 1)).max(axis=(1, 2))
        falls = -(corners @ self.to_vector[:, :2].T)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(falls > 0, self.to_vector[:, 2] / falls, np.inf)
        return least, reach.min(axis=(1, 2))


def equilateral(turns: np.ndarray) -> np.ndarray:
    """Corners (t, 3, 2) of triangles of radius 1 around (0, 0), turned by degrees (t,)."""
    angles = np.radians(90.0 + np.asarray(turns, dtype=np.float64)[:, None] + [0.0, 120.0, 240.0])
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def relative_error(X: np.ndarray, A: np.ndarray) -> float:
    """‖X − A W‖/‖X‖ in Frobenius norm, with the best W ≥ 0, for X (D, N) and A (D, R) ≥ 0."""
    (W,) = solve_weights(X, A[None])
    return float(np.linalg.norm(X - A @ W) / np.linalg.norm(X))
