"""Open the dashboard from a notebook on data and factorizations in memory."""

import atexit
import subprocess
import warnings
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.data.foreign import Foreign, check, inner_products
from bnmf_core.notebook import server
from bnmf_core.posterior.places import problem_of
from bnmf_core.runs.foreign import as_runs, keep
from bnmf_core.store.home import data_home
from bnmf_core.store.run_store import RunStore

# Tolerances between the stored error of particles and their error on the data.
RELATIVE, ABSOLUTE = 1e-3, 1e-6


class Dashboard:
    """A server that runs until it is closed or Python exits.

    Attributes
    ----------
    url : for a browser on this machine. run_ids : of the runs that it shows.
    """

    def __init__(self, process: subprocess.Popen[bytes], url: str, run_ids: Sequence[str]) -> None:
        self.url = url
        self.run_ids = list(run_ids)
        self._process = process
        atexit.register(self.close)

    def close(self) -> None:
        """Stop the server; stored data remain."""
        atexit.unregister(self.close)
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Dashboard":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "running" if self._process.poll() is None else "closed"
        return f"<Dashboard {self.url} ({state})>"

    def _repr_html_(self) -> str:
        return f"<a href='{escape(self.url)}' target='_blank'>{escape(repr(self))}</a>"


def explore(
    data: Any,
    factorizations: Sequence[Any] = (),
    *,
    observations: Literal["rows", "columns"] = "rows",
    name: str = "Data of a notebook",
    home: str | Path | None = None,
    open_browser: bool = True,
) -> Dashboard:
    """Open the dashboard on data, or on factorizations of them.

    Data and factorizations are stored like those of the app, identical ones once.

    Parameters
    ----------
    data : a :class:`bnmf_core.Dataset`, which has labels and names, or a matrix: an array, a SciPy
        sparse matrix or a DataFrame, whose index and columns name its rows and columns.
    factorizations : each of them :class:`bnmf_core.Particles`; a fitted
        :class:`bnmf_core.PosteriorNMF`, ``sklearn.decomposition.NMF`` or what has ``transform`` and
        ``components_`` like it; or a pair of matrices whose product is nearly ``data`` as they are
        given: (A, W) of a Dataset, (W, H) of an X with observations in rows.
    observations : whether they are rows of a matrix, as in scikit-learn, or columns.
    name : of a matrix in the app.
    home : folder of the store, by default that of the app.
    open_browser : whether to open a browser on it.

    Returns
    -------
    Dashboard with ``url`` and ``close()``, ready to use.

    Raises
    ------
    DataError
        When an entry is negative, a shape does not fit, or a factorization is none of these.
    RunError
        When Streamlit is not installed, or the server does not start.

    Examples
    --------
    >>> from bnmf_core import explore, laurberg
    >>> from sklearn.decomposition import NMF
    >>> data = laurberg("two")
    >>> nmf = NMF(3, init="random", random_state=0, max_iter=2000, tol=1e-6).fit(data.X.T)
    >>> with explore(data, [nmf], home="kept", open_browser=False) as dashboard:
    ...     print(len(dashboard.run_ids), dashboard.url.startswith("http://127.0.0.1:"))
    1 True
    """
    if observations not in ("rows", "columns"):
        raise SettingsError(f"observations was {observations!r}; give 'rows' or 'columns'.")
    server.command(0)  # raises before anything is stored if the app is not installed
    dataset = _dataset(data, observations, name)
    by_rows = observations == "rows" and not isinstance(data, Dataset)
    found = [_converted(one, dataset, by_rows, i) for i, one in enumerate(factorizations)]
    made = [(one, "") for one in found if isinstance(one, Particles)]
    made += as_runs(dataset, [one for one in found if isinstance(one, Foreign)])
    folder = data_home() if home is None else Path(home)
    store = RunStore(folder)
    dataset_id = store.add_dataset(dataset)
    run_ids = [_stored_run(store, dataset_id, particles, called) for particles, called in made]
    process, address = server.started(folder)
    # Only runs with the same rank and the same holdout can be compared.
    kinds = [(particles.R, particles.spec.holdout) for particles, _ in made]
    shown = dict.fromkeys(i for i, kind in zip(run_ids, kinds, strict=True) if kind == kinds[0])
    place = f"overview?runs={','.join(shown)}" if shown else f"data?data={dataset_id}"
    dashboard = Dashboard(process, f"{address}/{place}", run_ids)
    if open_browser:
        webbrowser.open(dashboard.url)
    return dashboard


def _dataset(data: Any, observations: str, name: str) -> Dataset:
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Particles) or hasattr(data, "particles_"):
        raise DataError(
            "Factorizations were given without their data; give the data first: "
            "explore(X, [factorizations])."
        )
    rows = columns = None
    if isinstance(data, pd.DataFrame):
        columns = [str(one) for one in data.columns]
        rows = None if isinstance(data.index, pd.RangeIndex) else [str(one) for one in data.index]
        data = data.to_numpy()
    X: Any = data if sparse.issparse(data) else np.asarray(data)
    if observations == "columns":
        return Dataset.from_array(X, features=rows, observations=columns, name=name)
    return Dataset.from_array(X.T, features=columns, observations=rows, name=name)


def _converted(value: Any, dataset: Dataset, by_rows: bool, number: int) -> Particles | Foreign:
    """Convert a factorization; ``by_rows`` : a pair belongs to the transposed data."""
    called = f"{type(value).__name__} {number + 1}"
    value = getattr(value, "particles_", value)
    if isinstance(value, Particles):
        _check_made_of(value, dataset)
        return value
    if hasattr(value, "transform"):
        if not hasattr(value, "components_"):
            raise DataError(f"{called} is not fitted; call its fit(X) first.")
        H = np.asarray(value.components_, dtype=np.float64)
        if H.shape[1] != dataset.D:
            raise DataError(
                f"{called} was fitted to {H.shape[1]} features, and the data have {dataset.D}; "
                "give the data that it was fitted to."
            )
        samples: Any = dataset.X.T
        if (names := getattr(value, "feature_names_in_", None)) is not None:
            samples = pd.DataFrame(dataset.dense().T, columns=names)
        A, W = H.T, np.asarray(value.transform(samples), dtype=np.float64).T
    elif isinstance(value, tuple | list) and len(value) == 2:
        left, right = (np.asarray(one, dtype=np.float64) for one in value)
        A, W = (right.T, left.T) if by_rows else (left, right)
        called = f"Pair {number + 1}"
        if (
            A.ndim != 2
            or W.ndim != 2
            or (len(A), A.shape[1], W.shape[1]) != (dataset.D, len(W), dataset.N)
        ):
            shape = (dataset.N, dataset.D) if by_rows else (dataset.D, dataset.N)
            raise DataError(
                f"The matrices of {called.lower()} are {left.shape} and {right.shape}; "
                f"({shape[0]}, R) and (R, {shape[1]}) are needed, whose product is nearly the data."
                " Give observations='columns' where the columns of a matrix are observations."
            )
    else:
        raise DataError(
            f"Factorization {number + 1} is of type {type(value).__name__}; give Particles, a "
            "fitted PosteriorNMF or NMF, or a pair of matrices."
        )
    found = Foreign(called, A, W, source=called.rpartition(" ")[0])
    check(found)
    if _worse_than_means(found, dataset):
        warnings.warn(
            f"{called} fits the data worse than the mean of each feature alone: is it a "
            "factorization of these data?",
            UserWarning,
            stacklevel=3,
        )
    return found


def _worse_than_means(found: Foreign, dataset: Dataset) -> bool:
    """Whether A W, optimally scaled, is farther from X than the means of features."""
    seen = dataset.N if dataset.mask is None else dataset.mask.sum(axis=1)
    means = np.asarray(dataset.X.sum(axis=1)).ravel() / np.maximum(seen, 1)
    errors = []
    for A, W in ((found.A, found.W), (means[:, None], np.ones((1, dataset.N)))):
        inner, squared = inner_products(A, W, dataset)
        errors.append(-(inner**2) / max(squared, 1e-300))
    return errors[0] > errors[1]


def _check_made_of(particles: Particles, dataset: Dataset) -> None:
    """Refuse factorizations whose error on these data differs from the stored one."""
    problem = problem_of(particles, dataset)
    f = problem.loss.values(problem, particles.A[:1], particles.W[:1])
    error = float(problem.loss.measured(problem.dataset, f)[0])
    if not np.isclose(error, particles.error[0], rtol=RELATIVE, atol=ABSOLUTE):
        raise DataError(
            f"The first factorization has the error {particles.error[0]:.4g}, and {error:.4g} on "
            f"{dataset.name!r}; give the data that were factorized."
        )


def _stored_run(store: RunStore, dataset_id: str, particles: Particles, name: str) -> str:
    """The stored run with identical particles, else a new one."""
    for run in store.runs():
        alike = (run.dataset, run.spec, run.status) == (dataset_id, particles.spec, "complete")
        if alike and store.particles(run.id).digest == particles.digest:
            return run.id
    return keep(store, dataset_id, particles, name)
