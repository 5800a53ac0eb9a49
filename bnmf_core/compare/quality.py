"""Quality of factorizations: relative to a reference run, and on masked entries."""

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.loss import Loss
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.repair import fill_with_feature_means

FACTOR = 10.0


def within_error(
    particles: Particles, reference: Particles | float, factor: float = FACTOR
) -> np.ndarray:
    """Whether ‖X − AW‖_F is at most ``factor`` × the reference run's largest.

    With random restarts and a Gibbs run of the same data these are the "filtered random
    restarts" of paper 1, section 4.2: poor local optima are left out.

    Parameters
    ----------
    particles, reference : Particles of runs that saw the same data: their relative errors
        ‖X − AW‖/‖X‖ are compared, so that the norm of X cancels. ``reference`` may also be
        that largest relative error itself.

    Returns
    -------
    (M,) bool.

    Raises
    ------
    SettingsError
        When the factor is not above 0.
    DataError
        When the runs saw different data, or the reference is empty.
    """
    if not (np.isfinite(factor) and factor > 0):
        raise SettingsError(f"The factor was {factor!r}; a finite number above 0 is needed.")
    if isinstance(reference, int | float):
        largest = float(reference)
    else:
        _check_same_data(particles, reference)
        largest = float(np.max(reference.error))
    return np.asarray(particles.error) <= factor * largest


def hidden_errors(
    dataset: Dataset, A: np.ndarray, W: np.ndarray, loss: Loss = SQUARED_ERROR
) -> np.ndarray | None:
    """The measure of fit of each factorization over the entries that were masked on purpose.

    That of the squared error is ‖X − AW‖/‖X‖.

    Parameters
    ----------
    dataset : the data that the factorizations were made of. A : (M, D, R). W : (M, R, N).

    Returns
    -------
    (M,), or None where no hidden value above zero is known.
    """
    values, known = dataset.hidden_entries()
    if not values.any():
        return None
    hidden = Dataset.from_array(values, mask=known, name=dataset.name)
    problem = Problem.without_model(hidden, A.shape[2], loss=loss)
    return loss.measured(hidden, loss.values(problem, A, W))


def hidden_error_of_means(dataset: Dataset, loss: Loss = SQUARED_ERROR) -> float | None:
    """:func:`hidden_errors` of putting the mean of each feature's seen entries in every gap."""
    if not dataset.hidden_entries()[0].any():
        return None
    filled = np.asarray(fill_with_feature_means(dataset).X)
    found = hidden_errors(dataset, filled[None], np.eye(dataset.N)[None], loss)
    return float(found[0]) if found is not None else None


def _check_same_data(particles: Particles, reference: Particles) -> None:
    if not len(reference.error):
        raise DataError("The reference run holds no factorization to compare with.")
    sizes = [(run.A.shape[1], run.W.shape[2]) for run in (particles, reference)]
    if sizes[0] != sizes[1]:
        raise DataError(
            f"The factorizations are of a {sizes[0][0]}×{sizes[0][1]} matrix, the reference run's "
            f"of a {sizes[1][0]}×{sizes[1][1]} one; both must have seen the same data."
        )
    names = [run.info.get("dataset") for run in (particles, reference)]
    if None not in names and names[0] != names[1]:
        raise DataError(
            f"The factorizations are of {names[0]!r}, the reference run's of {names[1]!r}; both "
            "must have seen the same data."
        )
