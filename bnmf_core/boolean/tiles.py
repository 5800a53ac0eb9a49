"""Tiles: their order in a table, and how easily noise makes one."""

import numpy as np
from scipy.special import gammaln, rel_entr

from bnmf_core.compare.alignment import largest_first
from bnmf_core.core.errors import SettingsError
from bnmf_core.lazy import lazy


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
    >>> from bnmf_core.boolean.tiles import tile_order
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


stats = lazy("scipy.stats")


def log10_noise_chance(
    rows: np.ndarray,
    columns: np.ndarray,
    ones: np.ndarray,
    cells: np.ndarray,
    shape: tuple[int, int],
    density: float,
) -> np.ndarray:
    """log₁₀ of the bound for every tile (R,), 0 where it says nothing.

    Parameters
    ----------
    rows, columns : (R,) how many a tile has. ones, cells : (R,) how many of its cells are on, and
        were seen. shape : D and N of the table. density : p, between 0 and 1.

    Raises
    ------
    SettingsError
        When the density is no probability.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.boolean.tiles import log10_noise_chance
    >>> block = np.array([8]), np.array([8]), np.array([62]), np.array([64])
    >>> log10_noise_chance(*block, (100, 100), density=0.02).round()
    array([-80.])
    """
    if not 0.0 <= density <= 1.0:
        raise SettingsError(f"The density of ones was {density!r}; 0 to 1 is allowed.")
    D, N = shape
    blocks = _log_choices(D, rows) + _log_choices(N, columns)
    ones, cells = np.asarray(ones, dtype=np.float64), np.asarray(cells, dtype=np.float64)
    enough = stats.binom.logsf(ones - 1, cells, density)
    # Where that is too small for a number, its bound by Chernoff, exp(−n·KL(k/n ‖ p)).
    share = np.divide(ones, cells, out=np.zeros_like(ones), where=cells > 0)
    found: np.ndarray = rel_entr(share, density) + rel_entr(1.0 - share, 1.0 - density)
    enough = np.where(np.isneginf(enough), -cells * found, enough)
    bound: np.ndarray = np.minimum(blocks + enough, 0.0) / np.log(10.0)
    return bound


def _log_choices(of: int, chosen: np.ndarray) -> np.ndarray:
    chosen = np.asarray(chosen, dtype=np.float64)
    found: np.ndarray = gammaln(of + 1) - gammaln(chosen + 1) - gammaln(of - chosen + 1)
    return found
