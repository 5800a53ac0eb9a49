"""Tables of yes and no, and their products: a cell is on where at least one tile covers it."""

import numpy as np


def only_yes_and_no(values: np.ndarray) -> bool:
    """Whether every entry is 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def boolean_product(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Where some component r has both A_dr and W_rn on: A (…, D, R), W (…, R, N) → (…, D, N) bool.

    Every entry other than 0 is on.
    """
    # Sums of ones in single precision are exact up to 2²⁴ tiles.
    on: np.ndarray = (A != 0).astype(np.float32) @ (W != 0).astype(np.float32) > 0.5
    return on
