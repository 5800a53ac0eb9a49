"""Where Stein's method sends interacting particles, from matrices of inner products.

The kernel is that of the discrepancy (paper 3, eq. 7): with B blocks of coordinates,

    k(x, y) = (1/B) Σ_b κ_b,    κ_b = (1 + ‖x_b − y_b‖²/c_b²)^β.

With δ = x_b − y_b: ∇_x κ = κ' δ = −∇_y κ, ∇_x κ' = κ'' δ and ∇_x κ'' = κ''' δ, where
κ' = 2β/c² (1 + v)^(β−1), κ'' = 4β(β−1)/c⁴ (1 + v)^(β−2),
κ''' = 8β(β−1)(β−2)/c⁶ (1 + v)^(β−3) and v = ‖δ‖²/c².
"""

from collections.abc import Sequence

import numpy as np

Arrays = Sequence[np.ndarray]
# Of A and of W, as they are (paper 3, §6.1).
PUBLISHED_LENGTHS = (0.01, 1000.0)


def direction(
    positions: Arrays, scores: Arrays, lengths: Sequence[float] | np.ndarray, exponent: float
) -> list[np.ndarray]:
    """Stein variational gradient (Liu & Wang 2016, eq. 8): one (M, n_b) for each block.

    φ(x_i) = (1/M) Σ_j k(x_j, x_i) s_j + ∇_{x_j} k(x_j, x_i): the kernel's mean of the slopes
    drives particles together up to where the density is high, the kernel's own slope drives
    them apart.

    Parameters
    ----------
    positions, scores : for each block (M, n_b), coordinates and slopes of the log density.
    lengths : c of each block. exponent : β, between −1 and 0.
    """
    M, B = positions[0].shape[0], len(positions)
    bases = _bases(positions, lengths)
    kernel = sum(base**exponent for base in bases) / B
    found = []
    for x, s, base, length in zip(positions, scores, bases, lengths, strict=True):
        pull = (2.0 * exponent / (B * length**2)) * base ** (exponent - 1.0)
        found.append((kernel @ s + _weighted_differences(-pull, x)) / M)
    return found


def discrepancy_gradient(
    positions: Arrays,
    scores: Arrays,
    curved: Arrays,
    dimensions: Sequence[int],
    lengths: Sequence[float] | np.ndarray,
    exponent: float,
) -> list[np.ndarray]:
    """Gradient of S = (1/M²) Σ_ij K_p(x_i, x_j) (paper 3, eqs. 3 and 4): (M, n_b) a block.

    K_p is symmetric, so ∂S/∂x_i = (2/M²) Σ_j ∇_1 K_p(x_i, x_j). The slopes' own derivative enters
    as H_i Σ_j (k s_j + ∇_{x_j} k) = M H_i φ(x_i), one product with the Hessian for each
    particle. What is left is, with σ_ij = s_i·s_j over all blocks,

        (1/B) Σ_j κ' (s_j − s_i) + (σ_ij κ' + κ'' (δ·(s_j − s_i) − dim − 2) − κ''' ‖δ‖²) δ.

    Parameters
    ----------
    positions, scores, lengths, exponent : as in :func:`direction`.
    curved : (M, n_b) the Hessian of the log density at x_i times φ(x_i).
    dimensions : of the space that each block moves in, at most n_b.
    """
    M, B, b = positions[0].shape[0], len(positions), exponent
    products = sum(s @ s.T for s in scores)
    found = []
    for x, s, h, dimension, length, base in zip(
        positions, scores, curved, dimensions, lengths, _bases(positions, lengths), strict=True
    ):
        first = (2 * b / length**2) * base ** (b - 1)
        second = (4 * b * (b - 1) / length**4) * base ** (b - 2)
        third = (8 * b * (b - 1) * (b - 2) / length**6) * base ** (b - 3)
        mixed = s @ (x - x.mean(axis=0)).T
        own = np.diagonal(mixed)
        across = mixed + mixed.T - own[:, None] - own
        squared = (base - 1.0) * length**2
        factor = products * first + second * (across - dimension - 2) - third * squared
        rest = _weighted_differences(factor, x) - _weighted_differences(first, s)
        found.append((2.0 / M) * h + (2.0 / (B * M**2)) * rest)
    return found


def median_lengths(positions: Arrays) -> np.ndarray:
    """Median distance between the particles that differ, for each block; 1 where none do."""
    lengths = []
    for x in positions:
        apart = squared_distances(x)[np.triu_indices(x.shape[0], 1)]
        apart = apart[apart > 0]
        lengths.append(float(np.sqrt(np.median(apart))) if apart.size else 1.0)
    return np.array(lengths)


def squared_distances(x: np.ndarray) -> np.ndarray:
    """‖x_i − x_j‖² of all pairs of rows of x (M, n): (M, M), zero on the diagonal."""
    x = x - x.mean(axis=0)
    products = x @ x.T
    norms = np.diagonal(products)
    squared = np.maximum(norms[:, None] + norms - 2.0 * products, 0.0)
    np.fill_diagonal(squared, 0.0)
    return squared


def _bases(positions: Arrays, lengths: Sequence[float] | np.ndarray) -> list[np.ndarray]:
    pairs = zip(positions, lengths, strict=True)
    return [1.0 + squared_distances(x) / length**2 for x, length in pairs]


def _weighted_differences(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Σ_j w_ij (x_i − x_j) for each row of x (M, n)."""
    centred = x - x.mean(axis=0)
    return weights.sum(axis=1)[:, None] * centred - weights @ centred
