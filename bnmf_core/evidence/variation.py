"""How much counts vary beyond Poisson, from a quick fit of maximum likelihood.

The Pearson ratio Σ (x − y)²/y per degree of freedom is 1 for Poisson counts with means y = AW, and
the mean ratio of variance to mean for others (McCullagh & Nelder 1989, §4.5). Fitted means next to
0 lower it. Weighted by the means it is Σ (x − y)²/Σ y, to which such entries add nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.data.kinds import outstanding
from bnmf_core.evidence.criteria import STRONG
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import dense
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, solve_with

special = lazy("scipy.special")

# Rows and columns that are fitted, at most: those with the largest sums. Entries that are fitted in
# all repeats together, and repeats at most.
SIDE, ENTRIES, REPEATS = 200, 40_000, 5
# A part of the entries is hidden; components are added until so many in a row predict it no better.
HIDDEN, PATIENCE, MOST_COMPONENTS = 0.1, 3, 20
# Maximum number of multiplicative updates for each number of components, and after how many to
# check whether they gain a nat. The last fit ends when five iterations lower its divergence
# by less than this part.
UPDATES, CHECK_EVERY = 200, 20
STOPPING = Stopping(max_iterations=300, tolerance=1e-4)
# A mean below this fraction of the overall mean counts as almost 0.
LEAST = 1e-3
# Singular vectors of the residuals that a new component may begin with.
PAIRS = 5
# Part of ΣX that a new component begins with, and part of the mean by which zeros are raised.
NEW, LIFT = 0.05, 0.05
# An entry of A or W is free to fit X where more than this of the counts comes by it.
FREE = 0.5
# Counts vary clearly more than Poisson allows above this ratio plus so many standard errors, where
# so many entries are left. The weighted ratio adds sparse counts, such as words of topics. See
# benchmarks/overdispersion.py for how often planted data are above.
BEYOND_POISSON, ERRORS, FEWEST_LEFT = 1.5, 3.0, 100
# Bins of entries, and entries of each at least.
BINS, FEWEST = 24, 20
# Ratios from here on are shown without decimals.
MANY = 100.0


@dataclass(frozen=True, eq=False)
class Variation:
    """Counts and a fit of them.

    Attributes
    ----------
    x, y : (n,) observed entries, and their fitted values, above 0. free : number of free
        parameters of the fit. components : number of components of the fit.
    """

    x: np.ndarray
    y: np.ndarray
    free: int
    components: int

    @property
    def left(self) -> int:
        """Observed entries minus free parameters, at least 1."""
        return max(1, self.x.size - self.free)

    @cached_property
    def pearson(self) -> float:
        """Σ (x − y)²/y per degree of freedom: 1 for Poisson counts."""
        return float(((self.x - self.y) ** 2 / self.y).sum() / self.left)

    @cached_property
    def weighted(self) -> float:
        """Σ (x − y)²/Σ y, with (x − y)² per degree of freedom: 1 for Poisson counts."""
        return float(self._squared.sum() / self.y.sum())

    @cached_property
    def by_weight(self) -> bool:
        """Whether only the weighted ratio is clearly above 1."""
        error = np.sqrt((self.y + 2.0 * self.y**2).sum()) / self.y.sum()
        return not self._pearson_is_above and self._is_above(self.weighted, error)

    @property
    def ratio(self) -> float:
        """Variance over mean: the Pearson ratio, or the weighted one if only that is above 1."""
        return self.weighted if self.by_weight else self.pearson

    @property
    def beyond_poisson(self) -> bool:
        """Whether one of the ratios is clearly above 1."""
        return self._pearson_is_above or self.by_weight

    @property
    def _pearson_is_above(self) -> bool:
        return self._is_above(self.pearson, np.sqrt(2.0 / self.left))

    def _is_above(self, ratio: float, error: float) -> bool:
        return bool(ratio > BEYOND_POISSON + ERRORS * error and self.left >= FEWEST_LEFT)

    @cached_property
    def below_poisson(self) -> bool:
        """Whether counts vary less, as ratings do: rounded normal noise is the more probable."""
        if self.left < FEWEST_LEFT or self.ratio >= 1.0:
            return False
        # Of 15 planted Poisson data sets (20×15 to 200×100, means 0.1 to 200) it led in none.
        x, y, sd = self.x, self.y, np.sqrt(self.constant)
        poisson = (x * np.log(y) - y - special.gammaln(x + 1.0)).sum()
        ends = (special.ndtr((x + half - y) / sd) for half in (0.5, -0.5))
        inside = np.maximum(np.subtract(*ends), np.finfo(float).tiny)
        return bool(np.log(inside).sum() > poisson + STRONG)

    @property
    def sentence(self) -> str:
        """The ratio in a sentence."""
        if self.left < FEWEST_LEFT:
            return "There are too few counts to see whether they vary more than Poisson allows."
        if self.beyond_poisson:
            times = f"{self.ratio:.1f}" if self.ratio < MANY else f"{self.ratio:,.0f}"
            return f"Counts vary {times}× as much as Poisson allows."
        if self.below_poisson:
            return (
                "These whole numbers vary less than Poisson counts, as ratings do: variance / mean "
                f"is {self.weighted:.1f}."
            )
        return f"Counts vary about as Poisson predicts: variance / mean is {self.weighted:.1f}."

    @property
    def dispersion(self) -> float:
        """k at which the variance y + y²/k has this ratio to y; ∞ for that of Poisson counts."""
        if not self.beyond_poisson:
            return np.inf
        mean = (self.y**2).sum() / self.y.sum() if self.by_weight else self.y.mean()
        return float(mean) / (self.ratio - 1.0)

    @cached_property
    def constant(self) -> float:
        """The variance that is the same for all entries: the mean squared residual."""
        return float(self._squared.mean())

    def binned(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of bins of entries with similar means, not next to 0, (b,) each."""
        order = np.argsort(self.y, kind="stable")
        order = order[self.y[order] > LEAST * self.y.mean()]
        bins = np.array_split(order, max(1, min(BINS, order.size // FEWEST)))
        mean = np.array([self.y[one].mean() for one in bins])
        variance = np.array([self._squared[one].mean() for one in bins])
        return mean[variance > 0], variance[variance > 0]

    @cached_property
    def _squared(self) -> np.ndarray:
        """Squared residuals, as large as before numbers were fitted."""
        return (self.x - self.y) ** 2 * (self.x.size / self.left)


def variation(dataset: Dataset) -> Variation:
    """Fit counts with as many components as predict held-out entries best; of a large X a part.

    A few entries that hold nearly all of ΣX are left out.

    Parameters
    ----------
    dataset : X (D, N), whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.evidence.variation import variation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(2, 3, (30, 2)) @ rng.gamma(2, 1, (2, 40)))
    >>> variation(Dataset.from_array(X)).beyond_poisson
    False
    """
    X, observed = _largest(dataset)
    repeats = int(np.clip(ENTRIES // X.size, 1, REPEATS))
    with one_blas_thread():
        found = [_predicting(X, observed, np.random.default_rng(seed)) for seed in range(repeats)]
    return sorted(found, key=lambda one: one.ratio)[repeats // 2]


def _largest(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """X of the rows and columns with the largest sums, and 1 where it was seen, 0 elsewhere."""
    sums = [np.asarray(dataset.X.sum(axis=axis)).ravel() for axis in (1, 0)]
    rows, columns = (np.sort(np.argsort(-some, kind="stable")[:SIDE]) for some in sums)
    rows, columns = rows[sums[0][rows] > 0], columns[sums[1][columns] > 0]
    X = np.asarray(dense(dataset.X[rows][:, columns]), dtype=np.float64)
    seen = np.ones(X.shape) if dataset.mask is None else 1.0 * dataset.mask[rows][:, columns]
    for d, n in outstanding(dataset):  # beside which all others would be nothing
        seen[rows == d, columns == n] = 0.0
    return X * seen, seen


def _predicting(X: np.ndarray, observed: np.ndarray, rng: np.random.Generator) -> Variation:
    """The fit, of those with one component more each, that predicts held-out entries best."""
    hidden = observed * (rng.random(X.shape) < HIDDEN)
    seen = observed - hidden
    shown, least = X * seen, LEAST * X.mean()
    A, W = X.sum(axis=1, keepdims=True) / X.sum(), X.sum(axis=0, keepdims=True)
    found: list[tuple[float, np.ndarray, np.ndarray]] = []
    best = 0
    while len(found) - best <= PATIENCE:
        A, W = _updated(shown, seen, A, W)
        predicted = np.maximum(A @ W, least)
        found.append((float((hidden * (predicted - X * np.log(predicted))).sum()), A, W))
        best = min(range(len(found)), key=lambda i: found[i][0])
        if len(found) == min(MOST_COMPONENTS, *X.shape):
            break
        A, W = _with_another(shown, seen, A, W)
    A, W = _solved(Dataset.from_array(shown, mask=seen > 0), *found[best][1:])
    Y = np.maximum(A @ W, np.finfo(float).tiny)
    free = int((A * W.sum(axis=1) > FREE).sum() + (W * A.sum(axis=0)[:, None] > FREE).sum())
    return Variation(X[seen > 0], Y[seen > 0], free - A.shape[1], A.shape[1])


def _updated(
    X: np.ndarray, seen: np.ndarray, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A and W after multiplicative updates (Lee & Seung 2001); unseen entries of X are 0."""
    # So few leave no entry at 0, and predict better than the maximum of the likelihood.
    tiny, before = np.finfo(float).tiny, np.inf
    for count in range(1, UPDATES + 1):
        W = W * (A.T @ (X / (A @ W + tiny))) / (A.T @ seen + tiny)
        A = A * ((X / (A @ W + tiny)) @ W.T) / (seen @ W.T + tiny)
        if count % CHECK_EVERY == 0:
            Y = A @ W
            now = float((seen * Y - X * np.log(Y + tiny)).sum())
            if before - now < 1.0:
                break
            before = now
    return A, W


def _solved(data: Dataset, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The maximum of the likelihood near A and W, which updates hardly come to of large counts."""
    problem = Problem.without_model(data, A.shape[1], loss=KULLBACK_LEIBLER)
    (A,), (W,) = solve_with(usual_solver(problem), problem, A[None], W[None], STOPPING)
    return A, W


def _with_another(
    X: np.ndarray, seen: np.ndarray, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A component more, where standardized residuals are large together."""
    Y = np.maximum(A @ W, LEAST * X.mean())
    u, size, v = np.linalg.svd(seen * (X - Y) / np.sqrt(Y), full_matrices=False)
    parts = [
        (one, np.maximum(sign * u[:, i], 0.0), np.maximum(sign * v[i], 0.0))
        for i, one in enumerate(size[:PAIRS])
        for sign in (1, -1)
    ]
    _, a, w = max(
        parts, key=lambda part: part[0] * np.linalg.norm(part[1]) * np.linalg.norm(part[2])
    )
    # Where the fit is too large everywhere there is no such part.
    a, w = a + np.finfo(float).eps, w + np.finfo(float).eps
    a, w = a / a.sum(), NEW * X.sum() * w / w.sum()
    A, W = np.column_stack([A, a]), np.vstack([W, w])
    return A + LIFT * A.mean(axis=0), W + LIFT * W.mean(axis=1, keepdims=True)
