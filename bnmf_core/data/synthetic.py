"""Matrices whose exact non-negative factorizations are known.

The three small problems are those of Laurberg and others (2008) as used by Masood, Pan and
Doshi-Velez (2016), "An empirical comparison of sampling quality metrics", eqs. 6–9, with
row 6 of A_δ in eq. 9 corrected to (0, 0, 0, 0, 0, 1), as X = A_δ W requires.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.core.registry import Registry
from bnmf_core.core.settings import setting
from bnmf_core.data.limits import MAX_ENTRIES

KINDS = ("unique", "two", "infinite")
EMBEDDINGS = ("dense", "identity")
DELTAS = (0.0, 0.25, 0.5, 0.75, 1.0)

# The second solution of the two-solution problem is (A Q, Q W); Q is its own inverse.
_THREE_Q = np.array([[-1.0, 2.0, 2.0], [2.0, -1.0, 2.0], [2.0, 2.0, -1.0]])
CHANGE_OF_BASIS = _THREE_Q / 3.0


def laurberg(
    kind: str,
    a: float | None = None,
    noise: float = 0.0,
    embed: tuple[int, int] | None = None,
    embedding: str = "dense",
    rng: np.random.Generator | None = None,
) -> Dataset:
    """A matrix with one, two or infinitely many non-negative factorizations.

    "unique" and "two" are X = A W (6, 6) with A = Wᵀ and W (3, 6) made of one number a:
    below 0.5 there is one solution, at 0.5 there are exactly two, above it a continuum.
    "infinite" is X (7, 9) = A_δ W for every δ in [0, 1], with R = 6 although rank X = 5.

    Parameters
    ----------
    kind : "unique", "two" or "infinite".
    a : replaces 0.3 in "unique" (0 ≤ a < 0.5) or 0.5 in "two" (0.5 ≤ a ≤ 1).
    noise : standard deviation of the Gaussian noise added to X; negative entries become 0.
    embed : (D, N) of a larger problem X_large = B1 X B2 with entries of B1 and B2 uniform
        on (0, 1).
    embedding : "dense", where the known factorizations stay exact but others may appear, or
        "identity", where identity blocks in B1 and B2 repeat X itself in the first rows and
        columns, so that the number of solutions stays what it was.
    rng : used for B1, B2 and noise, in this order; None is ``np.random.default_rng(0)``.

    Returns
    -------
    Dataset
        Its ``truth`` lists exact factorizations of the matrix without noise: one for
        "unique", (A, W) and (A Q, Q W) for "two", δ = 0, 0.25, 0.5, 0.75, 1 for "infinite".

    Raises
    ------
    NotFoundError
        If there is no such kind. SettingsError: naming the value and what is allowed.

    Examples
    --------
    >>> from bnmf_core import laurberg
    >>> data = laurberg("two")
    >>> data.X.shape, [truth.name for truth in data.truth]
    ((6, 6), ['A, W', 'A Q, Q W'])
    """
    if kind not in KINDS:
        raise NotFoundError(
            f"There is no problem called {kind!r}; the kinds are {', '.join(KINDS)}."
        )
    _check_noise(noise)
    rng = np.random.default_rng(0) if rng is None else rng
    if kind == "infinite":
        if a is not None:
            raise SettingsError("The problem with infinitely many solutions has no number a.")
        name = "Infinitely many solutions"
        truth = [Truth(f"δ = {delta:g}", *infinite_solution(delta)) for delta in DELTAS]
    else:
        a = _checked_a(kind, a)
        count = "One solution" if a < 0.5 else "Two solutions"
        name = f"{count if a <= 0.5 else 'A continuum of solutions'} (a = {a:g})"
        truth = _three_by_six(a)
    X = truth[0].A @ truth[0].W
    if embed is not None:
        B1, B2 = _embedding_matrices(X.shape, embed, embedding, rng)
        X = B1 @ X @ B2
        truth = [Truth(known.name, B1 @ known.A, known.W @ B2) for known in truth]
        name += f", {embedding} embedding"
    return Dataset.from_array(
        _with_noise(X, noise, rng),
        name=name,
        source="Generated: the small problems of Laurberg and others (2008).",
        truth=truth,
    )


def infinite_solution(delta: float) -> tuple[np.ndarray, np.ndarray]:
    """A_δ (7, 6) and W (6, 9) with A_δ W the same for every δ in [0, 1]."""
    if not 0.0 <= delta <= 1.0:
        raise SettingsError(f"δ was {delta!r}; 0 to 1 is allowed.")
    A = np.vstack([np.eye(6), [1.0 - delta] * 3 + [delta] * 3])
    W = np.vstack([np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))])
    return A, W


def low_rank(
    features: int,
    observations: int,
    rank: int,
    noise: float = 0.0,
    sparsity: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Dataset:
    """A random matrix X = A W (features, observations) of non-negative rank at most ``rank``.

    The entries of A (features, rank) and W (rank, observations) are Exp(1), each set to 0
    with probability ``sparsity``; every row and column of A and W keeps at least one entry.

    Parameters
    ----------
    noise : standard deviation of the Gaussian noise added to X; negative entries become 0.
    rng : None is ``np.random.default_rng(0)``.

    Returns
    -------
    Dataset
        Its ``truth`` holds the (A, W) that X was made of, exact when there is no noise. It
        need not be the only exact factorization.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import low_rank
    >>> low_rank(6, 8, rank=2, noise=0.1, rng=np.random.default_rng(1)).X.shape
    (6, 8)
    """
    for words, value, least in (
        ("number of features", features, 2),
        ("number of observations", observations, 2),
        ("rank", rank, 1),
    ):
        if value < least:
            raise SettingsError(f"The {words} was {value}; at least {least} is needed.")
    _check_size(features, observations)
    _check_size(rank, features + observations)
    if not 0.0 <= sparsity <= 0.95:
        raise SettingsError(f"The sparsity was {sparsity!r}; 0 to 0.95 is allowed.")
    _check_noise(noise)
    rng = np.random.default_rng(0) if rng is None else rng
    A = _sparse_exponential(features, rank, sparsity, rng)
    W = _sparse_exponential(rank, observations, sparsity, rng)
    return Dataset.from_array(
        _with_noise(A @ W, noise, rng),
        name=f"Random matrix of rank {rank}",
        source="Generated: factors with exponential entries.",
        truth=[Truth("factors it was made of", A, W)],
    )


def _three_by_six(a: float) -> list[Truth]:
    """The known solutions of the 6×6 problem: A (6, 3), W (3, 6)."""
    W = np.array([[a, 1, 1, a, 0, 0], [1, a, 0, 0, a, 1], [0, 0, a, 1, 1, a]], dtype=np.float64)
    known = [Truth("A, W", W.T.copy(), W)]
    if a >= 0.5:
        # Dividing last keeps the entries exact at a = 0.5, where they are multiples of ½.
        second = _THREE_Q @ W / 3.0
        known.append(Truth("A Q, Q W", second.T.copy(), second))
    return known


def _checked_a(kind: str, a: float | None) -> float:
    if a is None:
        return 0.3 if kind == "unique" else 0.5
    if kind == "unique" and not 0.0 <= a < 0.5:
        raise SettingsError(f"a was {a!r}; the solution is unique for 0 ≤ a < 0.5 only.")
    if kind == "two" and not 0.5 <= a <= 1.0:
        raise SettingsError(
            f"a was {a!r}; 0.5 to 1 is allowed: there are two solutions at 0.5 and a continuum "
            "above."
        )
    return float(a)


def _embedding_matrices(
    small: tuple[int, int], large: tuple[int, int], embedding: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """B1 (large D, small D) and B2 (small N, large N)."""
    if embedding not in EMBEDDINGS:
        raise SettingsError(
            f"The embedding was {embedding!r}; choose one of {', '.join(EMBEDDINGS)}."
        )
    if large[0] < small[0] or large[1] < small[1]:
        raise SettingsError(
            f"The embedding was {large[0]}×{large[1]}; it needs at least {small[0]} features "
            f"and {small[1]} observations."
        )
    _check_size(*large)
    B1 = rng.uniform(size=(large[0], small[0]))
    B2 = rng.uniform(size=(small[1], large[1]))
    if embedding == "identity":
        B1[: small[0]] = np.eye(small[0])
        B2[:, : small[1]] = np.eye(small[1])
    return B1, B2


def _sparse_exponential(
    rows: int, columns: int, sparsity: float, rng: np.random.Generator
) -> np.ndarray:
    values = rng.exponential(size=(rows, columns))
    keep = rng.uniform(size=(rows, columns)) >= sparsity
    empty = np.flatnonzero(~keep.any(axis=1))
    keep[empty, rng.integers(columns, size=empty.size)] = True
    empty = np.flatnonzero(~keep.any(axis=0))
    keep[rng.integers(rows, size=empty.size), empty] = True
    return values * keep


def _with_noise(X: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    if noise == 0.0:
        return X
    return np.maximum(X + noise * rng.standard_normal(X.shape), 0.0)


def _check_noise(noise: float) -> None:
    if not 0.0 <= noise < np.inf:
        raise SettingsError(f"The noise was {noise!r}; a finite number of 0 or more is needed.")


def _check_size(D: int, N: int) -> None:
    if D * N > MAX_ENTRIES:
        raise SettingsError(
            f"A matrix of {D}×{N} has {D * N:,} entries; at most {MAX_ENTRIES:,} are allowed."
        )


@dataclass(frozen=True)
class Generator:
    """A way to generate a dataset, with its declared settings.

    Attributes
    ----------
    key, label : registry key and shown name. summary : one sentence for the form.
    Settings : dataclass of declared settings.
    make : ``(settings, rng) → Dataset``.
    """

    key: str
    label: str
    summary: str
    Settings: type
    make: Callable[..., Dataset]


def _noise_setting() -> float:
    return setting(
        0.0,
        "Noise",
        "Standard deviation of the Gaussian noise added to every entry; negative entries become 0.",
        minimum=0.0,
        maximum=10.0,
    )


def _embed_setting(side: str, least: int) -> int | None:
    return setting(
        None,
        f"{side} after embedding",
        f"Mix the small problem into a larger one with this many {side.lower()}; empty keeps it.",
        minimum=least,
        maximum=10_000,
        advanced=True,
    )


@dataclass(frozen=True)
class InfiniteSettings:
    """Settings of the problem with infinitely many solutions."""

    noise: float = _noise_setting()
    embed_features: int | None = _embed_setting("Features", 7)
    embed_observations: int | None = _embed_setting("Observations", 9)
    embedding: str = setting(
        "dense",
        "Embedding",
        "Dense: as published, further solutions may appear. Identity: the small problem stays "
        "visible as a block, and the number of solutions stays the same.",
        choices=EMBEDDINGS,
        advanced=True,
    )


@dataclass(frozen=True)
class UniqueSettings(InfiniteSettings):
    """Settings of the problem with one solution."""

    a: float = setting(
        0.3,
        "a",
        "Parameter of the matrix; below 0.5 the solution is unique.",
        minimum=0.0,
        maximum=0.49,
    )


@dataclass(frozen=True)
class TwoSettings(InfiniteSettings):
    """Settings of the problem with two solutions."""

    a: float = setting(
        0.5,
        "a",
        "Parameter of the matrix: exactly two solutions at 0.5, a continuum above.",
        minimum=0.5,
        maximum=1.0,
    )


@dataclass(frozen=True)
class LowRankSettings:
    """Settings of a random matrix of low rank."""

    features: int = setting(50, "Features", "Number of rows.", minimum=2, maximum=20_000)
    observations: int = setting(
        100, "Observations", "Number of columns.", minimum=2, maximum=20_000
    )
    rank: int = setting(
        5, "Rank", "Number of components the matrix is made of.", minimum=1, maximum=500
    )
    noise: float = _noise_setting()
    sparsity: float = setting(
        0.5,
        "Zeros in the factors",
        "Probability that an entry of a factor is 0; more zeros make the solution more nearly "
        "unique.",
        minimum=0.0,
        maximum=0.95,
    )


def _laurberg(kind: str, small: tuple[int, int]) -> Callable[..., Dataset]:
    def make(settings: InfiniteSettings, rng: np.random.Generator) -> Dataset:
        D, N = settings.embed_features, settings.embed_observations
        embed = (D or small[0], N or small[1]) if D or N else None
        a = getattr(settings, "a", None)
        return laurberg(kind, a, settings.noise, embed, settings.embedding, rng)

    return make


GENERATORS: Registry[Generator] = Registry(
    "generator of data",
    Generator,
    (
        Generator(
            "laurberg_unique",
            "One solution",
            "A 6×6 matrix with exactly one factorization of rank 3.",
            UniqueSettings,
            _laurberg("unique", (6, 6)),
        ),
        Generator(
            "laurberg_two",
            "Two solutions",
            "A 6×6 matrix with exactly two factorizations of rank 3.",
            TwoSettings,
            _laurberg("two", (6, 6)),
        ),
        Generator(
            "laurberg_infinite",
            "Infinitely many solutions",
            "A 7×9 matrix with a continuum of factorizations of rank 6.",
            InfiniteSettings,
            _laurberg("infinite", (7, 9)),
        ),
        Generator(
            "low_rank",
            "Random matrix of low rank",
            "A product of two random factors, with optional noise and zeros.",
            LowRankSettings,
            lambda settings, rng: low_rank(**vars(settings), rng=rng),
        ),
    ),
    "bnmf.generators",
)
