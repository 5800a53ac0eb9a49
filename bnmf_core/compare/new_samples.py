"""New samples by known components: weights at fixed A, and how well each sample fits."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.samples import sample_groups, sample_shares
from bnmf_core.core.axis import interpolated
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.data.channels import named
from bnmf_core.data.matching import SharedFeatures, shared_features, spelling
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import dense, stored
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, solve_with
from bnmf_core.solvers.weights import weights_given

stats = lazy("scipy.stats")

# A sample that fits worse than this fraction of the analysed ones is marked.
USUAL = 0.95
WORSE = f"worse than {100 * USUAL:.0f} % of the analysed"
# Analysed samples are left out a fifth at a time. Components that are refitted without them start
# where they were, and so stay in their mode, off the zeros where slopes of logarithms end.
FOLDS, SMALL = 5, 1e-9
REFIT = Stopping(500, None, gain=0.1)
# p-value below which the number of marked samples is significant.
LEVEL = 0.05
# Misfits that differ by less are rounding, as where AW = X.
NEGLIGIBLE = 1e-5


@dataclass(frozen=True, eq=False)
class NewSamples:
    """N new samples by the components of K factorizations.

    Attributes
    ----------
    W : (K, R, N) weights. shares : (K, R, N) of :func:`~bnmf_core.compare.samples.sample_shares`.
    misfit : (K, N) what the components leave unexplained of each new sample, in the measure of the
        loss; NaN of a sample of zeros. usual : (K, n) the same of the analysed
        samples, each left out when the components were refitted.
    measure : what it is called. matched : which features were used, in sentences.
    """

    W: np.ndarray
    shares: np.ndarray
    misfit: np.ndarray
    usual: np.ndarray
    measure: str
    matched: str

    @property
    def limits(self) -> np.ndarray:
        """(K,) the misfit that 95 % of the analysed samples do not exceed."""
        return np.asarray(np.nanquantile(self.usual, USUAL, axis=1))

    @property
    def unlike(self) -> np.ndarray:
        """(K, N) True for samples that fit worse than 95 % of the analysed ones."""
        return np.asarray(self.misfit > self.limits[:, None] + NEGLIGIBLE)

    @property
    def groups(self) -> np.ndarray:
        """(K, N) the component with the largest share; −1 where all are 0."""
        return sample_groups(self.shares)


def apply_components(
    A: np.ndarray, known: Dataset, new: Dataset, loss: Loss, *, leave_out: bool = False
) -> NewSamples:
    """Weights of new samples that make the loss smallest, each basis held fixed.

    Features are matched by name, along an axis by :func:`at_places`; those that ``known`` lacks are
    ignored. The misfit of a sample is what the loss shows of a matrix of that one column, as
    ‖x − Aw‖/‖x‖ for the squared error. For the analysed samples
    components are refitted without them, a fifth at a time: components fit the samples that they
    were fitted to better than any others.

    Parameters
    ----------
    A : (K, D, R) bases. known : the D features and the samples that were analysed.
    new : the new samples. leave_out : fit without the features that ``new`` lacks.

    Raises
    ------
    DataError
        When ``new`` lacks features and they are not to be left out, or shares none.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.compare.new_samples import apply_components
    >>> from bnmf_core.core.squared_error import SQUARED_ERROR
    >>> A = np.array([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.1]]])
    >>> known = Dataset.from_array(A[0] @ np.eye(2), features=["a", "b", "c"])
    >>> new = Dataset.from_array([[0.2, 0], [2, 0], [3, 5]], features=["c", "b", "a"])
    >>> apply_components(A, known, new, SQUARED_ERROR).W.round(6).tolist()
    [[[3.0, 5.0], [2.0, 0.0]]]
    """
    new, shared = features_used(known, new, leave_out)
    A = np.asarray(A, dtype=np.float64)
    basis = A[:, shared.first]
    new, known = _of_features(new, shared.second), _of_features(known, shared.first)
    W = weights_given(new, basis, loss)
    usual = _left_out(known, basis, loss)
    misfit = _misfits(new, basis, W, loss)
    return NewSamples(W, sample_shares(A, W), misfit, usual, loss.measure, shared.summary)


def features_used(known: Dataset, new: Dataset, leave_out: bool) -> tuple[Dataset, SharedFeatures]:
    """New samples, interpolated if necessary, and the features that fit them.

    Raises as :func:`apply_components` does.
    """
    between = at_places(known, new)
    shared = shared_features(known, new if between is None else between)
    if between is not None:
        _, _, lacking = shared.summary.partition(".")
        places = f"to {between.D:,} of {known.D:,} analysed places, from {new.D:,} of their own"
        sentence = f"The new samples are interpolated {places}.{lacking}"
        new, shared = between, dataclasses.replace(shared, summary=sentence)
    if shared.only_first and not leave_out:
        raise DataError(
            f"{shared.summary} Bring samples with all features, or allow that these are left out "
            "of the fit."
        )
    return new, shared


def at_places(known: Dataset, new: Dataset) -> Dataset | None:
    """New samples on straight lines between their own places, at those of the analysed data.

    Places outside of their range are left out. None where a name for each feature is there, and
    where the features of either have no axis, or another unit.

    Raises
    ------
    DataError
        When all places are outside.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.compare.new_samples import at_places
    >>> x = np.arange(400, 500, 10)
    >>> known = Dataset.from_array(np.ones((10, 2)), features=[f"{nm} nm" for nm in x])
    >>> new = Dataset.from_array(x[:, None] * [1.0, 2], features=[f"{nm + 5} nm" for nm in x])
    >>> found = at_places(known, new)
    >>> found.features[0], found.X[0].round(6).tolist()
    ('410 nm', [405.0, 810.0])
    """
    wanted, held = known.axis, new.axis
    if wanted is None or held is None or (wanted.unit and held.unit and wanted.unit != held.unit):
        return None
    if set(map(spelling, known.features)) <= set(map(spelling, new.features)):
        return None
    low, high = held.values.min(), held.values.max()
    inside = np.flatnonzero((wanted.values >= low) & (wanted.values <= high))
    if not inside.size:
        first, last = wanted.values.min(), wanted.values.max()
        raise DataError(
            f"The new samples cover {low:g} to {high:g} {held.unit}".rstrip()
            + f", the analysed ones {first:g} to {last:g}; they share none."
        )
    values = dense(new.X) if new.mask is None else np.where(new.mask, dense(new.X), np.nan)
    return Dataset.from_array(
        interpolated(held, values, wanted.values[inside]),
        features=[known.features[d] for d in inside],
        observations=new.observations,
        name=new.name,
    )


def _of_features(data: Dataset, rows: np.ndarray) -> Dataset:
    """The data with these features alone, in this order."""
    return dataclasses.replace(
        data,
        X=data.X[rows],
        features=tuple(data.features[d] for d in rows),
        mask=None if data.mask is None else data.mask[rows],
        descriptions={},
        hidden=None,
        image_shape=None,
        truth=(),
    )


def _left_out(known: Dataset, A: np.ndarray, loss: Loss) -> np.ndarray:
    """The misfit (K, n) of every analysed sample by components refitted without it."""
    usual = np.full((len(A), known.N), np.nan)
    for fold in range(FOLDS):
        out = np.arange(known.N) % FOLDS == fold
        if not out.any():
            continue
        seen, unseen = (known.columns(np.flatnonzero(some)) for some in (~out, out))
        problem = Problem.without_model(seen, A.shape[2], loss=loss)
        W = np.maximum(weights_given(seen, A, loss), SMALL)
        refitted = solve_with(usual_solver(problem), problem, np.maximum(A, SMALL), W, REFIT)[0]
        usual[:, out] = _misfits(unseen, refitted, weights_given(unseen, refitted, loss), loss)
    return usual


def _misfits(data: Dataset, A: np.ndarray, W: np.ndarray, loss: Loss) -> np.ndarray:
    """Measure of fit of each column by itself (K, N); NaN for a column of zeros."""
    f = loss.by_observation(Problem.without_model(data, A.shape[2], loss=loss), A, W)
    found = np.full(f.shape, np.nan)
    for n in range(data.N):
        column = data.columns(np.array([n]))
        if stored(column.X).any():
            found[:, n] = loss.measured(column, f[:, n])
    return found


def describe_fit(found: NewSamples, mode: int, called: str, observations: Sequence[str]) -> str:
    """How many new samples fit worse than 95 % of the analysed ones in a mode; a sentence."""
    unlike, count = np.flatnonzero(found.unlike[mode]), found.misfit.shape[1]
    if not unlike.size:
        return f"No new sample fits {WORSE} ones in {called}."
    worst = unlike[np.argsort(-found.misfit[mode, unlike], kind="stable")]
    sentence = (
        f"{unlike.size:,} of {count:,} new samples fit {WORSE} "
        f"ones in {called} ({named([observations[n] for n in worst.tolist()])}), where "
        f"{(1 - USUAL) * count:.3g} are expected."
    )
    if stats.binom.sf(unlike.size - 1, count, 1 - USUAL) < LEVEL:
        return f"{sentence} Samples as these are not made of these components alone."
    return f"{sentence} So many may be chance."


def describe_largest(found: NewSamples, modes: Sequence[str], observations: Sequence[str]) -> str:
    """Whether the largest component of a sample depends on the mode; "" for one mode.

    Components of the modes have to be matched.
    """
    if len(modes) == 1:
        return ""
    differing = np.flatnonzero((found.groups != found.groups[0]).any(axis=0))
    if not differing.size:
        return f"The largest component of every sample is the same in all {len(modes)} modes."
    few = named([observations[n] for n in differing.tolist()])
    return (
        f"The largest component depends on the mode for {differing.size:,} of "
        f"{found.groups.shape[1]:,} samples: {few}."
    )


def new_samples_table(
    found: NewSamples, modes: Sequence[str], observations: Sequence[str], called: Sequence[str]
) -> pd.DataFrame:
    """A row for each sample in each mode: its largest component, misfit, shares and weights.

    modes : K names. called : R names of components.
    """
    tables = []
    for k, mode in enumerate(modes):
        table = pd.DataFrame({"mode": mode, "observation": list(observations)})
        groups = found.groups[k].tolist()
        table["largest component"] = [called[r] if r >= 0 else "none" for r in groups]
        table[found.measure] = found.misfit[k]
        table["fits worse than 95 %"] = found.unlike[k]
        for r, name in enumerate(called):
            table[f"share of {name}"] = found.shares[k, r]
            table[f"weight of {name}"] = found.W[k, r]
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
