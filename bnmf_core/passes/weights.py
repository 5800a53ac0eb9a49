"""The weights of all observations of data in blocks, made again block by block."""

from collections.abc import Iterator

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.loss import Loss
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.passes.counts import best_weights, nonzero
from bnmf_core.solvers.nnls import solve_weights


def weights_of_all(dataset: Dataset, A: np.ndarray, loss: Loss) -> Iterator[np.ndarray]:
    """The best weights W ≥ 0 of every observation given A (D, R), block after block: (R, n) each.

    Where A has converged these are the weights of its factorization, which no run keeps.

    Raises
    ------
    SettingsError
        When the data are in memory, or the loss is another than the squared error or the
        Kullback–Leibler divergence. DataError: naming the block that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.core.squared_error import SQUARED_ERROR
    >>> from bnmf_core.passes.weights import weights_of_all
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.outer(np.arange(1, 7), [1.0, 2.0]))
    ...     data = Dataset.from_blocks(f"{folder}/X.npy", sample=3)
    ...     A = np.array([[1.0], [2.0]])
    ...     np.concatenate(list(weights_of_all(data, A, SQUARED_ERROR)), axis=1)
    array([[1., 2., 3., 4., 5., 6.]])
    """
    whole = dataset.whole
    if whole is None:
        raise SettingsError(f"{dataset.name!r} is in memory, so its runs keep all weights.")
    if loss not in (SQUARED_ERROR, KULLBACK_LEIBLER):
        raise SettingsError(
            f"Weights are made again for the {SQUARED_ERROR.label} and the "
            f"{KULLBACK_LEIBLER.label}, not for the {loss.label}."
        )
    for i in range(whole.count):
        X = whole.read(i)
        if loss is SQUARED_ERROR:
            yield solve_weights(X, A[None])[0]
        else:
            floor = KULLBACK_LEIBLER.floor(dataset)
            yield best_weights(nonzero(X), A, floor)[0].T
