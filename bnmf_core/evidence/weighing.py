"""Populations that set out at factorizations: what they find, and which part is whose.

A particle belongs to the start that a solver reaches from it. Where the solver does not serve the
model, it belongs to the nearest start.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse, special

from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances.pairwise import Distance, cross
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.model import Support
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Annealed, Stopped, anneal, halved, never
from bnmf_core.evidence.paths import Around, posterior_of
from bnmf_core.lazy import lazy
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers.basins import optima_from

stats = lazy("scipy.stats")
csgraph = lazy("scipy.sparse.csgraph")

# Two repeats may agree by chance; evidences so near, in nats, are the same for every purpose.
NEGLIGIBLE = 1.0
# Part of a mode's draws with the same order of components where these are distinguishable.
MOSTLY = 0.5
# Two starts are one mode where at least this share of each one's population ends in the other.
EXCHANGED = 0.1
# The distance between optima.
METRIC = "max_angle"


@dataclass(frozen=True, eq=False)
class Start:
    """A factorization that populations start from.

    drifts : (K,) from the centre of its chains to every start, in the distance's unit.
    evidences : log evidence of its own part, one for each population; none where chains left it.
    quick : whether these are of a quick look only.
    floor : variance of one of them that remains when all goes well.
    pooled : variance of one of them, from the scatter of all starts, and its degrees of freedom.
    nearest : (K,) share of its populations that belongs to each start.
    stays : (K,) the share whose optimum is within 15° of the start's.
    powers : the steps of the first population. doubled : what twice the steps gave, or NaN.
    joined : the first of the starts that are one mode with it, as each ends in the other.
    keeps : whether most of its populations stay in that mode.
    """

    drifts: np.ndarray
    evidences: tuple[float, ...] = ()
    quick: bool = False
    floor: float = 0.0
    pooled: tuple[float, int] = (0.0, 0)
    nearest: np.ndarray | None = None
    stays: np.ndarray | None = None
    powers: np.ndarray | None = None
    doubled: float = np.nan
    joined: int = -1
    keeps: bool = False

    @property
    def log_evidence(self) -> float:
        """Log evidence of its own part: the logarithm of the mean of the evidences."""
        if not self.evidences:
            return -np.inf
        return float(special.logsumexp(self.evidences) - np.log(len(self.evidences)))

    @property
    def error(self) -> float:
        """One standard error: from the scatter, and no less than the best that can be.

        A few repeats may agree by chance, so the scatter of all starts counts where it is larger;
        Student's t for one standard deviation (68.3 %).
        """
        count = len(self.evidences)
        if not count or not np.isfinite(self.evidences).all():
            return np.nan
        pooled, freedom = self.pooled
        own = float(np.var(self.evidences, ddof=1))
        scatter = own * _student(count - 1) ** 2
        if freedom > count - 1:
            scatter = max(own, pooled) * _student(freedom) ** 2
        return float(np.sqrt(max(scatter, self.floor) / count))

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

    def joint(self, later: "Start") -> "Start":
        """With the populations of ``later`` beside its own."""
        parts = [len(self.evidences), len(later.evidences)]

        def mean(name: str) -> Any:
            return np.average([getattr(self, name), getattr(later, name)], axis=0, weights=parts)

        return replace(
            self,
            evidences=(*self.evidences, *later.evidences),
            quick=later.quick,
            floor=mean("floor"),
            nearest=mean("nearest"),
            stays=mean("stays"),
        )

    def row(self, k: int) -> dict[str, object]:
        """Its row in the table, as the k-th start."""
        # Of chains that left, all that is known is where they are.
        at_once = np.eye(self.drifts.size)[self.drifts.argmin()]
        nearest = at_once if self.nearest is None else self.nearest
        stays = np.zeros(self.drifts.size) if self.stays is None else self.stays
        return {
            "log_evidence": self.log_evidence,
            "error": self.error,
            "stays": stays[k],
            "elsewhere": float(1.0 - stays.sum()),
            "ends_in": int(nearest.argmax()),
            "drift": self.drifts[k],
            "doubled": self.doubled,
            "settled": self.settled,
            "joined": k if self.joined < 0 else self.joined,
            "keeps": self.keeps,
        }


class Weighing:
    """All starts of one posterior, and what is known of each so far.

    A (K, D, R), W (K, R, N) : the starts, at the scale that the prior favours. beta : the power of
    the likelihood. distance : between draws and starts. solve : whether a draw belongs to the start
    that a solver reaches from it, not to the nearest one.
    """

    def __init__(
        self,
        problem: Problem,
        A: np.ndarray,
        W: np.ndarray,
        beta: float,
        distance: Distance,
        tasks: Tasks,
        rng: np.random.Generator,
        solve: bool = True,
    ) -> None:
        self.A, self.W = problem.model.scale(np.asarray(A), np.asarray(W))
        self._problem, self._beta, self._distance = problem, beta, distance
        # Only where the solver's optima are those of the model's likelihood.
        self._solve = (
            solve
            and problem.model.per_loss is not None
            and problem.model.support_W == Support.POSITIVE
            and distance.key == METRIC
        )
        self._tasks, self._rng = tasks, rng
        K = self.A.shape[0]
        self._around = self._look_around(range(K))
        self.starts = [Start(self._drifts(around)) for around in self._around]
        # Only these have a part of the posterior: what lies near a start that chains leave
        # belongs to the one where they end.
        self.staying = np.arange(K)
        at_centre = [around.centre for around in self._around]
        A_mean, W_mean = np.stack([A.T for A, _ in at_centre]), np.stack([W for _, W in at_centre])
        itself = self._belongs(A_mean, W_mean)[0] == self.staying
        if not itself.any():  # components have changed places: the mean is of no basin
            itself = np.array([self.starts[k].drifts.argmin() == k for k in range(K)])
        self.staying = np.flatnonzero(itself)

    def within(self, nats: float) -> np.ndarray:
        """The staying starts whose evidence is less than this below the best."""
        evidences = np.array([self.starts[k].log_evidence for k in self.staying])
        return self.staying[evidences > evidences.max(initial=-np.inf) - nats]

    def anneal(
        self, chosen: np.ndarray, count: int, repeats: int, quick: bool = False, more: bool = False
    ) -> None:
        """Send ``repeats`` populations of ``count`` particles from each of the chosen starts.

        Unless it is a quick look, each of them looks around anew, so that their scatter holds what
        depends on that, too. ``more`` : beside those that were sent before.
        """
        wanted = [k for k in chosen for _ in range(repeats)]
        around = [self._around[k] for k in wanted] if quick else self._look_around(wanted)
        made = self._populations([(one, count, None) for one in around])
        for i, k in enumerate(chosen):
            weighed = replace(self._weigh(k, made[i * repeats : (i + 1) * repeats]), quick=quick)
            self.starts[k] = self.starts[k].joint(weighed) if more else weighed

    def double(self, chosen: np.ndarray, count: int) -> None:
        """Send one more population from each, with every step of the first one in two."""
        steps = [self.starts[k].powers for k in chosen]
        made = self._populations(
            [
                (self._around[k], count, None if powers is None else halved(powers))
                for k, powers in zip(chosen, steps, strict=True)
            ]
        )
        for k, population in zip(chosen, made, strict=True):
            self.starts[k] = self.starts[k].again(self._weigh(k, [population]).evidences[0])

    def _look_around(self, wanted: Iterable[int]) -> list[Around]:
        """Explore the surroundings of each of these starts by chains."""
        starts = list(wanted)
        generators = self._rng.spawn(len(starts))
        return self._tasks.make(
            _look_around,
            [
                (self._problem, self.A[k], self.W[k], self._beta, generator)
                for k, generator in zip(starts, generators, strict=True)
            ],
        )

    def _populations(
        self, wanted: Sequence[tuple[Around, int, np.ndarray | None]]
    ) -> list[Annealed]:
        generators = self._rng.spawn(len(wanted))
        return self._tasks.make(
            _anneal,
            [
                (self._problem, around, self._beta, count, powers, generator)
                for (around, count, powers), generator in zip(wanted, generators, strict=True)
            ],
        )

    def _drifts(self, around: Around) -> np.ndarray:
        """How far the centre of the chains is from every start: (K,)."""
        A, W = around.centre
        return cross(A.T[None], W[None], self.A, self.W, self._distance)[0]

    def _weigh(self, k: int, made: Sequence[Annealed]) -> Start:
        """Summarize the populations that started at start k."""
        shares, stays, parts = [], [], []
        for population in made:
            nearest, ends, near = self._belongs(population.A, population.W)
            count, weights = len(self.starts), population.weights
            shares.append(np.bincount(nearest, weights, minlength=count))
            stays.append(np.bincount(ends[near], weights[near], minlength=count))
            orders = matching(population.A, self.A[k])
            parts.append(own_part(population.weights, nearest == k, orders))
        with np.errstate(divide="ignore"):
            own = np.log(parts)
        return Start(
            self.starts[k].drifts,
            evidences=tuple(own + [population.log_evidence for population in made]),
            floor=float(np.mean([population.variance for population in made])),
            nearest=np.mean(shares, axis=0),
            stays=np.mean(stays, axis=0),
            powers=made[0].powers,
        )

    def _belongs(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The staying start that each of m factorizations counts to, (m,), by where it ends.

        The start nearest to where it ends, (m,), whether chains stay there or not, and whether it
        ends within 15° of that, (m,).
        """
        if self._solve:
            A, W = optima_from(self._problem, A, W, self._tasks.stopped)
        apart = cross(A, W, self.A, self.W, self._distance)
        counts_to = self.staying[apart[:, self.staying].argmin(axis=1)]
        if not self._solve:
            return counts_to, counts_to, np.ones(len(A), dtype=bool)
        return counts_to, apart.argmin(axis=1), apart.min(axis=1) <= SAME_MODE

    def undecided(self) -> np.ndarray:
        """The staying starts of the modes among which errors leave open which has the most mass.

        None where one leads whatever the errors are; see :meth:`conclude`, which comes before.
        """
        evidence = [one.log_evidence if one.keeps else -np.inf for one in self.starts]
        if not np.isfinite(evidence).any():
            return np.empty(0, int)
        error = np.array([one.error for one in self.starts])
        joined = np.array([one.joined for one in self.starts])
        mass, low, high = shares(np.array(evidence), error, np.random.default_rng(0), joined)
        open_ = np.flatnonzero((high >= low[mass.argmax()]) & (high > 0.0))
        contending = self.staying[np.isin(joined[self.staying], open_)]
        return contending if open_.size > 1 else np.empty(0, int)

    def conclude(self) -> None:
        """Join starts that end in each other, and see whether their populations keep the mode.

        A start that chains leave at once is one with a start whose population ends in it. Every
        start gets to know the scatter of all populations that were more than a quick look.
        """
        K = len(self.starts)
        left = np.array([one.stays is None for one in self.starts])
        stays = np.array([np.zeros(K) if one.stays is None else one.stays for one in self.starts])
        shared = (stays >= EXCHANGED) & (left | (stays.T >= EXCHANGED))
        joined = csgraph.connected_components(sparse.csr_array(shared), directed=False)[1]
        for k, start in enumerate(self.starts):
            inside = joined == joined[k]
            self.starts[k] = replace(
                start,
                joined=int(np.flatnonzero(inside)[0]),
                keeps=bool(stays[k, inside].sum() >= MOSTLY),
            )
        of_all = [
            np.array(start.evidences)
            for start in self.starts
            if not start.quick and len(start.evidences) > 1 and np.isfinite(start.evidences).all()
        ]
        freedom = sum(each.size - 1 for each in of_all)
        if freedom:
            pooled = float(sum(((each - each.mean()) ** 2).sum() for each in of_all) / freedom)
            self.starts = [replace(start, pooled=(pooled, freedom)) for start in self.starts]


def _student(freedom: int) -> float:
    return float(stats.t.ppf(stats.norm.cdf(1.0), freedom))


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
    ordered = near & (orders == np.arange(orders.shape[1])).all(axis=1)
    share = float(weights[near].sum())
    if weights[ordered].sum() >= MOSTLY * share:
        return float(weights[ordered].sum())
    w, o = weights[near], orders[near]
    pairs = np.outer(w, w) * ~np.eye(w.size, dtype=bool)
    alike = (o[:, None] == o).all(axis=2)
    # Where no two are alike, one pair in all is the upper bound.
    least = 1.0 / max(w.size, 1) ** 2
    return share * float(max((pairs * alike).sum() / max(pairs.sum(), least), least))


def _look_around(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    beta: float,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Around:
    with one_blas_thread():
        return posterior_of(problem, beta).around(A, W, rng, stopped)


def _anneal(
    problem: Problem,
    around: Around,
    beta: float,
    count: int,
    powers: np.ndarray | None,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Annealed:
    with one_blas_thread():
        return anneal(posterior_of(problem, beta).path(around), count, rng, powers, stopped)


# Draws of the masses that their intervals come from, and the part of them inside.
DRAWS, INSIDE = 4000, 0.9


def shares(
    log_evidence: np.ndarray,
    error: np.ndarray,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mass of each part, and the lower and upper end of 90 % of what the errors allow.

    Parameters
    ----------
    log_evidence : (K,) of disjoint parts of the posterior, nats; −∞ for none. error : (K,) one
        standard error each, NaN where there is no evidence.
    groups : (K,) the group of each part, 0 and up, whose masses are wanted together.

    Returns
    -------
    Three arrays (K,), or one entry for each group; masses sum to 1.
    """
    drawn = log_evidence + np.nan_to_num(error) * rng.standard_normal((DRAWS, error.size))
    of_parts = special.softmax(np.vstack([log_evidence, drawn]), axis=1)
    if groups is not None:
        of_parts = of_parts @ np.eye(int(groups.max(initial=-1)) + 1)[groups]
    tails = (1 - INSIDE) / 2
    low, high = np.quantile(of_parts[1:], [tails, 1 - tails], axis=0)
    return of_parts[0], low, high
