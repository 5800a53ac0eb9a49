"""Displacement: how far an entry of a component can move before the error rises by a chosen amount.

As in positive matrix factorization (DISP of EPA PMF 5.0; Paatero, Eberly, Brown & Norris 2014,
Atmospheric Measurement Techniques 7), and a profile likelihood: one entry is held away from its
value, everything else is optimized again, and its band is where the error stays within what is
allowed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.compare.bands import Base, Search, find_ends, shown, standing
from bnmf_core.core.errors import DataError, SettingsError, raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import newton, second_order
from bnmf_core.solvers.solution import Solution, Stopping, start_full
from bnmf_core.solvers.ties import Ties, start_tied

# A rise is counted from this relative error at least: of an exact fit no part would be anything.
SMALLEST_ERROR = 1e-3
# Convergence, before and after a displacement. Of an exact fit there is little to gain in nats,
# and yet far to go: with the usual limits bands end too soon.
POLISHED = Stopping(5000, None, movement=0.05, kkt=1e-5)
# Maximum share: at 1 the whole component would be one entry.
MOST = 0.999


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
    return A, W, shown(problem, float(state.squared_error[0]))


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
    factorization: every minimum is searched from the nearest known one, so the true band may be
    wider. It ends where the component is no longer the same one: more
    than 60° away, or more like another one. All entries are moved side by
    side, in steps that grow; an end is found from how the square root of the rise grows. Where the
    error falls on the way, the middle of the step has to be allowed as well.

    Parameters
    ----------
    A : (D, R), W : (R, N) an optimum, see :func:`polished`. component : r. entries : (K,) d.
    allowed : measure of fit, above that of (A, W).
    on_progress : called with the fraction done, 0 to 1. cancel : checked between rounds.

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
    base = Base(problem, A, W, component, allowed)
    value = A[entries, component] / A[:, component].sum()
    down, up = (
        [_Moved(base, v, *end, 1.0 / D, int(d)) for d, v in zip(entries, value, strict=True)]
        for end in ((-1.0, 0.0), (1.0, MOST))
    )

    def solve(going: list[_Moved], tried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ties = Ties(
            np.full(len(going), component),
            np.array([search.entry for search in going]),
            tried / (1.0 - tried),
        )
        start = start_tied(problem, *standing(going), ties)
        return _solved(problem, start, POLISHED, cancel).particles

    find_ends([*down, *up], solve, on_progress)
    ends = (down, up)
    return Displacement(
        entries=entries,
        value=value,
        lower=np.array([search.share for search in down]),
        upper=np.array([search.share for search in up]),
        error=np.array([[search.error for search in side] for side in ends]).T.reshape(-1, 2),
        ended=np.array([[search.ended for search in side] for side in ends]).T.reshape(-1, 2),
    )


class _Moved(Search):
    """An end of the band of one entry."""

    def __init__(
        self, base: Base, value: float, side: float, bound: float, even: float, entry: int
    ) -> None:
        super().__init__(base, value, side, bound, even)
        self.entry = entry


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
