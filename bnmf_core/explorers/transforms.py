"""Transforms from singular vectors to NMF factors, learned on small matrices (paper 3, §4.1).

Algorithm 2 and §6.1: 20 synthetic 12×12 sets times 5 random restarts give 100 pairs (Q_A, Q_W)
with A_NMF ≈ A_SVD Q_A and W_NMF ≈ Q_W W_SVD in least squares. They act on the inner dimensions
only, so they carry over to data of any size.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError, StoreError
from bnmf_core.core.plain import Value
from bnmf_core.core.problem import Problem
from bnmf_core.data.formats.arrays import members
from bnmf_core.explorers.processes import Source, process
from bnmf_core.numerics.linalg import balanced_svd
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import random_start
from bnmf_core.store import files

SETS_IN_PAPER = 20
LIBRARY_SEED = 1_208_0926
LARGEST_FILE = 2**26


@dataclass(frozen=True)
class Recipe:
    """Parameters of a library of transforms, besides the number of sets and a target.

    Attributes
    ----------
    rank : R_T = R_SVD, the transfer rank. process : key of ``PROCESSES``.
    size : rows and columns of a source matrix. source_rank : of the factors that it is made of;
        None: the transfer rank. noise : see ``processes.Source``; the paper does not give it.
    restarts : random restarts, so pairs of transforms, for each source matrix.

    Raises
    ------
    BNMFError
        Naming what is out of range.
    """

    rank: int = 3
    process: str = "gaussian"
    size: int = 12
    source_rank: int | None = None
    noise: float = 0.1
    restarts: int = 5

    def __post_init__(self) -> None:
        process(self.process)
        for words, value in (
            ("transfer rank", self.rank),
            ("source rank", 1 if self.source_rank is None else self.source_rank),
            ("number of restarts", self.restarts),
        ):
            if value < 1:
                raise SettingsError(f"The {words} was {value}; 1 or more is needed.")
        if self.size < max(self.rank, 2):
            raise SettingsError(
                f"The source size was {self.size} and the transfer rank {self.rank}; source "
                "matrices need at least 2 rows, and as many as the transfer rank."
            )
        if not 0.0 <= self.noise < math.inf:
            raise SettingsError(f"The noise was {self.noise!r}; a number ≥ 0 is needed.")

    @property
    def source(self) -> Source:
        """Size, rank and noise of its source matrices."""
        return Source(self.size, self.source_rank or self.rank, self.noise)


@dataclass(frozen=True, eq=False)
class TransformLibrary:
    """Pairs of transforms, to be applied to the singular vectors of any data.

    Attributes
    ----------
    Q_A : (n, R_SVD, R_T), A_NMF ≈ A_SVD Q_A. Q_W : (n, R_T, R_SVD), W_NMF ≈ Q_W W_SVD. Read-only.
    recipe : how they were learned, in plain values; empty where that is not known.

    Examples
    --------
    >>> from bnmf_core import transform_library
    >>> library = transform_library(rank=2, sets=2)
    >>> type(library).__name__, library.Q_A.shape
    ('TransformLibrary', (10, 2, 2))
    """

    Q_A: np.ndarray
    Q_W: np.ndarray
    recipe: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The layout in memory decides how a product rounds, so it is always the same: Q_A row by
        # row, Q_W column by column.
        Q_A = np.array(self.Q_A, dtype=np.float64, order="C")
        Q_W = np.array(self.Q_W.transpose(0, 2, 1), dtype=np.float64, order="C").transpose(0, 2, 1)
        for name, Q in (("Q_A", Q_A), ("Q_W", Q_W)):
            Q.flags.writeable = False
            object.__setattr__(self, name, Q)

    @property
    def count(self) -> int:
        """Number of pairs."""
        return self.Q_A.shape[0]

    @property
    def svd_rank(self) -> int:
        """R_SVD, how many singular directions they act on."""
        return self.Q_A.shape[1]

    @property
    def rank(self) -> int:
        """R_T, how many components they give."""
        return self.Q_A.shape[2]

    @cached_property
    def key(self) -> str:
        """SHA-256 (first 16 hex digits) of the transforms: what a run records."""
        digest = hashlib.sha256(repr(self.Q_A.shape).encode())
        for Q in (self.Q_A, self.Q_W):
            digest.update(np.ascontiguousarray(Q, dtype="<f8").data)
        return digest.hexdigest()[:16]

    def save(self, target: str | Path | BinaryIO) -> None:
        """Write one ``.npz`` (no pickles); to a path in full or not at all, or to an open file."""
        arrays = {"Q_A": self.Q_A, "Q_W": self.Q_W, "recipe": np.array(json.dumps(self.recipe))}
        if isinstance(target, str | Path):
            files.write_arrays(Path(target), arrays)
        else:
            np.savez(target, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, source: str | Path | BinaryIO) -> "TransformLibrary":
        """Read what :meth:`save` wrote, from a path or an open file; nothing in it is trusted.

        Raises
        ------
        StoreError
            When the file is missing, torn, or not a library of transforms; says why.
        """
        name = Path(source).name if isinstance(source, str | Path) else "The file"
        try:
            if isinstance(source, str | Path):
                with Path(source).open("rb") as file:
                    content = file.read(LARGEST_FILE + 1)
            else:
                content = source.read(LARGEST_FILE + 1)
            if len(content) > LARGEST_FILE:
                raise StoreError(f"it is larger than {LARGEST_FILE // 2**20} MB")
            arrays = members(content, LARGEST_FILE)
            recipe = json.loads(str(arrays["recipe"])) if "recipe" in arrays else {}
            Q_A, Q_W = _checked(arrays, recipe)
        except KeyError as error:
            raise StoreError(f"{name} has no array {error}; a library has Q_A and Q_W.") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
            raise StoreError(f"{name} is not a library of transforms: {reason}.") from None
        return cls(Q_A, Q_W, recipe)


def learn(
    recipe: Recipe, sets: int = SETS_IN_PAPER, target: Matrix | None = None
) -> TransformLibrary:
    """Algorithm 2 on so many source matrices; ``target`` (D, N) where the process needs one.

    The first pairs are the same whatever ``sets`` is: each source matrix has its own seed, which is
    the same for all processes. One set takes about five milliseconds.

    Raises
    ------
    BNMFError
        When a process has no target that it needs, or finds nothing but zeros there.
    """
    if sets < 1:
        raise SettingsError(f"{sets} source matrices were asked for; 1 or more is needed.")
    chosen = process(recipe.process)
    if chosen.needs_target and target is None:
        raise SettingsError(
            f"{chosen.label} takes its source matrices from the data, so it needs a target."
        )
    with one_blas_thread():
        pairs = [_learn(recipe, index, target) for index in range(sets)]
    Q_A, Q_W = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return TransformLibrary(Q_A, Q_W, asdict(recipe))


def _learn(recipe: Recipe, index: int, target: Matrix | None) -> tuple[np.ndarray, np.ndarray]:
    rank = recipe.rank
    rng = np.random.default_rng([LIBRARY_SEED, rank, index])
    X = process(recipe.process).make(recipe.source, target, rng)
    dataset = Dataset.from_array(X, name="source of transforms")
    problem = Problem.without_model(dataset, rank)
    starts = [random_start(dataset, rank, rng) for _ in range(recipe.restarts)]
    A, W = hals.solve(
        problem, np.stack([a for a, _ in starts]), np.stack([w for _, w in starts]), 500, 1e-5
    )
    return least_squares(X, *equal_norms(A, W))


def least_squares(X: np.ndarray, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """argmin ‖A − A_SVD Q_A‖ and argmin ‖W − Q_W W_SVD‖ for each of A (m, D, R), W (m, R, N)."""
    A_svd, W_svd = balanced_svd(X, A.shape[2])
    Q_A = np.stack([np.linalg.lstsq(A_svd, a, rcond=None)[0] for a in A])
    Q_W = np.stack([np.linalg.lstsq(W_svd.T, w.T, rcond=None)[0].T for w in W])
    return Q_A, Q_W


def equal_norms(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rescale so that ‖A_r‖ = ‖W_r‖, the balance that the evenly split SVD has too."""
    norm_A, norm_W = np.linalg.norm(A, axis=1), np.linalg.norm(W, axis=2)
    both = (norm_A > 0) & (norm_W > 0)
    s = np.where(both, np.sqrt(np.where(both, norm_W, 1) / np.where(both, norm_A, 1)), 1.0)
    return A * s[:, None, :], W / s[:, :, None]


def _checked(arrays: Mapping[str, np.ndarray], recipe: object) -> tuple[np.ndarray, np.ndarray]:
    """Q_A and Q_W of a file, or a StoreError that says what is wrong with them."""
    Q_A, Q_W = arrays["Q_A"], arrays["Q_W"]
    if not isinstance(recipe, dict):
        raise StoreError("its recipe is no list of settings")
    for name, Q in (("Q_A", Q_A), ("Q_W", Q_W)):
        if Q.ndim != 3 or Q.dtype.kind not in "iuf":
            raise StoreError(f"{name} is not a stack of matrices of numbers")
        if not np.isfinite(Q).all():
            raise StoreError(f"{name} holds values that are not finite")
    if Q_W.shape != (Q_A.shape[0], Q_A.shape[2], Q_A.shape[1]):
        raise StoreError(f"Q_A {Q_A.shape} and Q_W {Q_W.shape} do not go together")
    return Q_A, Q_W
