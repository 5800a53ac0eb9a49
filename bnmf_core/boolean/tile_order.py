"""An order of rows and columns in which tiles lie together."""

import numpy as np

from bnmf_core.compare.alignment import largest_first


def tile_order(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orders of the rows (D,) and columns (N,) of a table in which each tile is near to one block.

    A row, or column, goes with the tile that it is in for most; those in no tile come last. Tiles
    with most cells come first, and rows of a tile that share its other tiles lie together.

    Parameters
    ----------
    A : (D, R) and W : (R, N), bool, which rows and columns each tile has.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.boolean.tile_order import tile_order
    >>> A = np.array([[0, 1], [1, 0], [0, 1], [0, 0]], dtype=bool)
    >>> rows, columns = tile_order(A, np.array([[1, 0], [0, 1]], dtype=bool))
    >>> rows.tolist(), columns.tolist()
    ([0, 2, 1, 3], [1, 0])
    """
    largest = largest_first(A, W)
    return _together(A[:, largest]), _together(W.T[:, largest])


def _together(on: np.ndarray) -> np.ndarray:
    """Rows by their first tile, those in more tiles first, as the digits of a number."""
    # lexsort sorts by its last key first.
    return np.lexsort([~column for column in on.T[::-1]])
