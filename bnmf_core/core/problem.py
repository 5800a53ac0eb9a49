"""The problem one run solves: what is shared by all its particles, made once."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, RunError
from bnmf_core.core.kullback_leibler import FLOOR
from bnmf_core.core.loss import Loss
from bnmf_core.core.model import Model
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.lazy import lazy
from bnmf_core.numerics.completion import completed
from bnmf_core.numerics.linalg import Compression, balanced_svd, compress
from bnmf_core.numerics.matrix import Matrix, dense, is_sparse
from bnmf_core.numerics.memory import in_lines

if TYPE_CHECKING:
    from bnmf_core.numerics.count_lines import CountLines
    from bnmf_core.numerics.counts import Counts

counts = lazy("bnmf_core.numerics.counts")
count_lines = lazy("bnmf_core.numerics.count_lines")
sparse_products = lazy("bnmf_core.numerics.sparse_products")

# Seed of the random order of lines of X.
ORDER_SEED = 2
# Entries of X from which on products with a compressed X are worth the compression.
SMALLEST_COMPRESSED = 20_000
# Squared errors above this part of ‖X‖² are known well enough from products in single precision.
SINGLE_NOISE = 1e-2


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset, a model with resolved settings and a rank.

    Attributes
    ----------
    dataset : the observations the run sees, X (D, N).
    model, model_settings : the probability model and its settings, nothing left open.
    rank : R.
    held : (R,) bool, components whose columns of A stay as they start, up to their scale, while
        all else is solved for; None: none.
    of_loss : what is made smallest where there is no model; None: what belongs to the model.
    """

    dataset: Dataset
    model: Model
    model_settings: Any
    rank: int
    held: np.ndarray | None = None
    of_loss: Loss | None = None

    @classmethod
    def without_model(
        cls,
        dataset: Dataset,
        rank: int,
        held: np.ndarray | None = None,
        loss: Loss = SQUARED_ERROR,
    ) -> "Problem":
        """Data, a rank and a loss alone, and what is held: all that solvers ask for."""
        return cls(dataset, cast(Model, None), None, rank, held, loss)

    @classmethod
    def prepare(
        cls, dataset: Dataset, model: Model, model_settings: object, rank: int
    ) -> "Problem":
        """Check that the data and the rank fit, and take open model settings from the data.

        Raises
        ------
        RunError
            When the rank does not fit the matrix, or of a row or a column nothing was seen.
        DataError
            When the model is none of such data.
        """
        check_fit(dataset, np.arange(dataset.N), rank)
        check_model(dataset, model)
        return cls(dataset, model, model.resolve(dataset, rank, model_settings), rank)

    @property
    def loss(self) -> Loss:
        """The loss that solvers minimize; the likelihood decreases with it."""
        return self.of_loss or self.model.loss(self.model_settings)

    def times_rows(self, W: np.ndarray, single: bool = False) -> np.ndarray:
        """X Wᵀ of every particle, transposed: W (m, R, N) → (m, R, D), one product with X.

        An unseen entry of X holds 0, so the sum is over the seen ones. ``single`` : where X is
        sparse, in single precision, which takes half as long.
        """
        return _times(self.dataset.X.T, W, single)

    def times_columns(self, A: np.ndarray, single: bool = False) -> np.ndarray:
        """AᵀX of every particle, given Aᵀ: A (m, R, D) → (m, R, N), likewise."""
        return _times(self.dataset.X, A, single)

    @cached_property
    def seen(self) -> np.ndarray | None:
        """1 where X was seen and 0 elsewhere, (D, N); None when all of it was."""
        mask = self.dataset.mask
        return mask.astype(np.float64) if mask is not None and self.dataset.missing else None

    @cached_property
    def counts(self) -> "Counts":
        """X as whole numbers, those above 0."""
        return counts.Counts.of(self.dataset.X, self.seen)

    @cached_property
    def count_lines(self) -> "CountLines":
        """X over its mean by rows and by columns, in single precision, for solvers of counts."""
        data = self.dataset
        mask = data.mask if data.missing else None
        return count_lines.count_lines(data.X, mask, data.mean or 1.0, FLOOR)

    @cached_property
    def noise_is_small(self) -> bool:
        """Whether the error of any factorization is far above the noise of single precision.

        None comes below what a compression of higher rank leaves of X.
        """
        if self.compression_rank is None:
            return False
        lost = self.completed_squared_norm - self.compression.squared_norm
        return lost > SINGLE_NOISE * self.completed_squared_norm

    @property
    def compression_rank(self) -> int | None:
        """R + 10, or None where X is too small for compression to pay."""
        rank, D, N = self.rank + 10, self.dataset.D, self.dataset.N
        return None if 2 * rank > min(D, N) or D * N < SMALLEST_COMPRESSED else rank

    @cached_property
    def completed(self) -> Matrix:
        """X (D, N), its unseen entries filled by an iterated SVD of rank R, see ``completion``."""
        return completed(self.dataset, self.rank)

    @cached_property
    def completed_squared_norm(self) -> float:
        """‖completed X‖²."""
        if not self.dataset.missing:
            return self.dataset.squared_norm
        filled = dense(self.completed)
        return float(np.einsum("dn,dn->", filled, filled))

    @cached_property
    def compression(self) -> Compression:
        """Completed X ≈ U Vᵀ of the compression rank, which has to be known."""
        assert self.compression_rank is not None
        return compress(self.completed, self.compression_rank)

    @cached_property
    def random_order(self) -> np.ndarray:
        """The lines of the longer side of X in a random order, always the same."""
        longer = max(self.dataset.D, self.dataset.N)
        return np.random.default_rng(ORDER_SEED).permutation(longer)

    @cached_property
    def reduced(self) -> tuple[np.ndarray, np.ndarray]:
        """Uᵀ (K, D) and Vᵀ (K, N) with X ≈ U Vᵀ, for the Hessian of a whole X.

        Where compression pays, K is twice its rank and the numbers are single: a Hessian need
        not be exact. Elsewhere U Vᵀ is X, one of them the identity, in double precision. Both have
        columns of zeros at their ends, so that each row begins at a line of the cache.
        """
        left, right = self._reduced()
        return in_lines(left), in_lines(right)

    def _reduced(self) -> tuple[np.ndarray, np.ndarray]:
        D, N = self.dataset.D, self.dataset.N
        if self.compression_rank is not None and 2 * self.compression_rank < min(D, N):
            compression = compress(self.dataset.X, 2 * self.compression_rank)
            return compression.U.T, compression.V.T
        kind = np.float64 if self.compression_rank is None else np.float32
        X = dense(self.dataset.X)
        if D < N:
            return np.eye(D, dtype=kind), X.astype(kind)
        return X.T.astype(kind), np.eye(N, dtype=kind)

    def svd(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Top singular factors of the completed X, split evenly with fixed signs.

        (D, rank) and (rank, N). Paper 3, §7.3: a matrix with gaps is completed first.
        """
        if rank not in self._svds:
            near = None if self.compression_rank is None else self.compression
            self._svds[rank] = balanced_svd(self.completed, rank, near)
        return self._svds[rank]

    @cached_property
    def _svds(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        # Explorers ask for the same ones at every step.
        return {}


def _times(X: Matrix, F: np.ndarray, single: bool) -> np.ndarray:
    """F (m, R, n) times X (n, k)."""
    if is_sparse(X):
        return sparse_products.product(X, F, single)
    m, R, n = F.shape
    return (F.reshape(m * R, n) @ X).reshape(m, R, -1)


def check_model(dataset: Dataset, model: Model) -> None:
    """Check that the model is one of such data.

    Raises
    ------
    DataError
        Naming the entry that speaks against it.
    """
    against = model.unfit(dataset)
    if against:
        raise DataError(against)


def check_fit(dataset: Dataset, seen: np.ndarray, rank: int) -> None:
    """Check that rank R and the observations that a run sees (indices) go together.

    Raises
    ------
    RunError
        When the rank does not fit the matrix, or of a row or a column nothing was seen.
    """
    largest = min(dataset.D, len(seen))
    if not 1 <= rank <= largest:
        raise RunError(
            f"Rank {rank} was asked for; the run would see {dataset.D} features and {len(seen)} "
            f"observations, so the rank must be between 1 and {largest}."
        )
    if dataset.mask is None or not dataset.missing:
        return
    mask = dataset.mask[:, seen]
    lines = (
        ("feature", dataset.features, mask.any(axis=1)),
        ("observation", [dataset.observations[n] for n in seen], mask.any(axis=0)),
    )
    for word, names, any_seen in lines:
        if any_seen.all():
            continue
        first, count = names[int(np.argmin(any_seen))], int((~any_seen).sum())
        others = f", nor of {count - 1} other{'s' * (count > 2)}," if count > 1 else ""
        raise RunError(
            f"No entry of the {word} {first!r}{others} was seen in what the run would see of "
            f"{dataset.name!r}, so nothing can be said of it; leave such {word}s out, or fill the "
            "missing entries on the Data page."
        )
