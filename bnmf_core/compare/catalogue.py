"""Components beside a catalogue: the cosine similarity of each to each entry, mode by mode."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import listed

# Number of components that a sentence lists.
MOST_LISTED = 3


def as_cosine(value: float) -> str:
    """A cosine similarity in a sentence."""
    return f"{value:.2f}"


def as_angle(value: float) -> str:
    """A cosine similarity as the spectral angle of Kruse and others (1993).

    >>> as_angle(0.5)
    '60.0°'
    """
    return f"{np.rad2deg(np.arccos(np.clip(value, -1.0, 1.0))):.1f}°"


def cosines(A: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Cosine similarities (…, R, C) of bases A (…, D, R) and entries (D, C); 0 of an empty one.

    Rows of both are the same features in the same order, as
    :func:`bnmf_core.data.catalogue.match_catalogue` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.catalogue import cosines
    >>> cosines(np.array([[3.0, 0.0], [4.0, 2.0]]), np.array([[1.0], [0.0]]))
    array([[0.6],
           [0. ]])
    """
    if A.shape[-2] != len(values):
        raise DataError(f"The bases have {A.shape[-2]} features, the catalogue {len(values)}.")
    return np.swapaxes(_unit(np.asarray(A, dtype=np.float64)), -1, -2) @ _unit(values)


def _unit(columns: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(columns, axis=-2, keepdims=True)
    return np.divide(columns, length, out=np.zeros_like(columns, dtype=float), where=length > 0)


def nearest_entries(
    found: np.ndarray, entries: Sequence[str], modes: Sequence[str]
) -> pd.DataFrame:
    """A row for each component and each entry that is nearest to it in any of K modes.

    Parameters
    ----------
    found : (K, R, C) of :func:`cosines`, of aligned bases. entries : C names. modes : K names.

    Returns
    -------
    ``component`` (from 0), ``entry``, and the cosine similarity in each mode; the nearest entry in
    the first mode comes first.
    """
    rows = []
    for r in range(found.shape[1]):
        nearest = found[:, r].argmax(axis=1)
        for c in dict.fromkeys(nearest.tolist()):
            similarities = zip(modes, found[:, r, c].tolist(), strict=True)
            rows.append({"component": r, "entry": entries[c], **dict(similarities)})
    return pd.DataFrame(rows, columns=["component", "entry", *modes])


def describe_entry(
    row: Sequence[float],
    entry: str,
    modes: Sequence[str],
    shown: Callable[[float], str] = as_cosine,
) -> str:
    """One entry, mode by mode.

    >>> describe_entry([0.708, 0.568], "SBS4", ["mode 1", "mode 2"])
    'SBS4: 0.71 in mode 1, 0.57 in mode 2'
    """
    texts = (f"{shown(value)} in {mode}" for value, mode in zip(row, modes, strict=True))
    return f"{entry}: {', '.join(texts)}"


def describe_nearest(
    found: np.ndarray,
    entries: Sequence[str],
    modes: Sequence[str],
    called: Sequence[str],
    shown: Callable[[float], str] = as_cosine,
) -> str:
    """Whether the nearest entry of a component depends on the mode, in a sentence.

    found : (K, R, C) cosine similarities. called : R names of components. shown : formats one
    of them, as a cosine or as an angle.
    """
    nearest, best = found.argmax(axis=2), found.max(axis=2)
    differing = np.flatnonzero((nearest != nearest[0]).any(axis=0))
    if len(modes) == 1:
        texts = [
            f"{called[r]}: {entries[c]} ({shown(best[0, r])})" for r, c in enumerate(nearest[0])
        ]
        return f"Nearest entries by component: {listed(texts)}."
    if not differing.size:
        what = "cosine similarities" if shown is as_cosine else "spectral angles"
        ends = " to ".join(map(shown, sorted((best.min(), best.max()), reverse=shown is as_angle)))
        return (
            f"The nearest entry of each component is the same in all {len(modes)} modes; {what} "
            f"are {ends}."
        )
    # Those first whose nearest entry in one mode is farthest from them in another.
    apart = [np.ptp(found[:, r, :][:, nearest[:, r]], axis=0).max() for r in differing]
    order = differing[np.argsort(-np.array(apart), kind="stable")]
    texts = []
    for r in order[:MOST_LISTED]:
        second = int(np.flatnonzero(nearest[:, r] != nearest[0, r])[0])
        each = (
            f"{entries[nearest[k, r]]} ({shown(best[k, r])}) in {modes[k]}" for k in (0, second)
        )
        texts.append(f"component {called[r]} is nearest to {' and '.join(each)}")
    share = f"{differing.size} of {found.shape[1]} components"
    return f"The nearest entry depends on the mode for {share}: {'; '.join(texts)}."
