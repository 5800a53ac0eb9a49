"""Ends of bands: how far a quantity of a factorization moves until the loss has risen too much.

All ends are searched together, in growing steps; an end is found from how the square root of the
rise grows. Each step starts from the last allowed factorization, so each band is connected with the
starting factorization, and the true band may be wider.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bnmf_core.compare.alignment import NO_COUNTERPART, component_angles, matching
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem

# Trials for one end, at most; an end is found when so much of the rise is used up, or when it is
# known to such a part of the way, by the error or by where another component begins.
TRIALS, USED, KNOWN, ROUGHLY = 16, 0.97, 0.01, 0.1
# The first step is such a part of the value, and of an even share at least. Further ones go as far
# as the rise foretells, between these factors: a long step could pass over a ridge into another
# valley, and what lies between would not be allowed.
FIRST, SHORTEST, LONGEST = 0.1, 1.5, 3.0
# The error falls where the square root of the rise becomes such a part of what it was.
FALLEN = 0.9
# What ends a band: the error, a bound of the quantity, that it is another component from there on,
# or that no more trials were made.
BY_ERROR, BY_BOUND, BY_OTHER, BY_TRIALS = range(4)


@dataclass(frozen=True, eq=False)
class Base:
    """A factorization, one of its components, and what measure of fit is allowed."""

    problem: Problem
    A: np.ndarray
    W: np.ndarray
    component: int
    allowed: float
    f: float = 0.0

    def __post_init__(self) -> None:
        found = loss_of(self.problem, self.A, self.W)
        object.__setattr__(self, "f", found)
        if not self.rise > 0:
            raise SettingsError(
                f"The allowed error {self.allowed:.4g} is not above that of the factorization, "
                f"{shown(self.problem, found):.4g}."
            )

    @property
    def rise(self) -> float:
        """Allowed rise of the loss."""
        allowed = self.problem.loss.unmeasured(self.problem.dataset, np.array(self.allowed))
        return float(allowed) - self.f

    def same(self, A: np.ndarray) -> np.ndarray:
        """(m,) whether the component is the same one in bases (m, D, R) as in the base."""
        order = matching(A, self.A)[:, self.component]
        angle = component_angles(A, self.A)
        return (order == self.component) & (angle[:, self.component] <= NO_COUNTERPART)


class Search:
    """One end of one band: the farthest share that is allowed, and the nearest that is not.

    ``value`` : the share in the base. ``side`` : −1 for the lower end, 1 for the upper. ``bound`` :
    no share is tried beyond it. ``even`` : a share that is not small, for the first step.
    """

    def __init__(self, base: Base, value: float, side: float, bound: float, even: float) -> None:
        self.base, self.value, self.side, self.bound = base, value, side, bound
        self.share, self.A, self.W = value, base.A, base.W
        self.grown = 0.0  # square root of the part of the rise that is used at ``share``
        self.beyond: tuple[float, float | None] | None = None  # share, and the same there
        # A share that is allowed if the middle of the way to it is: share, grown, error, A, W.
        self.pending: tuple[float, float, float, np.ndarray, np.ndarray] | None = None
        self.step = FIRST * max(value, even)
        self.error = shown(base.problem, base.f)
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
                expected = 1.1 / self.grown if self.grown > 0 else LONGEST
                way = abs(self.share - self.value) * min(max(expected, SHORTEST), LONGEST)
            else:
                way = self.step
            tried = self.value + self.side * way
            return self.side * min(self.side * tried, self.side * self.bound)
        far, grown = self.beyond
        part = 0.5 if grown is None else (1.0 - self.grown) / (grown - self.grown)
        return self.share + min(max(part, 0.1), 0.9) * (far - self.share)

    def learn(self, tried: float, f: float, same: bool, A: np.ndarray, W: np.ndarray) -> None:
        """Update the search with the result of a trial."""
        base = self.base
        grown = float(np.sqrt(max(f - base.f, 0.0) / base.rise))
        error = shown(base.problem, f)
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


def standing(searches: Sequence[Search]) -> tuple[np.ndarray, np.ndarray]:
    """Current factorizations of the searches: A (k, D, R), W (k, R, N)."""
    return np.stack([one.A for one in searches]), np.stack([one.W for one in searches])


Searching = TypeVar("Searching", bound=Search)


def find_ends(
    searches: Sequence[Searching],
    solve: Callable[[list[Searching], np.ndarray], tuple[np.ndarray, np.ndarray]],
    on_progress: Callable[[float], None] | None = None,
) -> None:
    """Take all searches to their ends, side by side.

    ``solve(searches, shares)`` : factorizations A (k, D, R), W (k, R, N) with these shares held,
    each from where its search stands.
    """
    for number in range(TRIALS):
        going = [search for search in searches if not search.over]
        if not going:
            return
        if on_progress is not None:
            on_progress(max(1 - len(going) / len(searches), number / TRIALS))
        tried = np.array([search.trial() for search in going])
        A, W = solve(going, tried)
        for k, search in enumerate(going):
            base = search.base
            f, same = loss_of(base.problem, A[k], W[k]), bool(base.same(A[k : k + 1])[0])
            search.learn(float(tried[k]), f, same, A[k], W[k])


def loss_of(problem: Problem, A: np.ndarray, W: np.ndarray) -> float:
    """The loss of A (D, R), W (R, N)."""
    return float(problem.loss.values(problem, A[None], W[None])[0])


def shown(problem: Problem, f: float) -> float:
    """The measure of fit of a loss."""
    return float(problem.loss.measured(problem.dataset, np.array(f)))
