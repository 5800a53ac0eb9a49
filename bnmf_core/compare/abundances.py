"""Weights as abundances: components scaled so that the weights of an observation sum to about 1."""

import numpy as np

from bnmf_core.core.errors import DataError
from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")

# A component whose largest weight is below this is none.
NOTHING = 1e-9


def sum_to_one(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rescale A (D, R), W (R, N) so that weights sum to 1 as nearly as possible.

    Each component has one scale s_r ≥ 0, the one of least squares of Σ_r s_r w_rn − 1 over the
    observations; A_r is divided by it. How far sums are from 1 says whether the data are mixtures
    of whole parts at all.

    Raises
    ------
    DataError
        When some component has to vanish for it: then its weights are no shares of a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.abundances import sum_to_one
    >>> A, W = sum_to_one(np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 5.0]]))
    >>> W, A
    (array([[1., 0.],
           [0., 1.]]), array([[4., 0.],
           [0., 5.]]))
    """
    scale, _ = optimize.nnls(W.T.astype(np.float64), np.ones(W.shape[1]))
    vanished = scale * W.max(axis=1) <= NOTHING
    if vanished.any():
        lost = ", ".join(str(r + 1) for r in np.flatnonzero(vanished))
        raise DataError(
            f"The weights cannot be scaled to sum to 1: component {lost} would have no weight at "
            "all. Look at the weights as they are."
        )
    return A / scale, W * scale[:, None]
