"""Changes of basis of an SVD, and how to move among them (paper 2, §3.2).

If X ≈ A_svd W_svd, every invertible Q gives A = ⌊A_svd Q⌋, W = ⌊Q⁻¹ W_svd⌋, negative entries set to
0. Scale is taken out by columns of length 1: Q lies on the oblique manifold, a product of spheres.
"""

import numpy as np
from numba import njit

# Inverses with larger entries would scale rounding up to the size of the data.
LARGEST_INVERSE = 1e8


def retracted(Q: np.ndarray) -> np.ndarray:
    """Columns of length 1 (…, R, R): from the tangent space back onto the manifold."""
    return Q / np.linalg.norm(Q, axis=-2, keepdims=True)


def uniform_point(rank: int, rng: np.random.Generator) -> np.ndarray:
    """Every column uniform on its sphere: (R, R)."""
    return retracted(rng.standard_normal((rank, rank)))


def changes_of_basis(A_svd: np.ndarray, A: np.ndarray) -> np.ndarray:
    """argmin_Q ‖A_m − A_svd Q‖ with columns of length 1: (M, R, R) for A (M, D, R)."""
    squares = np.square(A_svd).sum(axis=0)  # A_svd has orthogonal columns
    Q = A_svd.T @ A / np.where(squares > 0, squares, 1.0)[:, None]
    return retracted(np.where(np.abs(Q).sum(axis=1, keepdims=True) > 0, Q, 1.0))


def factors(
    Q: np.ndarray, A_svd: np.ndarray, W_svd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A = ⌊A_svd Q⌋ (M, D, R), W = ⌊Q⁻¹ W_svd⌋ (M, R, N), and whether Q is invertible (M,)."""
    A = np.maximum(A_svd @ Q, 0.0)
    # How small a determinant is says little where R is large, only 0 is sure.
    invertible = np.linalg.slogdet(Q)[0] != 0
    inverse = np.linalg.inv(np.where(invertible[:, None, None], Q, np.eye(Q.shape[1])))
    invertible &= np.abs(inverse).max(axis=(1, 2)) < LARGEST_INVERSE
    return A, np.maximum(inverse @ W_svd, 0.0), invertible


def nearest(Q: np.ndarray, target: np.ndarray) -> int:
    """Which of the nodes Q (K, R, R) lies nearest to the target (R, R), in Frobenius norm."""
    # Columns have length 1, so the nearest has the largest inner product.
    return int(np.argmax(np.einsum("krs,rs->k", Q, target)))


def angles_between(directions: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Degrees from each column of one basis to its nearest in each other basis, at most: (K,).

    ``directions`` (D, R) and ``others`` (K, D, R) have columns of length 1 (or of 0: 90° away).
    Where the nearest columns differ for all components, as they do when angles are small, this is
    the maximum angle under the best matching; it is never more than that.
    """
    cosines = np.tensordot(others, directions, axes=(1, 0))
    nearest_column = np.clip(cosines, -1.0, 1.0).max(axis=1)
    return np.degrees(np.arccos(nearest_column.min(axis=1)))


def unit_columns(A: np.ndarray) -> np.ndarray:
    """A (…, D, R) with columns of length 1; an empty column stays empty."""
    lengths = np.linalg.norm(A, axis=-2, keepdims=True)
    return A / np.where(lengths > 0, lengths, 1.0)


@njit(cache=True, nogil=True)
def path(Q: np.ndarray, target: np.ndarray, step: float, growth: float, most: int) -> np.ndarray:
    """Points from Q towards the target (R, R), each a step further: (k ≤ most, R, R).

    A step goes along the tangent towards the target and is retracted; steps grow by a part
    ``growth`` each. The path ends at the target, or where no tangent leads nearer. No step is
    longer than the tangent, so that no column is carried past its target while others are far.
    """
    R = Q.shape[0]
    points = np.empty((most, R, R))
    here = Q.copy()
    count = 0
    while count < most:
        along = target - here
        for r in range(R):
            inner = 0.0
            for i in range(R):
                inner += here[i, r] * along[i, r]
            for i in range(R):
                along[i, r] -= inner * here[i, r]
        length = np.sqrt((along**2).sum())
        if length < 1e-12:
            break
        arrives = step >= np.sqrt(((target - here) ** 2).sum())
        here = target.copy() if arrives else here + along * min(1.0, step / length)
        for r in range(R):
            norm = np.sqrt((here[:, r] ** 2).sum())
            for i in range(R):
                here[i, r] /= norm
        points[count] = here
        count += 1
        step *= 1.0 + growth
        if arrives:
            break
    return points[:count]
