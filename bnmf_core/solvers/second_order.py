"""A projected Newton method for any smooth objective of A, W ≥ 0, many factorizations at once.

One round is

1. exact derivatives, and which entries are to be 0: those that their own Newton step would take
   there (Bertsekas 1982). They go there at once;
2. a Newton direction of the others by conjugate gradients, which ends where the quadratic is
   trusted no more, or where it bends down (Steihaug 1983);
3. the step, cut at 0, if it lowers the objective as foretold; else a shorter one, or a step along
   the gradient. So the objective never rises.

Products with the Hessian are all that is asked of an objective, so any likelihood with slopes has a
solver. Specialised ones for the squared error (:mod:`bnmf_core.solvers.hals`) are ten to a hundred
times as fast.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.loss import Loss
from bnmf_core.core.objective import MaximumLikelihood, MaximumPosterior, Objective
from bnmf_core.core.problem import Problem
from bnmf_core.solvers import solution as shared
from bnmf_core.solvers.solution import Solution, Solver, Stopping, own, start_full
from bnmf_core.solvers.stationarity import kkt_distance, turned
from bnmf_core.solvers.ties import TiedSolution, Ties

# Part of the gradient that conjugate gradients may leave, and products with the Hessian for one
# direction, at most: on the way, and for the certificate.
ACCURACY, SURE = 0.1, 0.01
PRODUCTS, SURE_PRODUCTS = 30, 300
# What the distance to the quadratic's minimum is multiplied by: the quadratic is not all.
CAUTION = 3.0
# A predicted gain of so many times what is allowed is worth an accurate look.
NEAR = 10.0
# A curvature below this part of the largest stands for an entry that nothing depends on.
LEAST = 1e-10
TRIALS, SHRINKAGE, GROWTH = 6, 0.25, 3.0
GOOD, POOR = 0.75, 0.25
# A radius of this part of x is none.
STUCK = 1e-12
# A factorization that has settled is shaken once: entries near 0 are raised to this part of the
# mean of their factor. From a saddle, where zeros of A and W hold each other, it goes on; to an
# optimum it returns, with entries off 0 that a loss all but forbids to leave it.
LIFT = 0.01
# Rounds in a row, each with a step, that have to find nothing left after that; one, where it is no
# more than this part of what may be left.
CONFIRMED, NOTHING = 10, 1e-4
# Steps that a factorization may still turn by with nothing left to gain; then it is on a ridge.
PATIENCE = 8
# What a product with the Hessian takes, in evaluations of the gradient.
PRODUCT = 1.5
# Products that a typical factorization takes.
TYPICAL = 300.0


@dataclass(frozen=True)
class _View:
    """An objective of flat vectors x = (A, W), (m, n), with what is held or tied in A."""

    objective: Objective
    D: int
    R: int
    N: int
    held: np.ndarray | None
    ties: Ties | None

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (m, D, R), W (m, R, N)."""
        size = self.D * self.R
        return x[:, :size].reshape(-1, self.D, self.R), x[:, size:].reshape(-1, self.R, self.N)

    @staticmethod
    def joined(A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """(m, n)."""
        m = A.shape[0]
        return np.concatenate([A.reshape(m, -1), W.reshape(m, -1)], axis=1)

    def of(self, index: np.ndarray) -> "_View":
        """The view of some of the factorizations."""
        return self if self.ties is None else replace(self, ties=self.ties.of(index))

    @property
    def movable(self) -> np.ndarray:
        """(m or 1, n) bool, entries that may be moved by themselves."""
        m = 1 if self.ties is None else self.ties.entry.size
        of_A = np.ones((m, self.D, self.R), dtype=bool)
        if self.held is not None:
            of_A[:, :, self.held] = False
        if self.ties is not None:
            of_A[np.arange(m), self.ties.entry, self.ties.component] = False
        return self.joined(of_A, np.ones((m, self.R, self.N), dtype=bool))

    def _carried(self, by_A: np.ndarray) -> np.ndarray:
        """The slope of each tied entry given to the others of its column."""
        if self.ties is None:
            return by_A
        by_A, all_of, ties = by_A.copy(), np.arange(by_A.shape[0]), self.ties
        tied = by_A[all_of, ties.entry, ties.component].copy()
        by_A[all_of, :, ties.component] += (ties.odds * tied)[:, None]
        return by_A

    def _follow(self, moved_A: np.ndarray) -> np.ndarray:
        """The tied entry of each moved with the others of its column."""
        if self.ties is None:
            return moved_A
        moved_A, all_of, ties = moved_A.copy(), np.arange(moved_A.shape[0]), self.ties
        moved_A[all_of, ties.entry, ties.component] = 0.0
        total = moved_A[all_of, :, ties.component].sum(axis=1)
        moved_A[all_of, ties.entry, ties.component] = ties.odds * total
        return moved_A

    def moved(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """x + d cut at 0, the tied entry where the others put it."""
        A, W = self.split(np.maximum(x + d, 0.0))
        if self.ties is not None:
            A = self.ties.imposed(A.transpose(0, 2, 1)).transpose(0, 2, 1)
        return self.joined(A, W)

    def lifted(self, x: np.ndarray) -> np.ndarray:
        """x with entries near 0 a little off it, where they may be moved."""
        parts = self.split(x)
        least = [LIFT * np.broadcast_to(F.mean(axis=(1, 2), keepdims=True), F.shape) for F in parts]
        raised = np.maximum(x, np.where(self.movable, self.joined(*least), 0.0))
        return self.moved(raised, np.zeros_like(x))

    def values(self, x: np.ndarray) -> np.ndarray:
        """(m,)."""
        return self.objective.values(*self.split(x))

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (m,), gradients (m, n), and curvatures of single entries (m, n), above 0."""
        A, W = self.split(x)
        values, by_A, by_W = self.objective.values_and_gradients(A, W)
        c = self.joined(*self.objective.curvatures(A, W))
        least = LEAST * c.max(axis=1, keepdims=True)
        c = np.maximum(c, np.where(least > 0.0, least, 1.0))
        return values, self.joined(self._carried(by_A), by_W), c

    def hessian_times(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """(m, n)."""
        moved_A, moved_W = self.split(d)
        by_A, by_W = self.objective.gradients_along(*self.split(x), self._follow(moved_A), moved_W)
        return self.joined(self._carried(by_A), by_W)


@dataclass(frozen=True)
class _Direction:
    """d : (m, n). products : (m,) with the Hessian. promised : (m,) what the quadratic falls by.

    length : (m,) of d off the entries that go to 0, in the norm of the curvatures. solved : (m,)
    whether d leads to the quadratic's minimum.
    """

    d: np.ndarray
    products: np.ndarray
    promised: np.ndarray
    length: np.ndarray
    solved: np.ndarray


def _direction(
    view: _View,
    x: np.ndarray,
    g: np.ndarray,
    c: np.ndarray,
    radius: np.ndarray,
    accuracy: float,
    most: np.ndarray,
) -> _Direction:
    """Towards the minimum of the quadratic, entries that are to be 0 at 0; gradient g, bends c."""
    movable = np.broadcast_to(view.movable, x.shape)
    to_zero = movable & (x * c <= g)
    free = movable & ~to_zero
    first, moved = np.where(to_zero, -x, 0.0), np.zeros_like(x)
    products = np.zeros(x.shape[0], dtype=np.int64)
    bent = np.zeros_like(x)
    start = np.flatnonzero(first.any(axis=1))
    if start.size:
        bent[start] = view.of(start).hessian_times(x[start], first[start])
        products[start] += 1
    promised = -np.vecdot(g + 0.5 * bent, first)
    r = np.where(free, -g - bent, 0.0)
    p = r / c
    rz = np.vecdot(r, p)
    enough = accuracy**2 * rz
    solved = rz <= np.finfo(float).tiny
    going = np.flatnonzero(~solved & (most > 0))
    while going.size:
        step_along = p[going]
        Hp = np.where(free[going], view.of(going).hessian_times(x[going], step_along), 0.0)
        products[going] += 1
        bend = np.vecdot(step_along, Hp)
        edge = _to_edge(moved[going], step_along, c[going], radius[going])
        newton = np.divide(rz[going], bend, out=np.full(going.size, np.inf), where=bend > 0)
        cut = newton >= edge
        # Without an edge, where the quadratic bends down, as far as one entry by itself would go.
        step = np.where(cut, np.where(np.isfinite(edge), edge, 1.0), newton)
        promised[going] += step * rz[going] - 0.5 * step**2 * bend
        moved[going] += step[:, None] * step_along
        r[going] -= step[:, None] * Hp
        z = r[going] / c[going]
        rz_now = np.vecdot(r[going], z)
        done = rz_now <= enough[going]
        solved[going] = done & ~cut
        p[going] = z + (rz_now / rz[going])[:, None] * step_along
        rz[going] = rz_now
        going = going[~(done | cut | (products[going] >= most[going]))]
    length = np.sqrt(np.vecdot(c * moved, moved))
    return _Direction(first + moved, products, promised, length, solved)


def _to_edge(moved: np.ndarray, p: np.ndarray, c: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The step along p at which ``moved`` is ``radius`` long in the norm of the curvatures."""
    pp, mp, mm = np.vecdot(c * p, p), np.vecdot(c * moved, p), np.vecdot(c * moved, moved)
    room = np.maximum(radius**2 - mm, 0.0)
    return (np.sqrt(mp**2 + pp * room) - mp) / pp


def solver(objective_of: Callable[[Problem], Objective], **described: str) -> Solver:
    """The solver that makes ``objective_of(problem)`` smallest."""

    def start(problem: Problem, A: np.ndarray, W: np.ndarray) -> Solution:
        plain = start_full(problem, A, W)
        return replace(plain, step=np.full(A.shape[0], np.nan))

    def advance(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
        # A step that is not finite is not taken.
        with np.errstate(all="ignore"):
            return _round(problem, objective_of(problem), solution, stopping)

    def work(problem: Problem, typical: float | None) -> float:
        return (TYPICAL if typical is None else typical) * PRODUCT * problem.loss.work(problem)

    return Solver(start=start, advance=advance, work=work, serves=any_loss, **described)


def any_loss(loss: Loss) -> bool:
    """Of a solver that serves every loss."""
    return True


def _round(
    problem: Problem, objective: Objective, solution: Solution, stopping: Stopping
) -> Solution:
    """One round of as many active particles as fit, those that have done the least first."""
    active = np.flatnonzero(solution.active)
    each = PRODUCTS * PRODUCT * problem.loss.work(problem)
    most = max(1, int(shared.STEP_WORK / each))
    order = np.argsort(solution.iterations[active], kind="stable")
    chosen = np.sort(active[order][:most])
    data = problem.dataset
    ties = solution.ties.of(chosen) if isinstance(solution, TiedSolution) else None
    held = None if problem.held is None else np.flatnonzero(problem.held)
    view = _View(objective, data.D, problem.rank, data.N, held, ties)
    A, W = solution.particles
    x = view.joined(*_balanced(A[chosen], W[chosen], view))
    f, g, c = view.slopes(x)
    kkt, size = _kkt(view, x, g, c), np.sqrt(np.vecdot(c * x, x))
    radius = np.where(np.isnan(solution.step[chosen]), size, solution.step[chosen])
    stuck = radius <= STUCK * size  # no step has lowered it
    iterations = solution.iterations[chosen] + 1
    left = np.maximum(stopping.max_iterations - iterations, 0)
    towards = _direction(view, x, g, c, radius, ACCURACY, np.minimum(left, PRODUCTS))
    iterations += towards.products
    gain, movement = np.full((2, chosen.size), np.nan)
    if stopping.tolerance is None:
        left = np.maximum(stopping.max_iterations - iterations, 0)
        nats = objective.nats(f)
        near = towards.solved & (towards.promised * nats <= NEAR * stopping.gain)
        some = np.flatnonzero((near | stuck) & (left > 0))
        iterations[some] += _certify(view, x, g, c, some, left[some], towards, gain, movement)
        gain *= nats
    idle, sure, ridge, settled = _verdicts(solution, chosen, stopping, kkt, movement, gain, stuck)
    again = np.flatnonzero((sure == 1) & (solution.sure[chosen] == 0))
    if stopping.good_enough > 0.0:
        fit = problem.loss.values(problem, *view.split(x))
        settled |= problem.loss.measured(data, fit) <= stopping.good_enough
    before, going = f.copy(), np.setdiff1d(np.flatnonzero(~settled), again)
    if going.size:
        part = _Direction(**{name: value[going] for name, value in vars(towards).items()})
        x[going], f[going], radius[going] = _stepped(
            view.of(going), x[going], f[going], g[going], c[going], part, radius[going]
        )
    if again.size:
        x[again], radius[again], idle[again] = view.of(again).lifted(x[again]), np.nan, 0
    if stopping.tolerance is not None:
        settled |= before - f <= stopping.tolerance * np.abs(f)
        settled |= radius <= STUCK * size
    over = settled | (iterations >= stopping.max_iterations)
    after = own(solution)
    A, W = view.split(x)
    after.A[chosen], after.W[chosen] = A.transpose(0, 2, 1), W
    after.iterations[chosen] = np.minimum(iterations, stopping.max_iterations)
    after.squared_error[chosen], after.step[chosen], after.active[chosen] = f, radius, ~over
    after.idle[chosen], after.ridge[chosen], after.sure[chosen] = idle, ridge, sure
    after.kkt[chosen], after.movement[chosen], after.gain[chosen] = kkt, movement, gain
    return after


def _verdicts(
    solution: Solution,
    chosen: np.ndarray,
    stopping: Stopping,
    kkt: np.ndarray,
    movement: np.ndarray,
    gain: np.ndarray,
    stuck: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rounds at rest and in which all is well, (m,); ridges and what has settled."""
    # Where the gain is gone and the way is not, a few more steps tell a ridge from a last turn.
    still = (kkt <= stopping.kkt) & (gain <= stopping.gain) & (movement > stopping.movement)
    idle = np.where(still, solution.idle[chosen] + 1, 0)
    ridge = idle > PATIENCE
    well = stopping.converged(kkt, movement, gain) | stuck
    # The first time it is shaken. From then on a zero may still leave 0 when others have moved.
    sure = np.where(well, solution.sure[chosen] + 1, np.minimum(solution.sure[chosen], 1))
    at_rest = (sure > 1) & (gain <= NOTHING * stopping.gain)
    return idle, sure, ridge, ridge | at_rest | (sure > CONFIRMED)


def _certify(
    view: _View,
    x: np.ndarray,
    g: np.ndarray,
    c: np.ndarray,
    some: np.ndarray,
    left: np.ndarray,
    towards: _Direction,
    gain: np.ndarray,
    movement: np.ndarray,
) -> np.ndarray:
    """What some may still gain, and degrees that they have still to turn, put in place.

    By the minimum of the quadratic, however far it is, in ``left`` products at most; where it is
    reached, that is the direction from here. Returns the products.
    """
    if not some.size:
        return np.zeros(0, dtype=np.int64)
    view, x, anywhere = view.of(some), x[some], np.full(some.size, np.inf)
    sure = _direction(view, x, g[some], c[some], anywhere, SURE, np.minimum(left, SURE_PRODUCTS))
    A, after = (view.split(y)[0].transpose(0, 2, 1) for y in (x, view.moved(x, sure.d)))
    turns = np.minimum(CAUTION * turned(A, after), shared.FURTHEST)
    known = np.flatnonzero(sure.solved)
    gain[some[known]], movement[some[known]] = sure.promised[known], turns[known]
    for name in ("d", "promised", "length"):
        getattr(towards, name)[some[known]] = getattr(sure, name)[known]
    return sure.products


def _balanced(A: np.ndarray, W: np.ndarray, view: _View) -> tuple[np.ndarray, np.ndarray]:
    """Components with equal lengths in A and W, where an objective does not mind their scale."""
    if view.held is not None or not isinstance(view.objective, MaximumLikelihood):
        return A, W
    size_A, size_W = np.sqrt((A**2).sum(axis=1)), np.sqrt((W**2).sum(axis=2))
    full = (size_A > 0) & (size_W > 0)
    factor = np.sqrt(np.divide(size_W, size_A, out=np.ones_like(size_A), where=full))
    return A * factor[:, None, :], W / factor[:, :, None]


def _kkt(view: _View, x: np.ndarray, g: np.ndarray, c: np.ndarray) -> np.ndarray:
    A, W = view.split(x)
    far_A, far_W = view.split(np.where(view.movable, np.minimum(x, g / c), 0.0))
    return kkt_distance(A.transpose(0, 2, 1), W, far_A.transpose(0, 2, 1), far_W)


def _stepped(
    view: _View,
    x: np.ndarray,
    f: np.ndarray,
    g: np.ndarray,
    c: np.ndarray,
    towards: _Direction,
    radius: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The step that lowers the objective, or one along the gradient: x, values, radii."""
    x, f, radius = x.copy(), f.copy(), radius.copy()
    waiting, size = np.arange(x.shape[0]), 1.0
    d = towards.d
    for trial in range(2 * TRIALS):
        if trial == TRIALS:  # the quadratic is no good here
            d = np.where(view.movable, np.maximum(-g / c, -x), 0.0)
            size = SHRINKAGE
        reached = view.of(waiting).moved(x[waiting], size * d[waiting])
        now = view.of(waiting).values(reached)
        better = now < f[waiting]
        done = waiting[better]
        gained = f[done] - now[better]
        x[done], f[done] = reached[better], now[better]
        length = towards.length[done]
        if size == 1.0:
            promised = towards.promised[done]
            whole = length >= 0.9 * radius[done]
            radius[done] = np.where(
                gained < POOR * promised,
                SHRINKAGE * length,
                np.where((gained > GOOD * promised) & whole, GROWTH * length, radius[done]),
            )
        else:
            radius[done] = 2.0 * size * length
        waiting = waiting[~better]
        if not waiting.size:
            return x, f, radius
        size *= SHRINKAGE
    radius[waiting] = 0.0
    return x, f, radius


SOLVER = solver(
    MaximumLikelihood,
    key="second_order",
    label="Projected Newton method",
    reference="Bertsekas 1982; Steihaug 1983",
)
POSTERIOR_SOLVER = solver(
    MaximumPosterior,
    key="posterior",
    label="Projected Newton method on the posterior density",
    reference="Bertsekas 1982; Steihaug 1983",
)
