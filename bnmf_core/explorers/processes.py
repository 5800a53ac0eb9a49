"""Where the small matrices come from that transforms are learned on (paper 3, §8.1).

A process makes a non-negative source matrix X_S from a generator, and some of them from the target
X as well. Transforms do not change when X_S is multiplied by a number, so its scale means nothing.
A new process is one function and one line in ``PROCESSES``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import NotFoundError, RunError
from bnmf_core.numerics.matrix import Matrix, is_sparse

# Maximum number of redraws of a part of a sparse target that is all zeros.
MOST_DRAWS = 50


@dataclass(frozen=True)
class Source:
    """Size, rank and noise of X_S.

    Attributes
    ----------
    size : rows and columns. rank : of the factors it is made of, where it is made of factors.
    noise : standard deviation of the noise on a product of factors, in units of the root mean
        square of one of the terms a_dr w_rn that it sums; entries below 0 become 0.
    """

    size: int
    rank: int
    noise: float


@dataclass(frozen=True)
class Process:
    """A way to make source matrices.

    Attributes
    ----------
    key, label : registry key and name on screen. summary : what it does, in a sentence.
    needs_target : whether it depends on the data that the transforms are for.
    make : ``(source, target (D, N) or None, rng) → X_S (size, size)``; smaller where the target
        has fewer rows or columns.
    """

    key: str
    label: str
    summary: str
    needs_target: bool
    make: Callable[[Source, Matrix | None, np.random.Generator], np.ndarray]


def gaussian(source: Source, target: Matrix | None, rng: np.random.Generator) -> np.ndarray:
    """A W with entries |N(0, 1)|: normal ones, made non-negative."""
    A = np.abs(rng.standard_normal((source.size, source.rank)))
    W = np.abs(rng.standard_normal((source.rank, source.size)))
    return _noisy_product(A, W, 1.0, source, rng)


def uniform(source: Source, target: Matrix | None, rng: np.random.Generator) -> np.ndarray:
    """A W with entries uniform on (0, 1)."""
    A = rng.uniform(size=(source.size, source.rank))
    W = rng.uniform(size=(source.rank, source.size))
    return _noisy_product(A, W, 1 / 3, source, rng)


def dirichlet(source: Source, target: Matrix | None, rng: np.random.Generator) -> np.ndarray:
    """A W whose columns, of A and of W, are uniform on the simplex: Dirichlet with α = 1."""
    D, R = source.size, source.rank
    A = rng.dirichlet(np.ones(D), size=R).T
    W = rng.dirichlet(np.ones(R), size=D).T
    # An entry of a Dirichlet(1, …, 1) of length n has the mean square 2/(n(n + 1)).
    typical = 2.0 / np.sqrt(D * (D + 1) * R * (R + 1))
    return _noisy_product(A, W, typical, source, rng)


def uniform_data(source: Source, target: Matrix | None, rng: np.random.Generator) -> np.ndarray:
    """Entries of X_S itself uniform on (0, 1); no factors, no noise."""
    return rng.uniform(size=(source.size, source.size))


def sub_sample(source: Source, target: Matrix | None, rng: np.random.Generator) -> np.ndarray:
    """Rows and columns of the target, chosen at random."""
    assert target is not None  # see ``needs_target``
    D, N = target.shape
    for _ in range(MOST_DRAWS):
        rows = rng.choice(D, min(source.size, D), replace=False)
        columns = rng.choice(N, min(source.size, N), replace=False)
        part = target[:, columns][rows] if is_sparse(target) else target[np.ix_(rows, columns)]
        X = _dense(part)
        if X.any():
            return X
    raise _only_zeros(source, "rows and columns")


def column_projection(
    source: Source, target: Matrix | None, rng: np.random.Generator
) -> np.ndarray:
    """Columns of the target, chosen at random, under a random projection P (size, D).

    The paper names the projection only. Read here so that X_S = P X[:, columns] is non-negative:
    entries of P are |N(0, 1)|, and all columns of one X_S are projected by the same P, since
    projections of their own would leave nothing in common between them.
    """
    assert target is not None  # see ``needs_target``
    D, N = target.shape
    for _ in range(MOST_DRAWS):
        columns = rng.choice(N, min(source.size, N), replace=False)
        projection = np.abs(rng.standard_normal((source.size, D)))
        X = projection @ _dense(target[:, columns])
        if X.any():
            return X
    raise _only_zeros(source, "columns")


PROCESSES: dict[str, Process] = {
    process.key: process
    for process in (
        Process(
            "gaussian",
            "Gaussian factors",
            "Products of factors with entries |N(0, 1)|.",
            False,
            gaussian,
        ),
        Process(
            "uniform",
            "Uniform factors",
            "Products of factors with entries uniform on (0, 1).",
            False,
            uniform,
        ),
        Process(
            "dirichlet",
            "Dirichlet factors",
            "Products of factors whose columns are uniform on the simplex.",
            False,
            dirichlet,
        ),
        Process(
            "uniform_data",
            "Uniform data",
            "Entries uniform on (0, 1), without factors.",
            False,
            uniform_data,
        ),
        Process(
            "sub_sample", "Sub-sample", "Rows and columns of the data themselves.", True, sub_sample
        ),
        Process(
            "column_projection",
            "Column projection",
            "Columns of the data under a random non-negative projection.",
            True,
            column_projection,
        ),
    )
}


def process(key: str) -> Process:
    """The process with this key, or a sentence that lists the keys there are."""
    if key not in PROCESSES:
        raise NotFoundError(
            f"There is no generating process {key!r}; there are {', '.join(PROCESSES)}."
        )
    return PROCESSES[key]


def _noisy_product(
    A: np.ndarray, W: np.ndarray, typical: float, source: Source, rng: np.random.Generator
) -> np.ndarray:
    noise = source.noise * typical * rng.standard_normal((A.shape[0], W.shape[1]))
    return np.maximum(A @ W + noise, 0.0)


def _dense(part: Matrix) -> np.ndarray:
    return part.toarray() if is_sparse(part) else np.array(part)


def _only_zeros(source: Source, of_what: str) -> RunError:
    return RunError(
        f"{MOST_DRAWS} times, {source.size} {of_what} of the data drawn at random held nothing "
        "but zeros; choose a larger source size, or another source of the transforms."
    )
