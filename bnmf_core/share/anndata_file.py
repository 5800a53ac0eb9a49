"""Write data and a factorization as an AnnData file (H5AD) without the anndata package.

The layout follows AnnData's on-disk specification 0.1.0: every group and array has the attributes
``encoding-type`` and ``encoding-version``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.samples import sample_groups, sample_shares
from bnmf_core.core.checked import Words
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import is_sparse
from bnmf_core.version import VERSION

h5py = lazy("h5py")

USAGES, SPECTRA, FACTS, GROUP = "X_nmf", "NMF", "nmf", "nmf_group"
# Largest number of modes that are written.
MOST_MODES = 12
# Encoding versions other than 0.2.0.
OLDER = {"anndata": "0.1.0", "dict": "0.1.0", "csr_matrix": "0.1.0"}


def write_anndata(
    file: BinaryIO,
    dataset: Dataset,
    A: np.ndarray,
    W: np.ndarray,
    facts: Mapping[str, Any],
    called: Sequence[str] = (),
) -> None:
    """Write the data with one factorization; ``anndata.read_h5ad`` reads it.

    ``X`` is (N, D), observations by features; missing entries are NaN. ``obs`` has the labels and,
    as "nmf_group", the component with the largest share; ``var`` has the descriptions.
    ``obsm["X_nmf"]`` is Wᵀ (N, R), ``varm["NMF"]`` is A (D, R), and ``uns["nmf"]`` holds the facts.

    Parameters
    ----------
    A : (D, R). W : (R, N). facts : texts, numbers, arrays, and mappings of these.
    called : R names of components.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from bnmf_core import Dataset, load_file
    >>> from bnmf_core.share.anndata_file import write_anndata
    >>> A, W = np.array([[1.0], [2.0]]), np.array([[1.0, 0.5, 2.0]])
    >>> data, file = Dataset.from_array(A @ W, features=["MYC", "TP53"]), io.BytesIO()
    >>> write_anndata(file, data, A, W, {"rank": 1})
    >>> load_file(file.getvalue(), filename="cells.h5ad").features
    ('MYC', 'TP53')
    """
    with h5py.File(file, "w") as made:
        _is(made, "anndata")
        if is_sparse(dataset.X):
            # X by columns is its transpose by rows.
            group = _is(made.create_group("X"), "csr_matrix")
            group.attrs["shape"] = (dataset.N, dataset.D)
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(dataset.X, name)
        else:
            seen = dataset.dense()
            values = seen if dataset.mask is None else np.where(dataset.mask, seen, np.nan)
            _put(made, "X", values.T)
        names = [*numbered(called, len(W)), ""]  # "" at −1, where an observation is in none
        groups = [names[r] for r in sample_groups(sample_shares(A, W))]
        labels: dict[str, Words] = {**dataset.labels, GROUP: groups}
        _frame(made, "obs", dataset.observations, labels)
        _frame(made, "var", dataset.features, dataset.descriptions)
        for name, held in (
            ("obsm", {USAGES: W.T}),
            ("varm", {SPECTRA: A}),
            ("uns", {FACTS: facts}),
            *((name, {}) for name in ("layers", "obsp", "varp")),
        ):
            _put(made, name, held)


def facts_of(
    comparison: Comparison, A: np.ndarray, W: np.ndarray, modes: Sequence[str]
) -> dict[str, Any]:
    """Metadata of a comparison for ``uns``: program, data, runs, each mode's spectra and usages.

    A (K, D, R) and W (K, R, N) of K modes, matched with the first; ``modes`` : K names.
    """
    return {
        "program": f"bnmf {VERSION}",
        "data": comparison.dataset.name,
        "data_hash": comparison.dataset.hash,
        "unit": comparison.dataset.unit,
        "rank": comparison.rank,
        "mode": modes[0],
        # As text, because open settings have no value.
        "runs": json.dumps([run.spec.to_dict() for run in comparison.runs]),
        "modes": {
            name: {"spectra": basis, "usages": weights.T}
            for name, basis, weights in zip(modes, A, W, strict=True)
        },
    }


def _is(place: Any, kind: str) -> Any:
    place.attrs["encoding-type"], place.attrs["encoding-version"] = kind, OLDER.get(kind, "0.2.0")
    return place


def _put(group: Any, name: str, value: Any) -> None:
    """Write a text, a number, an array or a mapping of these."""
    if isinstance(value, Mapping):
        inner = _is(group.create_group(name), "dict")
        for key, one in value.items():
            # A slash would create a subgroup.
            _put(inner, str(key).replace("/", "∕"), one)
    elif isinstance(value, str):
        _is(group.create_dataset(name, data=value, dtype=h5py.string_dtype()), "string")
    elif np.ndim(value) == 0:
        _is(group.create_dataset(name, data=value), "numeric-scalar")
    elif np.asarray(value).dtype.kind in "OUS":
        words = np.asarray(value, dtype=object)
        _is(group.create_dataset(name, data=words, dtype=h5py.string_dtype()), "string-array")
    else:
        _is(group.create_dataset(name, data=np.ascontiguousarray(value)), "array")


def _frame(made: Any, name: str, index: Sequence[str], columns: Mapping[str, Words]) -> None:
    group = _is(made.create_group(name), "dataframe")
    columns = {key.replace("/", "∕"): words for key, words in columns.items() if key != "_index"}
    group.attrs["_index"] = "_index"
    group.attrs["column-order"] = np.array(list(columns), dtype=h5py.string_dtype())
    _put(group, "_index", index)
    for key, words in columns.items():
        _column(group, key, np.asarray(words, dtype=object))


def _column(group: Any, key: str, words: np.ndarray) -> None:
    """Write repeated words as a categorical column, empty ones as missing; others as strings."""
    categories = sorted({word for word in words if word})
    if not 0 < len(categories) <= words.size // 2:
        _put(group, key, words)
        return
    number = {word: code for code, word in enumerate(categories)}
    column = _is(group.create_group(key), "categorical")
    column.attrs["ordered"] = False
    _put(column, "categories", np.array(categories, dtype=object))
    _put(column, "codes", np.array([number.get(word, -1) for word in words], dtype=np.int32))
