"""Split observations into training and held-out ones."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.plain import is_number
from bnmf_core.lazy import lazy

model_selection = lazy("sklearn.model_selection")

LARGEST_FRACTION = 0.5
# All runs of a dataset hold out the same observations, independent of their seeds.
SPLIT_SEED = 0


def holdout_columns(
    N: int, fraction: float, seed: int, labels: Sequence[object] | np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split N observations into training and held-out ones, at random.

    Parameters
    ----------
    N : number of observations.
    fraction : part to hold out, 0 to 0.5; rounded to whole observations, at least one
        when it is above 0.
    seed : the same seed gives the same split.
    labels : (N,) classes. Each class is held out in proportion where its size allows it;
        classes of one observation are treated as one class.

    Returns
    -------
    train_index, held_out_index : sorted integer arrays that share no element and together
        hold 0 … N−1.

    Raises
    ------
    SettingsError
        If the fraction is out of range, the labels do not fit or fewer than 2 observations
        would be left for training.
    """
    if not (is_number(fraction) and 0.0 <= fraction <= LARGEST_FRACTION):
        raise SettingsError(
            f"The held-out fraction was {fraction!r}; 0 to {LARGEST_FRACTION:g} is allowed."
        )
    if seed < 0:
        raise SettingsError(f"The seed was {seed!r}; a whole number of 0 or more is needed.")
    if labels is not None and len(labels) != N:
        raise SettingsError(f"{len(labels)} labels were given for {N} observations.")
    held_out = 0 if fraction == 0.0 else max(1, round(fraction * N))
    if N - held_out < 2:
        raise SettingsError(
            f"Holding out {held_out} of {N} observations leaves {N - held_out} for training; at "
            "least 2 are needed, so hold out less."
        )
    if held_out == 0:
        return np.arange(N), np.arange(0)
    # scikit-learn takes seeds of 32 bits only.
    seed = int(np.random.default_rng(seed).integers(2**32))
    train_index, held_out_index = model_selection.train_test_split(
        np.arange(N), test_size=held_out, random_state=seed, stratify=_strata(labels, held_out)
    )
    return np.sort(train_index), np.sort(held_out_index)


def _strata(labels: Sequence[object] | np.ndarray | None, held_out: int) -> np.ndarray | None:
    """Classes (N,) as numbers, each of two observations or more; None if that is impossible."""
    if labels is None:
        return None
    classes = [str(label) for label in labels]
    sizes = Counter(classes)
    common = sorted(name for name, size in sizes.items() if size > 1)
    if not common:
        return None
    number = {name: i for i, name in enumerate(common)}
    alone = len(classes) - sum(sizes[name] for name in common)
    # Single-member classes form one class; if there is only one, it joins the first class.
    rest = 0 if alone == 1 else len(common)
    strata = np.array([number.get(name, rest) for name in classes])
    # Each side must be able to hold every class.
    return strata if len(np.unique(strata)) <= min(held_out, len(strata) - held_out) else None


def split(dataset: Dataset, holdout: float) -> tuple[np.ndarray, np.ndarray]:
    """Training and held-out observations, identical for all runs of a dataset."""
    return holdout_columns(dataset.N, holdout, SPLIT_SEED)
