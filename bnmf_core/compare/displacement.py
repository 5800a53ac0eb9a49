"""Displacement: how far an entry of a component can move before the error rises by a chosen amount.

As in positive matrix factorization (DISP of EPA PMF 5.0; Paatero, Eberly, Brown & Norris 2014,
Atmospheric Measurement Techniques 7), and a profile likelihood: one entry is held away from its
value, everything else is optimized again, and its band is where the error stays within what is
allowed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.compare.alignment import NO_COUNTERPART, component_angles, matching
from bnmf_core.core.errors import DataError, SettingsError, raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import newton, second_order
from bnmf_core.solvers.solution import Solution, Stopping, start_full
from bnmf_core.solvers.ties import Ties, start_tied

# A rise is counted from this relative error at least: of an exact fit no part would be anything.
SMALLEST_ERROR = 1e-3
# When a displaced factorization has converged, and how far the undisplaced one is polished.
DISPLACED = Stopping(500, None)
POLISHED = Stopping(5000, None, movement=0.05, kkt=1e-5)
# Trials for one end, at most; an end is found when so much of the rise is used up, or when it is
# known to such a part of the way, by the error or by where another component begins.
TRIALS, USED, KNOWN, ROUGHLY = 16, 0.97, 0.01, 0.1
# The first step is such a part of the value, and of an even share at least. Further ones go as far
# as the rise foretells, between these factors: a long step could pass over a ridge into another
# valley, and what lies between would not be allowed.
FIRST, SHORTEST, LONGEST = 0.1, 1.5, 3.0
# The error falls where the square root of the rise becomes such a part of what it was.
FALLEN = 0.9
# A share is moved no further than this: the whole component would be one entry.
MOST = 0.999
# What ends a band: the error, 0 or nearly all of the component, that it is another component from
# there on, or that no more trials were made.
BY_ERROR, BY_BOUND, BY_OTHER, BY_TRIALS = range(4)


@dataclass(frozen=True, eq=False)
class Displacement:
    """Bands of K entries of one component.

    A value is a share: A_dr / Σ_i A_ir, from 0 to 1, so that it knows no scale. What is held at
    an end of a band is this share alone; the other entries of the column, all other columns of A
    and all of W are the best that were found from the factorization, always with no entry below 0.

    Attributes
    ----------
    entries : (K,) rows of A. value : (K,) their shares in the factorization.
    lower, upper : (K,) the least and the largest share that was reached within the allowed error.
    error : (K, 2) measure of fit, such as ‖X − AW‖/‖X‖, at these. ended : (K, 2) what ended the
        band there, one of BY_ERROR, BY_BOUND, BY_OTHER and BY_TRIALS.
    """

    entries: np.ndarray
    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    error: np.ndarray
    ended: np.ndarray

    @property
    def could_be_zero(self) -> np.ndarray:
        """(K,) entries that reach 0 within the allowed error."""
        return self.lower <= 0.0


def allowed_error(error: float, rise: float) -> float:
    """The measure of fit up to which entries may move: a part ``rise`` more than ``error``.

    The part is of ``SMALLEST_ERROR`` where the fit is better than that.
    """
    return error + rise * max(error, SMALLEST_ERROR)


def polished(
    problem: Problem, A: np.ndarray, W: np.ndarray, cancel: Callable[[], bool] | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """A (D, R), W (R, N) taken on to the optimum they stand at, and its measure of fit.

    Raises
    ------
    Cancelled
        When ``cancel()`` returned True.
    """
    plain = start_full(problem, A[None].astype(np.float64), W[None].astype(np.float64))
    # Newton's method trusts any step at first, and knows of no step before.
    plain = replace(plain, step=np.full(1, np.inf), limit=np.full(1, np.inf))
    state = _solved(problem, plain, POLISHED, cancel)
    A, W = (factor[0] for factor in state.particles)
    return A, W, _shown(problem, float(state.squared_error[0]))


def displace(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    component: int,
    entries: np.ndarray,
    allowed: float,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Displacement:
    """How far entries of one component can move within an allowed error, each by itself.

    For entry d of component r and a share v, E(v) is the least measure of fit over A, W ≥ 0 with
    A_dr = v · Σ_i A_ir. The band is where E(v) ≤ ``allowed``, as far as it is reached from the
    factorization: every minimum is looked for from the nearest one that is known, so a band may be
    wider than is said. It ends where the component is no longer the same one: more
    than ``NO_COUNTERPART`` degrees away, or more like another one. All entries are moved side by
    side, in steps that grow; an end is found from how the square root of the rise grows. Where the
    error falls on the way, the middle of the step has to be allowed as well.

    Parameters
    ----------
    A : (D, R), W : (R, N) an optimum, see :func:`polished`. component : r. entries : (K,) d.
    allowed : measure of fit, above that of (A, W).
    on_progress : called with the fraction done, 0 to 1. cancel : asked between rounds.

    Raises
    ------
    DataError
        When there are no two features. SettingsError: when the allowed error is below that of
        (A, W), or the component is empty. Cancelled: when ``cancel()`` returned True.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import displace, laurberg
    >>> from bnmf_core.core.problem import Problem
    >>> data = laurberg("unique")
    >>> A, W = data.truth[0].A, data.truth[0].W
    >>> found = displace(Problem.without_model(data, 3), A, W, 0, np.arange(6), allowed=0.01)
    >>> bool(((found.lower <= found.value) & (found.value <= found.upper)).all())
    True
    """
    D = A.shape[0]
    if D < 2:
        raise DataError("An entry is held by its share of the others; here is one feature only.")
    if not A[:, component].sum() > 0:
        raise SettingsError(f"Component {component + 1} is empty; it has no shares to be moved.")
    entries = np.asarray(entries, dtype=np.int64)
    base = _Base(problem, A, W, component, allowed, cancel)
    value = A[entries, component] / A[:, component].sum()
    down, up = (
        [_Search(base, int(d), v, side, D) for d, v in zip(entries, value, strict=True)]
        for side in (-1.0, 1.0)
    )
    _run(base, [*down, *up], on_progress)
    ends = (down, up)
    return Displacement(
        entries=entries,
        value=value,
        lower=np.array([search.share for search in down]),
        upper=np.array([search.share for search in up]),
        error=np.array([[search.error for search in side] for side in ends]).T.reshape(-1, 2),
        ended=np.array([[search.ended for search in side] for side in ends]).T.reshape(-1, 2),
    )


@dataclass(frozen=True, eq=False)
class _Base:
    """What all searches share: the factorization that is displaced, and what is allowed."""

    problem: Problem
    A: np.ndarray
    W: np.ndarray
    component: int
    allowed: float
    cancel: Callable[[], bool] | None
    f: float = 0.0

    def __post_init__(self) -> None:
        found = _loss(self.problem, self.A, self.W)
        object.__setattr__(self, "f", found)
        if not self.rise > 0:
            raise SettingsError(
                f"The allowed error {self.allowed:.4g} is not above that of the factorization, "
                f"{_shown(self.problem, found):.4g}."
            )

    @property
    def rise(self) -> float:
        """By how much the loss may rise."""
        allowed = self.problem.loss.unmeasured(self.problem.dataset, np.array(self.allowed))
        return float(allowed) - self.f

    def same(self, A: np.ndarray) -> np.ndarray:
        """(m,) whether the component is the same one in bases (m, D, R) as in the base."""
        order = matching(A, self.A)[:, self.component]
        angle = component_angles(A, self.A)
        return (order == self.component) & (angle[:, self.component] <= NO_COUNTERPART)


class _Search:
    """One end of one band: the farthest share that is allowed, and the nearest that is not."""

    def __init__(self, base: _Base, entry: int, value: float, side: float, D: int) -> None:
        self.base, self.entry, self.value, self.side = base, entry, value, side
        self.bound = 0.0 if side < 0 else MOST
        self.share, self.A, self.W = value, base.A, base.W
        self.grown = 0.0  # square root of the part of the rise that is used at ``share``
        self.beyond: tuple[float, float | None] | None = None  # share, and the same there
        # A share that is allowed if the middle of the way to it is: share, grown, error, A, W.
        self.pending: tuple[float, float, float, np.ndarray, np.ndarray] | None = None
        self.step = FIRST * max(value, 1.0 / D)
        self.error = _shown(base.problem, base.f)
        self.ended = BY_TRIALS
        self.over = side * (self.bound - value) <= 0.0
        if self.over:
            self.ended = BY_BOUND

    def trial(self) -> float:
        """The share to try next."""
        if self.pending is not None:
            return 0.5 * (self.share + self.pending[0])
        if self.beyond is None:
            if self.share != self.value:
                told = 1.1 / self.grown if self.grown > 0 else LONGEST
                way = abs(self.share - self.value) * min(max(told, SHORTEST), LONGEST)
            else:
                way = self.step
            tried = self.value + self.side * way
            return self.side * min(self.side * tried, self.side * self.bound)
        far, grown = self.beyond
        part = 0.5 if grown is None else (1.0 - self.grown) / (grown - self.grown)
        return self.share + min(max(part, 0.1), 0.9) * (far - self.share)

    def learn(self, tried: float, f: float, same: bool, A: np.ndarray, W: np.ndarray) -> None:
        """What came of a trial."""
        base = self.base
        grown = float(np.sqrt(max(f - base.f, 0.0) / base.rise))
        error = _shown(base.problem, f)
        reached, waiting = (tried, grown, error, A, W), self.pending
        self.pending = None
        if not (grown <= 1.0 and same):
            self.beyond = tried, grown if same else None
        elif waiting is None and grown < FALLEN * self.grown:
            self.pending = reached
        else:
            self.share, self.grown, self.error, self.A, self.W = waiting or reached
            if self.share == self.bound:
                self.over, self.ended = True, BY_BOUND
        if self.grown**2 >= USED:
            self.over, self.ended = True, BY_ERROR
        elif self.beyond is not None:
            (far, risen), way = self.beyond, abs(self.share - self.value)
            enough = ROUGHLY if risen is None else KNOWN
            if abs(far - self.share) <= enough * max(way, 1e-3 * self.value, 1e-9):
                self.over, self.ended = True, BY_OTHER if risen is None else BY_ERROR


def _run(base: _Base, searches: list[_Search], on_progress: Callable[[float], None] | None) -> None:
    """Take all searches to their ends, side by side."""
    for number in range(TRIALS):
        going = [search for search in searches if not search.over]
        if not going:
            return
        if on_progress is not None:
            on_progress(max(1 - len(going) / len(searches), number / TRIALS))
        tried = np.array([search.trial() for search in going])
        ties = Ties(
            np.full(len(going), base.component),
            np.array([search.entry for search in going]),
            tried / (1.0 - tried),
        )
        start = start_tied(
            base.problem,
            np.stack([search.A for search in going]),
            np.stack([search.W for search in going]),
            ties,
        )
        state = _solved(base.problem, start, DISPLACED, base.cancel)
        A, W = state.particles
        same = base.same(A)
        for k, search in enumerate(going):
            f = _loss(base.problem, A[k], W[k])
            search.learn(float(tried[k]), f, bool(same[k]), A[k], W[k])


def _solved(
    problem: Problem, state: Solution, stopping: Stopping, cancel: Callable[[], bool] | None
) -> Solution:
    while state.active.any():
        raise_if_cancelled(cancel, "displacing entries")
        if problem.loss is SQUARED_ERROR:
            state = newton.advance(problem, state, stopping, 1)
        else:
            state = second_order.SOLVER.advance(problem, state, stopping)
    return state


def _loss(problem: Problem, A: np.ndarray, W: np.ndarray) -> float:
    return float(problem.loss.values(problem, A[None], W[None])[0])


def _shown(problem: Problem, f: float) -> float:
    return float(problem.loss.measured(problem.dataset, np.array(f)))
