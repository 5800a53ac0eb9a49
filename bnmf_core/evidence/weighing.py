"""Populations that set out at factorizations: what they find, and which part is whose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances.pairwise import Distance, cross
from bnmf_core.evidence.annealing import Annealed, Stopped, anneal, halved, never
from bnmf_core.evidence.paths import Around, posterior_of
from bnmf_core.lazy import lazy
from bnmf_core.nouns.problem import Problem
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import one_blas_thread

stats = lazy("scipy.stats")

# Two repeats may agree by chance; evidences so near, in nats, are the same for every purpose.
NEGLIGIBLE = 1.0
# Part of a mode's draws that keep the order of components where these are told apart.
MOSTLY = 0.5


@dataclass(frozen=True, eq=False)
class Start:
    """What is known of one factorization from which populations set out.

    drifts : (K,) from the centre of its chains to every start, in the distance's unit.
    evidences : log evidence of its own part, one for each population; none where chains left it.
    floor : variance of one of them that remains when all goes well.
    nearest : (K,) share of its populations that ends nearest to each start.
    powers : the steps of the first population. doubled : what twice the steps gave, or NaN.
    """

    drifts: np.ndarray
    evidences: tuple[float, ...] = ()
    floor: float = 0.0
    nearest: np.ndarray | None = None
    powers: np.ndarray | None = None
    doubled: float = np.nan

    @property
    def log_evidence(self) -> float:
        """Of its own part: the logarithm of the mean of the evidences."""
        if not self.evidences:
            return -np.inf
        return float(special.logsumexp(self.evidences) - np.log(len(self.evidences)))

    @property
    def error(self) -> float:
        """One standard error: from the scatter, and no less than the best that can be.

        Few repeats tell little of their scatter: Student's t for one standard deviation (68.3 %).
        """
        count = len(self.evidences)
        if not count or not np.isfinite(self.evidences).all():
            return np.nan
        student = stats.t.ppf(stats.norm.cdf(1.0), count - 1)
        scatter = student * np.std(self.evidences, ddof=1) / np.sqrt(count)
        return float(max(scatter, np.sqrt(self.floor / count)))

    @property
    def settled(self) -> bool:
        """Whether twice the steps gave the same, within two standard errors, or within a nat."""
        if np.isnan(self.doubled):
            return True
        first = replace(self, evidences=self.evidences[:-1])
        # The error of one population is √n times that of the mean of n.
        allowed = max(2.0 * first.error * np.sqrt(1.0 + len(first.evidences)), NEGLIGIBLE)
        return bool(abs(self.doubled - first.log_evidence) <= allowed)

    def again(self, doubled: float) -> "Start":
        """With what twice the steps gave as one more population."""
        return replace(self, evidences=(*self.evidences, doubled), doubled=doubled)

    def row(self, k: int) -> dict[str, object]:
        """What the table says of it, the k-th start."""
        # Of chains that left, all that is known is where they are.
        at_once = np.eye(self.drifts.size)[self.drifts.argmin()]
        nearest = at_once if self.nearest is None else self.nearest
        return {
            "log_evidence": self.log_evidence,
            "error": self.error,
            "stays": nearest[k],
            "ends_in": int(nearest.argmax()),
            "drift": self.drifts[k],
            "doubled": self.doubled,
            "settled": self.settled,
        }


class Weighing:
    """All starts of one posterior, and what is known of each so far.

    A (K, D, R), W (K, R, N) : the starts, at the scale that the prior favours. belief : the power
    of the likelihood. distance : by which a draw belongs to the nearest start.
    """

    def __init__(
        self,
        problem: Problem,
        A: np.ndarray,
        W: np.ndarray,
        belief: float,
        distance: Distance,
        tasks: Tasks,
        rng: np.random.Generator,
    ) -> None:
        self.A, self.W = problem.model.scale(np.asarray(A), np.asarray(W))
        self._problem, self._belief, self._distance = problem, belief, distance
        self._tasks, self._rng = tasks, rng
        K = self.A.shape[0]
        self._around = tasks.make(
            _look_around,
            [(problem, self.A[k], self.W[k], belief, g) for k, g in enumerate(rng.spawn(K))],
        )
        self.starts = [Start(self._drifts(around)) for around in self._around]
        # Only these have a part of the posterior: what lies near a start that chains leave
        # belongs to the nearest one that keeps them.
        self.staying = np.array([k for k in range(K) if self.starts[k].drifts.argmin() == k], int)

    def within(self, nats: float) -> np.ndarray:
        """The staying starts whose evidence is less than this below the best."""
        evidences = np.array([self.starts[k].log_evidence for k in self.staying])
        return self.staying[evidences > evidences.max(initial=-np.inf) - nats]

    def anneal(self, chosen: np.ndarray, count: int, repeats: int) -> None:
        """Send ``repeats`` populations of ``count`` particles from each of the chosen starts."""
        made = self._populations([(k, count, None) for k in chosen for _ in range(repeats)])
        for i, k in enumerate(chosen):
            self.starts[k] = self._weigh(k, made[i * repeats : (i + 1) * repeats])

    def double(self, chosen: np.ndarray, count: int) -> None:
        """Send one more population from each, with every step of the first one in two."""
        steps = [self.starts[k].powers for k in chosen]
        made = self._populations(
            [
                (k, count, None if powers is None else halved(powers))
                for k, powers in zip(chosen, steps, strict=True)
            ]
        )
        for k, population in zip(chosen, made, strict=True):
            self.starts[k] = self.starts[k].again(self._weigh(k, [population]).evidences[0])

    def _populations(self, wanted: Sequence[tuple[int, int, np.ndarray | None]]) -> list[Annealed]:
        generators = self._rng.spawn(len(wanted))
        return self._tasks.make(
            _anneal,
            [
                (self._problem, self._around[k], self._belief, count, powers, generator)
                for (k, count, powers), generator in zip(wanted, generators, strict=True)
            ],
        )

    def _drifts(self, around: Around) -> np.ndarray:
        """How far the centre of the chains is from every start: (K,)."""
        A, W = around.centre
        return cross(A.T[None], W[None], self.A, self.W, self._distance)[0]

    def _weigh(self, k: int, made: Sequence[Annealed]) -> Start:
        """What the populations found that set out at start k."""
        shares, parts = [], []
        for population in made:
            others = self.A[self.staying], self.W[self.staying]
            apart = cross(population.A, population.W, *others, self._distance)
            nearest = self.staying[apart.argmin(axis=1)]
            shares.append(np.bincount(nearest, population.weights, minlength=len(self.starts)))
            orders = matching(population.A, self.A[k])
            parts.append(own_part(population.weights, nearest == k, orders))
        with np.errstate(divide="ignore"):
            own = np.log(parts)
        return Start(
            self.starts[k].drifts,
            evidences=tuple(own + [population.log_evidence for population in made]),
            floor=float(np.mean([population.variance for population in made])),
            nearest=np.mean(shares, axis=0),
            powers=made[0].powers,
        )


def own_part(weights: np.ndarray, near: np.ndarray, orders: np.ndarray) -> float:
    """The part of a population that is of one mode in one order of its components.

    Relabelled, a draw belongs to another one of the R! copies of the mode. Where most draws are
    relabelled, chains exchange components freely, and few or none keep the order of the start: then
    the part is that of g orders which are all alike, and 1/g how often two draws have the same.

    Parameters
    ----------
    weights : (m,), summing to 1. near : (m,) bool, draws of this mode in any order.
    orders : (m, R) the matching of each with the start; 0, 1, … where it keeps the order.
    """
    kept = near & (orders == np.arange(orders.shape[1])).all(axis=1)
    share = float(weights[near].sum())
    if weights[kept].sum() >= MOSTLY * share:
        return float(weights[kept].sum())
    w, o = weights[near], orders[near]
    pairs = np.outer(w, w) * ~np.eye(w.size, dtype=bool)
    alike = (o[:, None] == o).all(axis=2)
    # Where no two are alike, one pair in all is the most that can be said.
    least = 1.0 / max(w.size, 1) ** 2
    return share * float(max((pairs * alike).sum() / max(pairs.sum(), least), least))


def _look_around(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    belief: float,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Around:
    with one_blas_thread():
        return posterior_of(problem, belief).around(A, W, rng, stopped)


def _anneal(
    problem: Problem,
    around: Around,
    belief: float,
    count: int,
    powers: np.ndarray | None,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Annealed:
    with one_blas_thread():
        return anneal(posterior_of(problem, belief).path(around), count, rng, powers, stopped)
