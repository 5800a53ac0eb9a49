"""Does the choice of factorization change what a classifier can tell (paper 3, figures 6, 8)?

Every factorization's weights W are the features of the observations; a classifier is trained
on them, and its area under the ROC curve (AUC) is measured on observations it has not seen.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, NotFoundError, SettingsError, raise_if_cancelled
from bnmf_core.core.loss import Loss
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.lazy import lazy
from bnmf_core.solvers.weights import weights_given

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

linear_model = lazy("sklearn.linear_model")
model_selection = lazy("sklearn.model_selection")
pipeline = lazy("sklearn.pipeline")
preprocessing = lazy("sklearn.preprocessing")
stats = lazy("scipy.stats")

# Scores that differ by less are equal.
TIED = 1e-12


@dataclass(frozen=True)
class _Plan:
    """Who trains and who is judged, the same for every factorization."""

    observations: np.ndarray  # (n,) columns of X that take part
    codes: np.ndarray  # (n,) class of each, as a position in ``tasks``
    tasks: tuple[str, ...]
    folds: tuple[tuple[np.ndarray, np.ndarray], ...]  # (train, test) positions among the n
    left_out: dict[str, int]

    @property
    def members(self) -> np.ndarray:
        """(n, K) bool: which of the observations that are judged, in that order, are in a class."""
        judged = np.concatenate([test for _, test in self.folds])
        return self.codes[judged, None] == np.arange(len(self.tasks))


def standard_error(auc: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Standard error of areas under the ROC curve, from the numbers of members and non-members.

    What chance in the observations does to an area, the classifier given: Hanley & McNeil (1982),
    The meaning and use of the area under a ROC curve, Radiology 143, equation 1 with Q1 = a/(2 − a)
    and Q2 = 2a²/(1 + a).

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.downstream import standard_error
    >>> standard_error(np.array(0.9), np.array(20), np.array(40)).round(3)
    np.float64(0.049)
    """
    first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = (positive - 1) * (first - auc**2) + (negative - 1) * (second - auc**2)
    return np.sqrt((auc * (1 - auc) + spread) / (positive * negative))


def downstream_auc(
    A: np.ndarray,
    dataset: Dataset,
    label: str,
    held_out: np.ndarray | None = None,
    folds: int = 5,
    seed: int = 0,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    max_classes: int = 100,
    loss: Loss = SQUARED_ERROR,
) -> pd.DataFrame:
    """AUC of predicting each class of a label from each factorization's weights.

    For every factorization the weights of all observations are solved with its A held fixed (for
    the squared error by non-negative least squares), standardised on the training observations and
    given to one multinomial logistic regression. A class's AUC is one-vs-rest: the chance
    that a member gets a higher probability of the class than a non-member, pooled over all
    observations judged. All factorizations share one set of folds.

    Parameters
    ----------
    A : (M, D, R) bases.
    dataset : with labels; observations whose label is "" are skipped.
    label : which of the dataset's labels to predict.
    held_out : integer indices of observations the factorization did not see. With them the
        classifier trains on all the others and is judged on these only. Without them every
        observation is judged once, in stratified cross-validation; A has then seen them,
        their labels it has not.
    folds : number of cross-validation folds. seed : shuffles observations into folds.
    on_progress : called with the fraction done. cancel : checked before each factorization.
    max_classes : only the most frequent classes take part. loss : minimized by the weights.

    Returns
    -------
    A row per factorization and class: ``particle`` (0 to M − 1), ``label``, ``task`` (the
    class), ``auc`` (0.5 is chance) and ``n_positive`` (members judged). ``attrs["left_out"]``
    maps classes that could not take part (too few members) to their number of members.

    Raises
    ------
    NotFoundError
        When the dataset has no such label; lists the ones it has.
    SettingsError
        For folds below 2 or held-out indices that are not observations.
    DataError
        When fewer than two classes can be judged, or A does not fit.
    Cancelled
        When ``cancel()`` returned True.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset, downstream_auc
    >>> X = np.array([[5.0, 1.0] * 10, [1.0, 5.0] * 10])
    >>> data = Dataset.from_array(X, labels={"kind": ["long", "short"] * 10})
    >>> downstream_auc(np.eye(2)[None], data, "kind")[["task", "auc"]]
        task  auc
    0   long  1.0
    1  short  1.0
    """
    plan = _plan(dataset, label, held_out, folds, seed, max_classes)
    members, M, K = plan.members, A.shape[0], len(plan.tasks)
    judged = _judged(A, dataset, plan, loss, on_progress, cancel)
    scores = np.array([area_under_curve(probabilities, members) for probabilities in judged])
    table = pd.DataFrame(
        {
            "particle": np.repeat(np.arange(M), K),
            "label": label,
            "task": np.tile(np.array(plan.tasks), M),
            "auc": scores.ravel(),
            "n_positive": np.tile(members.sum(axis=0), M),
        }
    )
    table.attrs["left_out"] = plan.left_out
    return table


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of every factorization's classifier for the judged observations.

    tasks : the K classes. members : (n, K) bool, which observations are in them.
    probabilities : (M, n, K). left_out : classes that could not take part → their members.
    """

    tasks: tuple[str, ...]
    members: np.ndarray
    probabilities: np.ndarray
    left_out: dict[str, int]


def predictions(
    A: np.ndarray,
    dataset: Dataset,
    label: str,
    held_out: np.ndarray | None = None,
    folds: int = 5,
    seed: int = 0,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    max_classes: int = 100,
    loss: Loss = SQUARED_ERROR,
) -> Predictions:
    """The probabilities behind :func:`downstream_auc`, which has the same arguments and errors."""
    plan = _plan(dataset, label, held_out, folds, seed, max_classes)
    probabilities = np.stack(list(_judged(A, dataset, plan, loss, on_progress, cancel)))
    return Predictions(plan.tasks, plan.members, probabilities, plan.left_out)


def best_per_task(table: pd.DataFrame) -> pd.DataFrame:
    """The best factorization for each task of a :func:`downstream_auc` table.

    Returns
    -------
    A row per task: ``label``, ``task``, ``particle`` (the lowest of equals), ``auc``, and over
    all factorizations ``mean``, ``worst`` and ``difference`` (best − worst), ``n_positive``.
    """
    groups = table.groupby(["label", "task"], sort=False)["auc"]
    best = table.loc[groups.idxmax()].reset_index(drop=True)
    summary = groups.agg(mean="mean", worst="min").reset_index(drop=True)
    best = best[["label", "task", "particle", "auc", "n_positive"]].join(summary)
    return best.assign(difference=best["auc"] - best["worst"])


def winners(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a :func:`downstream_auc` table that are the best of their task, ties and all."""
    tops = table.groupby(["label", "task"], sort=False)["auc"].transform("max")
    return table[table["auc"] >= tops - TIED]


def winners_that_suffice(table: pd.DataFrame) -> int:
    """A number of factorizations among which every task has one of its best.

    One that is as good as any other at every task counts once, however many tie with it: they are
    picked one by one, each the best of most tasks that are left (a greedy cover, Chvátal 1979).
    ``table`` is one of :func:`downstream_auc`.
    """
    of_task = winners(table).groupby(["label", "task"])
    left = {key: set(part["particle"]) for key, part in of_task}
    count = 0
    while left:
        wins = Counter(particle for particles in left.values() for particle in particles)
        best, _ = min(wins.items(), key=lambda item: (-item[1], item[0]))
        left = {key: particles for key, particles in left.items() if best not in particles}
        count += 1
    return count


def area_under_curve(scores: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of each column, ties counted half (Mann–Whitney U).

    Parameters
    ----------
    scores : (n, K). members : (n, K) bool; every column needs members and non-members.

    Returns
    -------
    (K,) values from 0 to 1.
    """
    positive = members.sum(axis=0)
    negative = members.shape[0] - positive
    rank_sum = np.where(members, stats.rankdata(scores, axis=0), 0.0).sum(axis=0)
    return (rank_sum - positive * (positive + 1) / 2) / (positive * negative)


def classifier() -> "Pipeline":
    """The classifier every factorization gets: scaling learnt with it, then a linear model.

    Scaling makes the result independent of the arbitrary scale between A and W.
    """
    # newton-cg takes as long as the default solver, converges further, and is not slowed down
    # by threads; newton-cholesky is ten times slower with forty classes.
    regression = linear_model.LogisticRegression(solver="newton-cg", max_iter=1000)
    return pipeline.make_pipeline(preprocessing.StandardScaler(), regression)


def _plan(
    dataset: Dataset,
    label: str,
    held_out: np.ndarray | None,
    folds: int,
    seed: int,
    max_classes: int,
) -> _Plan:
    if label not in dataset.labels:
        known = ", ".join(dataset.labels) or "none"
        raise NotFoundError(f"{dataset.name} has no label {label!r}; its labels are {known}.")
    values = dataset.labels[label]
    unseen = None if held_out is None else _unseen(held_out, values.size)
    names, counts = np.unique(values[values != ""], return_counts=True)
    if unseen is not None:
        judged = np.array([(values[unseen] == name).sum() for name in names], dtype=int)
        eligible = (judged >= 1) & (counts - judged >= 2)
        reason = "a held-out member and two to train on"
    elif folds < 2:
        raise SettingsError(f"Cross-validation needs at least 2 folds; {folds} was given.")
    else:
        eligible, reason = counts >= folds, f"at least {folds} members, one for each fold"
    order = np.argsort(-counts, kind="stable")
    chosen = order[eligible[order]][:max_classes]
    if chosen.size < 2:
        raise DataError(
            f"The label {label!r} cannot be judged: {chosen.size} of its {names.size} classes "
            f"have {reason}, and two classes are needed."
        )
    tasks = names[np.sort(chosen)]
    observations = np.flatnonzero(np.isin(values, tasks))
    codes = np.searchsorted(tasks, values[observations])
    if unseen is None:
        splitter = model_selection.StratifiedKFold(folds, shuffle=True, random_state=seed)
        parts = tuple(splitter.split(observations, codes))
    else:
        test = unseen[observations]
        parts = ((np.flatnonzero(~test), np.flatnonzero(test)),)
    members = zip(names.tolist(), counts.tolist(), strict=True)
    left_out = {name: count for name, count in members if name not in tasks}
    return _Plan(observations, codes, tuple(tasks.tolist()), parts, left_out)


def _unseen(held_out: np.ndarray, N: int) -> np.ndarray:
    """(N,) bool, from positions of the observations that were held out."""
    held_out = np.unique(np.asarray(held_out))
    whole = held_out.dtype.kind in "iu"
    if not held_out.size or not whole or held_out[0] < 0 or held_out[-1] >= N:
        raise SettingsError(
            f"The held-out observations are given by their positions, 0 to {N - 1}."
        )
    unseen = np.zeros(N, dtype=bool)
    unseen[held_out] = True
    return unseen


def _judged(
    A: np.ndarray,
    dataset: Dataset,
    plan: _Plan,
    loss: Loss,
    on_progress: Callable[[float], None] | None,
    cancel: Callable[[], bool] | None,
) -> Iterator[np.ndarray]:
    """Predicted class probabilities (n, K) on judged observations, one array per A."""
    M, judged = A.shape[0], dataset.columns(plan.observations)
    for m in range(M):
        raise_if_cancelled(cancel, "the downstream AUC")
        features = weights_given(judged, A[m : m + 1], loss)[0].T
        predicted = []
        for train, test in plan.folds:
            model = classifier().fit(features[train], plan.codes[train])
            predicted.append(model.predict_proba(features[test]))
        yield np.concatenate(predicted)
        if on_progress is not None:
            on_progress((m + 1) / M)
