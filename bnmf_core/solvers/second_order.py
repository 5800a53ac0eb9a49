"""A projected Newton method for any smooth objective of A, W ≥ 0, many factorizations at once.

One round is

1. exact derivatives, and which entries are to be 0: those that their own Newton step would take
   there (Bertsekas 1982). They go there at once;
2. a Newton direction of the others by conjugate gradients, which ends where the quadratic is
   trusted no more, or where it bends down (Steihaug 1983);
3. the step, cut at 0, if it lowers the objective as predicted; else a shorter one, or a step along
   the gradient. So the objective never rises.

An objective only needs products with its Hessian, so any likelihood with slopes has a
solver. Specialised ones for the squared error (:mod:`bnmf_core.solvers.hals`) are ten to a hundred
times as fast.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from bnmf_core.core.algorithm import unshared
from bnmf_core.core.objective import MaximumLikelihood, MaximumPosterior, Objective
from bnmf_core.core.problem import Problem
from bnmf_core.solvers import solution as shared
from bnmf_core.solvers.flat_view import FlatView
from bnmf_core.solvers.solution import Solution, Solver, Stopping, start_full
from bnmf_core.solvers.stationarity import kkt_distance, turned
from bnmf_core.solvers.ties import TiedSolution

# Part of the gradient that conjugate gradients may leave, and products with the Hessian for one
# direction, at most: on the way (or a tenth of those before), and for the certificate.
ACCURACY, SURE = 0.1, 0.01
PRODUCTS, TENTH, SURE_PRODUCTS = 30, 10, 300
# What the distance to the quadratic's minimum is multiplied by: the quadratic is not all.
CAUTION = 3.0
# A predicted gain of so many times what is allowed is worth an accurate look.
NEAR = 10.0
TRIALS, SHRINKAGE, GROWTH = 6, 0.25, 3.0
GOOD, POOR = 0.75, 0.25
# A radius of this part of x is none.
STUCK = 1e-12
# Rounds in a row, each with a step, that have to find nothing left after that; one, where it is no
# more than this part of what may be left.
CONFIRMED, NOTHING = 10, 1e-4
# Steps that a factorization may still turn by with nothing left to gain; then it is on a ridge.
PATIENCE = 8
# What a product with the Hessian takes, in evaluations of the gradient.
PRODUCT = 1.5
# Products that a typical factorization takes.
TYPICAL = 300.0


class View(Protocol):
    """An objective near some flat vectors x (m, n), as conjugate gradients ask it."""

    @property
    def movable(self) -> np.ndarray:
        """(m or 1, n), entries that may be moved by themselves."""

    def of(self, index: np.ndarray) -> "View":
        """The view of some of the vectors."""

    def hessian_times(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """(m, n)."""

    def off_scales(
        self, x: np.ndarray, free: np.ndarray, r: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """r/c (m, n) without what lies along directions that change nothing."""


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


def newton_direction(
    view: View,
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
    p = view.off_scales(x, free, r, c)
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
        z = view.of(going).off_scales(x[going], free[going], r[going], c[going])
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

    return Solver(start=start, advance=advance, work=work, serves=lambda loss: True, **described)


def _round(
    problem: Problem, objective: Objective, solution: Solution, stopping: Stopping
) -> Solution:
    """One round of as many active particles as fit, those that have done the least first."""
    active = np.flatnonzero(solution.active)
    each = PRODUCTS * PRODUCT * problem.loss.work(problem)
    order = np.argsort(solution.iterations[active], kind="stable")
    chosen = np.sort(active[order][: max(1, int(shared.STEP_WORK / each))])
    data = problem.dataset
    ties = solution.ties.of(chosen) if isinstance(solution, TiedSolution) else None
    held = None if problem.held is None else np.flatnonzero(problem.held)
    view = FlatView(objective.of(chosen), data.D, problem.rank, data.N, held, ties)
    A, W = solution.particles
    x = view.joined(*view.balanced(A[chosen], W[chosen]))
    f, g, c = view.slopes(x)
    kkt, size = _kkt(view, x, g, c), np.sqrt(np.vecdot(c * x, x))
    radius = np.where(np.isnan(solution.step[chosen]), size, solution.step[chosen])
    stuck = radius <= STUCK * size  # no step has lowered it
    iterations = solution.iterations[chosen] + 1
    left = np.maximum(stopping.max_iterations - iterations, 0)
    allowed = np.minimum(left, np.maximum(PRODUCTS, iterations // TENTH))
    towards = newton_direction(view, x, g, c, radius, ACCURACY, allowed)
    iterations += towards.products
    gain, movement = np.full((2, chosen.size), np.nan)
    if stopping.tolerance is None:
        left = np.maximum(stopping.max_iterations - iterations, 0)
        near = towards.solved & (towards.promised * objective.nats(f) <= NEAR * stopping.gain)
        some = np.flatnonzero((near | stuck) & (left > 0))
        iterations[some] += _certify(view, x, g, c, some, left[some], towards, gain, movement)
        gain *= objective.nats(f)
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
    after = unshared(solution)
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
    view: FlatView,
    x: np.ndarray,
    g: np.ndarray,
    c: np.ndarray,
    some: np.ndarray,
    left: np.ndarray,
    towards: _Direction,
    gain: np.ndarray,
    movement: np.ndarray,
) -> np.ndarray:
    """Write the remaining gain and rotation (degrees) of some particles in place.

    By the minimum of the quadratic, however far it is, in ``left`` products at most; where it is
    reached, that is the direction from here. Returns the products.
    """
    if not some.size:
        return np.zeros(0, dtype=np.int64)
    view, x, anywhere = view.of(some), x[some], np.full(some.size, np.inf)
    sure = newton_direction(
        view, x, g[some], c[some], anywhere, SURE, np.minimum(left, SURE_PRODUCTS)
    )
    A, after = (view.split(y)[0].transpose(0, 2, 1) for y in (x, view.moved(x, sure.d)))
    turns = np.minimum(CAUTION * turned(A, after), shared.FURTHEST)
    known = np.flatnonzero(sure.solved)
    gain[some[known]], movement[some[known]] = sure.promised[known], turns[known]
    for name in ("d", "promised", "length"):
        getattr(towards, name)[some[known]] = getattr(sure, name)[known]
    return sure.products


def _kkt(view: FlatView, x: np.ndarray, g: np.ndarray, c: np.ndarray) -> np.ndarray:
    A, W = view.split(x)
    far_A, far_W = view.split(np.where(view.movable, np.minimum(x, g / c), 0.0))
    return kkt_distance(A.transpose(0, 2, 1), W, far_A.transpose(0, 2, 1), far_W)


def _stepped(
    view: FlatView,
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
