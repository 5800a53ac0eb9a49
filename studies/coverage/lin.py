"""Lin's projected gradient NMF as published (Lin 2007, §5), for the calibration.

Projected gradient steps solve each factor in turn to its own tolerance; the
engine's solver takes five such steps. From unscaled starts a first factor that is solved to the
end may lose whole components, which the other factor never recovers.
"""

import numpy as np
from numba import njit

# Line search: tried sizes, their ratio, and the sufficient decrease.
TRIALS, FACTOR, DECREASE = 20, 0.1, 0.01
# Most steps for one factor, and most rounds.
STEPS, ROUNDS = 1000, 500


@njit(cache=True)
def factorize(
    X: np.ndarray, A: np.ndarray, W: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """X (D, N) ≈ A (D, R) W (R, N) from this start, to this fraction of the initial slope."""
    by_A, by_W = A @ (W @ W.T) - X @ W.T, (A.T @ A) @ W - A.T @ X
    first = np.sqrt((by_A**2).sum() + (by_W**2).sum())
    least_A = least_W = max(0.001, tolerance) * first
    transposed = np.ascontiguousarray(X.T)
    for _ in range(ROUNDS):
        slope = _projected(by_A, A) + _projected(by_W, W)
        if np.sqrt(slope) < tolerance * first:
            break
        flipped = np.ascontiguousarray(W.T), np.ascontiguousarray(A.T)
        turned, by_turned, steps = _solved(transposed, flipped[0], flipped[1], least_A)
        A, by_A = np.ascontiguousarray(turned.T), np.ascontiguousarray(by_turned.T)
        if steps == 1:
            least_A *= FACTOR
        W, by_W, steps = _solved(X, A, W, least_W)
        if steps == 1:
            least_W *= FACTOR
    return A, W


@njit(cache=True)
def _projected(gradient: np.ndarray, F: np.ndarray) -> float:
    total = 0.0
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            if gradient[i, j] < 0 or F[i, j] > 0:
                total += gradient[i, j] ** 2
    return total


@njit(cache=True)
def _solved(
    X: np.ndarray, A: np.ndarray, W: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """W ≥ 0 with a projected gradient below ``least``, its gradient, and the steps it took."""
    linear, gram, size, count = A.T @ X, A.T @ A, 1.0, 0
    gradient = gram @ W - linear
    for step in range(1, STEPS + 1):
        count, gradient = step, gram @ W - linear
        if np.sqrt(_projected(gradient, W)) < least:
            break
        before, shrinking = W, False
        for trial in range(TRIALS):
            moved = np.maximum(W - size * gradient, 0.0)
            by = moved - W
            gained = (1.0 - DECREASE) * (gradient * by).sum() + 0.5 * ((gram @ by) * by).sum()
            enough = gained < 0
            if trial == 0:
                shrinking, before = not enough, W
            if shrinking and enough:
                W = moved
                break
            if not shrinking and (not enough or np.all(before == moved)):
                W = before
                break
            before = moved
            size = size * FACTOR if shrinking else size / FACTOR
    return W, gradient, count
