"""Binary matrices that are made of known tiles (Hess, Morik & Piatkowski 2017).

Algorithm 3.3 of paper 4 with its slips put right: the product is Boolean, and the number of pattern
rows of a factor goes with that factor's own index columns.
"""

import math
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.settings import setting
from bnmf_core.data.synthetic import Generator
from bnmf_core.numerics.matrix import boolean_product

# A tile has one row of its own for each hundred rows, or part of a hundred, of the table.
ROWS_PER_INDEX = 100
MAX_ENTRIES = 2**26
# With this density the zero matrix is as far from the noise-free table as in tables 4.1 and 4.2 of
# paper 4; the density that its table 3.1 states, 0.1, is not.
IMPLIED_DENSITY = 0.0065


@dataclass(frozen=True)
class Settings:
    """Settings of a table made of tiles."""

    features: int = setting(512, "Features", "Number of rows.", minimum=2, maximum=8192)
    observations: int = setting(512, "Observations", "Number of columns.", minimum=2, maximum=8192)
    rank: int = setting(30, "Tiles", "How many tiles the table is made of.", minimum=1, maximum=500)
    density: float = setting(
        0.1,
        "Pattern density q",
        "Share of the rows, and of the columns, that a tile covers in addition to its own. 0.1 is "
        "as stated in paper 4; its tables of results imply 0.0065.",
        minimum=0.0,
        maximum=1.0,
    )
    ones: int | None = setting(
        None,
        "Pattern ones per tile",
        "Number of rows and of columns that a tile covers in addition to its own. Empty: from the "
        "density.",
        minimum=0,
        maximum=8192,
        advanced=True,
    )
    false_positive: float = setting(
        0.01,
        "False ones p₊",
        "Probability that a cell that is off is flipped to 1; 0.05 in paper 4's noisy table.",
        minimum=0.0,
        maximum=0.5,
    )
    false_negative: float = setting(
        0.05,
        "False zeros p₋",
        "Probability that a cell that is on is flipped to 0; 0.15 in paper 4's noisy table.",
        minimum=0.0,
        maximum=0.5,
    )
    shuffle: bool = setting(
        False,
        "Shuffle rows and columns",
        "Shuffles rows and columns; names keep the original numbers.",
    )


def boolean_tiles(
    features: int = 512,
    observations: int = 512,
    rank: int = 30,
    density: float = 0.1,
    false_positive: float = 0.01,
    false_negative: float = 0.05,
    ones: int | None = None,
    shuffle: bool = False,
    rng: np.random.Generator | None = None,
) -> Dataset:
    """A table X (features, observations) of 0 and 1: a Boolean product, some cells flipped.

    Every tile r has ⌈features/100⌉ rows that are its own, and shares others: so many of the rest,
    drawn without replacement, as ``density`` makes of them, rounded down, or ``ones``. Its columns
    are chosen likewise.

    Parameters
    ----------
    false_positive, false_negative : probability that a cell that is off, or on, is flipped.
    shuffle : whether rows and columns are put in random order; the name of a row tells the place
        that it had before.
    rng : None is ``np.random.default_rng(0)``.

    Returns
    -------
    Dataset
        Its ``truth`` holds the factors A (features, rank) and W (rank, observations) of 0 and 1;
        their Boolean product is the table without flips.

    Raises
    ------
    SettingsError
        When the tiles' own rows or columns leave no others, or a number makes no sense.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import boolean_tiles
    >>> data = boolean_tiles(60, 80, rank=3, rng=np.random.default_rng(1))
    >>> sorted(set(data.X.ravel().tolist())), data.truth[0].A.shape
    ([0.0, 1.0], (60, 3))
    """
    for words, rate in (("false ones", false_positive), ("false zeros", false_negative)):
        if not 0.0 <= rate <= 1.0:
            raise SettingsError(f"The rate of {words} was {rate!r}; 0 to 1 is allowed.")
    if features * observations > MAX_ENTRIES:
        raise SettingsError(
            f"A table of {features}×{observations} has {features * observations:,} cells; at most "
            f"{MAX_ENTRIES:,} are allowed."
        )
    rng = np.random.default_rng(0) if rng is None else rng
    A = _factor(features, rank, density, ones, "features", rng)
    W = _factor(observations, rank, density, ones, "observations", rng).T
    clean = boolean_product(A, W)
    flipped = rng.random(clean.shape) < np.where(clean, false_negative, false_positive)
    rows, columns = np.arange(features), np.arange(observations)
    if shuffle:
        rows, columns = rng.permutation(features), rng.permutation(observations)
    X = (clean ^ flipped).astype(np.float64)[np.ix_(rows, columns)]
    return Dataset.from_array(
        X,
        features=[f"feature {d + 1}" for d in rows],
        observations=[f"observation {n + 1}" for n in columns],
        name=f"{rank} tile{'s' * (rank > 1)}",
        unit="yes or no",
        source="Generated: overlapping tiles of ones, some cells flipped (Hess and others 2017).",
        truth=[Truth("the tiles", A[rows], np.ascontiguousarray(W[:, columns]))],
    )


def _factor(
    length: int,
    rank: int,
    density: float,
    ones: int | None,
    words: str,
    rng: np.random.Generator,
) -> np.ndarray:
    """(length, rank) of 0 and 1: first the rows that belong to one tile, then those they share."""
    own = math.ceil(length / ROWS_PER_INDEX)
    rest = length - own * rank
    if rank < 1 or rest <= 0:
        raise SettingsError(
            f"{rank} tiles with {own} of the {length} {words} for each alone leave no others; "
            f"at least 1 tile and at most {max((length - 1) // max(own, 1), 1)} are allowed."
        )
    if not 0.0 <= density <= 1.0:
        raise SettingsError(f"The pattern density was {density!r}; 0 to 1 is allowed.")
    # 0.07·100 is 7.000000000000001: what rounding adds or takes is not counted.
    count = math.floor(rest * density + 1e-9) if ones is None else ones
    if not 0 <= count <= rest:
        raise SettingsError(
            f"{count} pattern ones were asked for; {rest} of the {length} {words} are left for "
            "patterns, so 0 to as many are allowed."
        )
    factor = np.zeros((length, rank))
    factor[: own * rank] = np.repeat(np.eye(rank), own, axis=0)
    for column in factor.T:
        column[own * rank + rng.choice(rest, count, replace=False)] = 1.0
    return factor


def make(settings: Settings, rng: np.random.Generator) -> Dataset:
    """The table that the settings describe."""
    return boolean_tiles(
        settings.features,
        settings.observations,
        settings.rank,
        settings.density,
        settings.false_positive,
        settings.false_negative,
        settings.ones,
        settings.shuffle,
        rng,
    )


GENERATOR = Generator(
    "boolean_tiles",
    "Tiles of a binary matrix",
    "A binary matrix of known overlapping tiles, with some cells flipped.",
    Settings,
    make,
)
