"""The data: a non-negative matrix with the names, labels and shape that make it readable."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Required, TypedDict

import numpy as np

from bnmf_core.core import html
from bnmf_core.core.axis import Axis, axis_of
from bnmf_core.core.checked import (
    Given,
    Words,
    check_cells,
    check_pixels,
    checked_labels,
    checked_matrix,
    checked_names,
    read_only,
)
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.names import clean_name
from bnmf_core.core.texts import Texts
from bnmf_core.core.whole import AllObservations
from bnmf_core.lazy import lazy
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import Matrix, dense, is_sparse, stored

# What reads files stands above what it makes.
blocks_of: Any = lazy("bnmf_core.blocks.whole")

# Maximum length of the noun for features in sentences and headings.
LONGEST_NOUN = 24
# Such features are words, and components of them topics.
TEXT_NOUNS = frozenset({"words", "terms", "tokens"})
# Number of empty rows or columns that are named.
MOST_NAMED = 3


class Parts(TypedDict, total=False):
    """Arguments of :meth:`Dataset.from_array`, as readers of files return them."""

    X: Required[Given]
    features: Sequence[str] | None
    observations: Sequence[str] | None
    labels: Mapping[str, Words]
    descriptions: Mapping[str, Words]
    mask: np.ndarray
    image_shape: tuple[int, int]
    map_shape: tuple[int, int]
    texts: Sequence[str]


@dataclass(frozen=True)
class Truth:
    """One known exact factorization: A (D, R), W (R, N) and how it is called."""

    name: str
    A: np.ndarray
    W: np.ndarray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A non-negative matrix X (D, N): D features (rows) by N observations (columns).

    Attributes
    ----------
    X : (D, N) float64 array, or scipy ``csc_array``. Read-only, and possibly memory-mapped.
        Missing entries hold 0.
    name : what the user calls it.
    features : D row names. observations : N column names.
    labels : name → (N,) array of strings; "" where an observation has no label.
    descriptions : name → (D,) array of strings: what a file says of each feature beside its name,
        such as its accession number or a description; "" where it says nothing.
    mask : (D, N) bool, True where X was observed; None when every entry was.
    hidden : (missing,) values of the missing entries, in the order of ``mask``'s False ones (row by
        row), where they were masked to test predictions; NaN where one is not known, None when
        none is. No run sees them.
    image_shape : (height, width) when a column is an image unfolded column-major.
    map_shape : (height, width) when the observations are the pixels of one image, column by column,
        so that a row of W is a map.
    unit : what one entry of X counts or measures ("counts", "grey level", …).
    features_are : what features are called, in the plural ("words", "genes", …); "" where unknown.
    source : origin and licence in a sentence.
    truth : exact factorizations that are known, for generated data.
    texts : the N texts that X was counted from; None where they are not stored.
    whole : all observations, where they are in blocks outside memory and X is a sample of them;
        see :meth:`from_blocks`.

    Examples
    --------
    >>> from bnmf_core import Dataset
    >>> data = Dataset.from_array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], features=["cat", "dog"])
    >>> data.D, data.N, data.features
    (2, 3, ('cat', 'dog'))
    >>> data.X[1]
    array([0., 3., 1.])
    """

    X: Matrix
    name: str
    features: tuple[str, ...]
    observations: tuple[str, ...]
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)
    mask: np.ndarray | None = None
    image_shape: tuple[int, int] | None = None
    unit: str = ""
    source: str = ""
    truth: tuple[Truth, ...] = ()
    hidden: np.ndarray | None = None
    features_are: str = ""
    map_shape: tuple[int, int] | None = None
    descriptions: Mapping[str, np.ndarray] = field(default_factory=dict)
    texts: Texts | None = None
    whole: AllObservations | None = None

    def __post_init__(self) -> None:
        """Store a sparse X by columns: compiled loops read it so, and would leave its memory."""
        if is_sparse(self.X) and self.X.format != "csc":
            object.__setattr__(self, "X", self.X.tocsc())

    @classmethod
    def from_array(
        cls,
        X: Given,
        *,
        features: Sequence[str] | None = None,
        observations: Sequence[str] | None = None,
        labels: Mapping[str, Words] | Words | None = None,
        mask: np.ndarray | None = None,
        image_shape: tuple[int, int] | None = None,
        name: str = "matrix",
        unit: str = "",
        source: str = "",
        truth: Sequence[Truth] = (),
        features_are: str = "",
        map_shape: tuple[int, int] | None = None,
        descriptions: Mapping[str, Words] | None = None,
        texts: Sequence[str] | None = None,
    ) -> "Dataset":
        """Check and wrap a matrix X (D, N), dense or scipy sparse; X itself is never changed.

        NaN means "not seen": it becomes a False in ``mask``. ``labels`` is one array of
        length N or a mapping from names to such arrays; ``descriptions`` is a mapping from names
        to arrays of length D. Names lose characters that cannot be seen, and a repeated name gets
        a number.

        A read-only memory map of float64 without missing entries is used where it lies, so
        that it may be larger than memory; anything else is copied.

        Raises
        ------
        DataError
            Naming the row and column of the first entry that is negative, infinite or not
            a number, or the length that does not fit.
        """
        checked, mask = checked_matrix(X, mask)
        D, N = checked.shape
        of_rows = checked_names(features, D, "feature", "features")
        of_columns = checked_names(observations, N, "observation", "observations")
        if labels is None:
            labels = {}
        elif not isinstance(labels, Mapping):
            labels = {"label": labels}
        check_pixels(image_shape, D, "features")
        check_pixels(map_shape, N, "observations")
        if texts is not None and len(texts) != N:
            raise DataError(f"{len(texts):,} texts were given for {N:,} observations.")
        check_cells(checked, of_rows, of_columns)
        return cls(
            X=read_only(checked),
            name=clean_name(name) or "matrix",
            features=of_rows,
            observations=of_columns,
            labels={str(key): checked_labels(key, value, N) for key, value in labels.items()},
            descriptions={
                str(key): checked_labels(key, value, D, "descriptions", "features")
                for key, value in (descriptions or {}).items()
            },
            mask=None if mask is None else read_only(mask),
            image_shape=None if image_shape is None else (int(image_shape[0]), int(image_shape[1])),
            map_shape=None if map_shape is None else (int(map_shape[0]), int(map_shape[1])),
            unit=unit,
            source=source,
            truth=tuple(truth),
            features_are=clean_name(features_are, LONGEST_NOUN),
            texts=None if texts is None else Texts.of(texts),
        )

    @classmethod
    def from_blocks(cls, source: Any, **described: Any) -> "Dataset":
        """A dataset larger than memory: X holds a sample, and runs read all of it in blocks.

        Parameters
        ----------
        source : path of an NPY file, a CSR matrix of scipy, an H5AD file, a Zarr folder or a
            Parquet table, or a :class:`~bnmf_core.blocks.source.Source`, such as that of a
            dask array. It is read where it lies.
        observations : whether they are in the "rows" of the store (the default) or its "columns".
        sample : how many observations are held in memory, drawn at random by ``seed``.
        labels : name → (N,) labels of all observations.
        block_bytes : how large a block of observations is, about.
        described : name, features, unit, features_are, … as of :meth:`from_array`.

        Raises
        ------
        DataError
            In a sentence, when the store cannot be read or holds what no X may.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from bnmf_core import Dataset, RunSpec, run
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(f"{folder}/X.npy", np.random.default_rng(0).random((2000, 6)))
        ...     data = Dataset.from_blocks(f"{folder}/X.npy", sample=500)
        ...     particles = run(data, RunSpec("random_restarts", rank=2, particles=3))
        >>> particles.A.shape, particles.W.shape
        ((3, 6, 2), (3, 2, 500))
        """
        found: Dataset = blocks_of.in_blocks(source, **described)
        return found

    @property
    def D(self) -> int:
        """Number of features (rows)."""
        return self.X.shape[0]

    @property
    def N(self) -> int:
        """Number of observations (columns)."""
        return self.X.shape[1]

    @property
    def all_N(self) -> int:
        """Number of observations, those outside memory among them."""
        return self.N if self.whole is None else self.whole.N

    @property
    def is_sparse(self) -> bool:
        """Whether X is stored as its non-zero entries only."""
        return is_sparse(self.X)

    @property
    def stored_entries(self) -> int:
        """Entries held in memory: the non-zeros of a sparse X, else D·N."""
        return int(self.X.nnz) if is_sparse(self.X) else self.D * self.N

    @cached_property
    def missing(self) -> int:
        """Number of entries that were not observed."""
        return 0 if self.mask is None else int(self.mask.size - self.mask.sum())

    @property
    def observed(self) -> int:
        """Number of entries that were observed, the zeros of a sparse X among them."""
        return self.D * self.N - self.missing

    @property
    def feature_noun(self) -> str:
        """The plural noun for features in sentences."""
        return self.features_are or ("pixels" if self.image_shape else "features")

    @property
    def of_words(self) -> bool:
        """Whether features are words: by what they are called, which the user may change."""
        return self.feature_noun.lower() in TEXT_NOUNS

    @cached_property
    def named(self) -> bool:
        """Whether features have names of their own, not only numbers."""
        return any(name != f"feature {d}" for d, name in enumerate(self.features, start=1))

    @property
    def namings(self) -> dict[str, Sequence[str]]:
        """Every D words that may name the features: "" → their names, key → descriptions."""
        return {"": self.features} | {key: of.tolist() for key, of in self.descriptions.items()}

    def described(self, d: int) -> str:
        """The descriptions of feature d in one line; "" without any.

        Examples
        --------
        >>> from bnmf_core import Dataset
        >>> words = {"id": ["L07633_at", "X70083_at"], "title": ["proteasome activator", ""]}
        >>> data = Dataset.from_array(
        ...     [[1.0, 2.0], [3.0, 0.0]], features=["PSME1", "X70083_at"], descriptions=words
        ... )
        >>> data.described(0), data.described(1)
        ('L07633_at, proteasome activator', '')
        """
        texts = dict.fromkeys(str(of[d]) for of in self.descriptions.values())
        return ", ".join(text for text in texts if text and text != self.features[d])

    @cached_property
    def axis(self) -> Axis | None:
        """The places of features along an axis, such as wavelengths; None where they are none."""
        return axis_of(self.features) if self.named and self.image_shape is None else None

    @cached_property
    def empty(self) -> str:
        """Which rows and columns hold nothing but zeros, in a sentence; "" where none does."""
        parts = []
        for axis, noun, names in (
            (1, self.feature_noun, self.features),
            (0, "observations", self.observations),
        ):
            zero = np.flatnonzero(np.asarray(self.X.sum(axis=axis)).ravel() == 0)
            if zero.size:
                named = ", ".join(names[i] or str(i + 1) for i in zero[:MOST_NAMED])
                more = ", …" if zero.size > MOST_NAMED else ""
                parts.append(f"{zero.size:,} of the {noun} ({named}{more})")
        if not parts:
            return ""
        return f"Zero throughout: {' and '.join(parts)}. They say nothing about the others."

    @cached_property
    def total(self) -> float:
        """ΣX over the observed entries."""
        return float(stored(self.X).sum())

    @cached_property
    def whole_numbers(self) -> bool:
        """Whether X holds whole numbers only, as counts are."""
        values = stored(self.X)
        return bool(np.array_equal(values, np.floor(values)))

    @property
    def mean(self) -> float:
        """Mean of the observed entries."""
        return self.total / self.observed

    @cached_property
    def hash(self) -> str:
        """SHA-256 (first 16 hex digits) of everything that can change a result or a view."""
        digest = hashlib.sha256()
        arrays: list[np.ndarray] = []
        by_columns = False
        if is_sparse(self.X):
            arrays += [self.X.data, self.X.indices.astype(np.int64), self.X.indptr.astype(np.int64)]
        else:
            by_columns = not self.X.flags.c_contiguous
        arrays += [part for part in (self.mask, self.hidden) if part is not None]
        order = (
            *(("by columns",) if by_columns else ()),
            *((self.features_are,) if self.features_are else ()),
            *((self.map_shape,) if self.map_shape else ()),
            *([(key, self.descriptions[key].tolist()) for key in sorted(self.descriptions)]),
        )
        words = (
            (self.X.shape, self.is_sparse, self.image_shape, self.name, self.unit, *order),
            (self.features, self.observations),
            [(key, self.labels[key].tolist()) for key in sorted(self.labels)],
            [truth.name for truth in self.truth],
            *((list(self.texts),) if self.texts is not None else ()),
            *((self.whole.key,) if self.whole is not None else ()),
        )
        digest.update(repr(words).encode())
        if not is_sparse(self.X):  # as it lies in memory, a block at a time
            X = self.X.T if by_columns else self.X
            for rows, columns in blocks(X):
                digest.update(np.ascontiguousarray(X[rows, columns]).data)
        for part in [*arrays, *(factor for t in self.truth for factor in (t.A, t.W))]:
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()[:16]

    @cached_property
    def squared_norm(self) -> float:
        """‖X‖²_F; a missing entry, which holds 0, adds nothing."""
        # In the order of memory: any other would copy X.
        values = np.ravel(stored(self.X), order="K")
        # Unlike a BLAS product, einsum adds in the same order whatever the thread count.
        return float(np.einsum("i,i->", values, values))

    def __repr__(self) -> str:
        kind = "sparse, " if self.is_sparse else ""
        many = self.N if self.whole is None else self.whole.N
        size = f"{self.D:,} {self.feature_noun} × {many:,} observations"
        if self.whole is not None:
            blocks = f"{self.whole.count:,} block{'s' * (self.whole.count > 1)}"
            size += f" in {blocks}, {self.N:,} of them in memory"
        return f"<Dataset {self.name!r}: {kind}{size}>"

    def _repr_html_(self) -> str:
        return html.of_dataset(self)

    def dense(self) -> np.ndarray:
        """X as a dense (D, N) array."""
        return dense(self.X)

    def hidden_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The values that were masked on purpose, in place, and where they are known.

        Returns
        -------
        (D, N) values, 0 elsewhere, and (D, N) bool; nowhere True when none is known.
        """
        values = np.zeros(self.X.shape)
        if self.hidden is None or self.mask is None:
            return values, np.zeros(self.X.shape, dtype=bool)
        values[~self.mask] = self.hidden
        known = ~self.mask & ~np.isnan(values)
        values[~known] = 0.0
        return values, known

    def why_not_all(self, what: str) -> str:
        """Why a result that needs all of X is not available, in a sentence; "" where it is."""
        if self.whole is None:
            return ""
        return (
            f"{what} would need all of X in memory; {self.name!r} is read in blocks, and a sample "
            f"of {self.N:,} observations is not enough for it."
        )

    def known_factorizations(self, rank: int) -> tuple[Truth, ...]:
        """The exact factorizations of this rank that are known.

        Raises
        ------
        SettingsError
            When none is known.
        """
        if not self.truth:
            raise SettingsError(
                f"No exact factorization of {self.name!r} is known to start from; choose data from "
                "one of the generators, or start otherwise."
            )
        fitting = tuple(truth for truth in self.truth if truth.A.shape[1] == rank)
        if not fitting:
            ranks = ", ".join(str(rank) for rank in sorted({t.A.shape[1] for t in self.truth}))
            raise SettingsError(
                f"The known factorizations of {self.name!r} have rank {ranks}, and the run has "
                f"rank {rank}; give the run that rank."
            )
        return fitting

    def columns(self, index: np.ndarray) -> "Dataset":
        """The dataset of the chosen observations only (integer indices, order kept)."""
        index = np.asarray(index)
        mask, hidden = self.mask, self.hidden
        if hidden is not None and mask is not None:
            values = np.zeros(self.X.shape)
            values[~mask] = hidden
            hidden = values[:, index][~mask[:, index]]
        if mask is not None:
            mask = mask[:, index]
            if mask.all():
                mask = hidden = None
        # ``take`` is faster than an index, and keeps the order of memory.
        chosen = self.X[:, index] if is_sparse(self.X) else np.take(self.X, index, axis=1)
        return dataclasses.replace(
            self,
            X=read_only(chosen),
            observations=tuple(self.observations[i] for i in index),
            labels={key: value[index] for key, value in self.labels.items()},
            mask=None if mask is None else read_only(mask),
            hidden=None if hidden is None else read_only(hidden),
            truth=tuple(Truth(t.name, t.A, t.W[:, index]) for t in self.truth),
            map_shape=self.map_shape if np.array_equal(index, np.arange(self.N)) else None,
            texts=None if self.texts is None else self.texts.chosen(index),
            whole=None,
        )
