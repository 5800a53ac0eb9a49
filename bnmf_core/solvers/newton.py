"""Newton's method for many factorizations at once, from near a minimum to it.

Alternating updates need thousands of iterations where a factorization slides along a valley; a
step towards the minimum of the quadratic that touches ½‖X − A W‖² where it stands needs a few.
One round is

1. an exact sweep over W, and exact derivatives on X;
2. a Newton direction by conjugate gradients (:mod:`bnmf_core.solvers.conjugate`): entries that
   are to be 0 are separated from the free ones as in projected Newton methods (Bertsekas 1982; Kim,
   Sra & Dhillon 2007 for NMF), and the direction ends where the quadratic is trusted no more
   (Steihaug 1983);
3. the step, cut at 0, if it lowers the error on X; else a shorter one, or a sweep over A. So the
   error never rises.

The angle that the direction would turn the basis by is how far it is to the minimum, and by how
much the quadratic falls on the way is what there is to gain: a factorization is judged by both, see
:func:`measured`. Where there is nothing to gain and yet far to turn, round after round, it is on a
ridge. A small X has a method of its own, :mod:`bnmf_core.solvers.projection`.
"""

import numpy as np

from bnmf_core.core.algorithm import unshared
from bnmf_core.core.problem import Problem
from bnmf_core.solvers.directions import NEAR_ACCURACY, Directions, accurate, directions, of, part
from bnmf_core.solvers.kernels import sweep, sweep_each
from bnmf_core.solvers.solution import (
    FURTHEST,
    IDLE,
    ROUNDING,
    Solution,
    Stopping,
    gram,
    groups,
    holding,
    nats,
    update_seen,
)
from bnmf_core.solvers.stationarity import (
    Slopes,
    balanced,
    kkt_residuals,
    slopes,
    turned,
)
from bnmf_core.solvers.ties import TiedSolution, Ties

# Part of the gradient that conjugate gradients may leave on the way.
ACCURACY = 0.3
# Products with the Hessian for one direction, at most: on the way, and near the minimum.
PRODUCTS, NEAR_PRODUCTS = 40, 200
# A direction that turns by at most so many times what is wanted is worth solving for accurately.
NEAR = 4.0
# What the distance to the quadratic's minimum is multiplied by: the quadratic is not all.
CAUTION = 3.0
TRIALS, SHRINKAGE, GROWTH, GOOD = 4, 0.25, 10.0, 0.5


def advance(problem: Problem, solution: Solution, stopping: Stopping, rounds: int) -> Solution:
    """So many rounds of all factorizations that are active, or fewer if all have settled."""
    for _ in range(rounds):
        if not solution.active.any():
            break
        after = unshared(solution)
        for chosen in groups(problem, np.flatnonzero(solution.active)):
            _improve(problem, solution, stopping, chosen, after)
        solution = after
    return solution


def measured(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """KKT residual, movement and gain of factorizations, whatever has made them.

    The movement is how far a factorization would still turn if it went on, in degrees: three times
    the largest angle between a column of A and where a Newton step would put it, 90 at most. The
    gain is by how much ½‖X − AW‖² would still fall, over the variance of the noise, ‖X − AW‖² for
    each entry seen: nats of a likelihood. Where the quadratic has no minimum it is all of it.

    Parameters
    ----------
    A : (m, D, R), W : (m, R, N).

    Returns
    -------
    kkt (m,), see :func:`bnmf_core.solvers.stationarity.kkt_residuals`; movement (m,); gain (m,).
    """
    At = A.transpose(0, 2, 1)
    found = np.empty((3, A.shape[0]))
    for chosen in groups(problem, np.arange(A.shape[0])):
        found[:, chosen] = _measured(problem, At[chosen], W[chosen])
    return found[0], found[1], found[2]


def _measured(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`measured` of A (m, R, D), W (m, R, N), all together."""
    A, W = balanced(np.ascontiguousarray(A), W)
    found = slopes(problem, A, W)
    most = np.full(A.shape[0], NEAR_PRODUCTS)
    # Where the quadratic of X compressed has no minimum, it has not converged: no need to ask X.
    arguments = problem, A, W, found, NEAR_ACCURACY, most, np.full(A.shape[0], np.inf)
    towards = directions(*arguments, exact=problem.dataset.is_sparse)
    gain = nats(problem, towards.promised, found.squared_error)
    kkt = kkt_residuals(A, W, found)
    whole = nats(problem, 0.5 * found.squared_error, found.squared_error)
    return kkt, movements(A, towards), np.where(towards.solved, gain, whole)


def with_unmeasured(
    problem: Problem, solution: Solution
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """KKT residual, movement and gain (m,) of a solution, measured where it does not say them."""
    found = np.stack([solution.kkt, solution.movement, solution.gain])
    for chosen in groups(problem, np.flatnonzero(np.isnan(solution.movement))):
        found[:, chosen] = _measured(problem, solution.A[chosen], solution.W[chosen])
    return found[0], found[1], found[2]


def movements(A: np.ndarray, towards: Directions) -> np.ndarray:
    """Degrees (m,) that bases A (m, R, D) have still to turn, given their Newton directions."""
    return np.minimum(CAUTION * turned(A, np.maximum(A + towards.A, 0.0)), FURTHEST)


def _improve(
    problem: Problem, solution: Solution, stopping: Stopping, chosen: np.ndarray, after: Solution
) -> None:
    """One round of the chosen ones, put into ``after`` in place."""
    A, W = balanced(solution.A[chosen], solution.W[chosen])
    radius, iterations = solution.step[chosen], solution.iterations[chosen] + 1
    ties = solution.ties.of(chosen) if isinstance(solution, TiedSolution) else None
    W, linear_W = _swept_W(problem, A, W)
    found = slopes(problem, A, W, linear_W)
    if ties is not None:
        ties.carried(found)
    kkt = kkt_residuals(A, W, found)
    left = np.maximum(stopping.max_iterations - iterations, 0)
    towards = directions(problem, A, W, found, ACCURACY, np.minimum(left, PRODUCTS), radius, ties)
    iterations += towards.products
    estimate, gain = np.full((2, chosen.size), np.inf)
    little = np.zeros(chosen.size, dtype=bool)
    if not stopping.by_residual:
        little = nats(problem, towards.promised, found.squared_error) <= stopping.little
        close = towards.solved & (movements(A, towards) <= NEAR * stopping.movement)
        near = np.flatnonzero((close | little) & (kkt <= stopping.kkt))
        estimate[near], gain[near] = _seen_closely(
            problem,
            A[near],
            W[near],
            of(found, near),
            towards,
            near,
            np.minimum(np.maximum(stopping.max_iterations - iterations[near], 0), NEAR_PRODUCTS),
            # How little there is left to gain is not known inside a region.
            np.where(little[near], np.inf, radius[near]),
            None if ties is None else ties.of(near),
        )
        iterations[near] += towards.products[near]
    squared_norm = problem.dataset.squared_norm
    enough = max(stopping.good_enough**2, ROUNDING) * squared_norm
    # The step is smaller than rounding.
    still = towards.promised <= ROUNDING * squared_norm
    estimate[still] /= CAUTION  # nor lead to another quadratic
    movement = estimate
    if problem.compression_rank is None:
        # In a small X every entry tells: a short step may be followed by a longer one, where
        # entries leave zero or come to it, so two estimates in a row have to agree.
        movement = np.maximum(estimate, solution.limit[chosen])
    converged = stopping.converged(kkt, movement, gain)
    unknown = little & np.isinf(gain)
    idle = np.where(unknown, solution.idle[chosen], 0)
    rests = stopping.idle(kkt, estimate / CAUTION, gain)
    idle = np.where(rests, solution.idle[chosen] + 1, idle)
    ridge = (idle >= IDLE) | (still & stopping.idle(kkt, estimate, gain))
    settled = converged | ridge | still | (found.squared_error <= enough)
    going = np.flatnonzero(~settled)
    if going.size:
        A[going], W[going], radius[going], error = _stepped(
            problem,
            A[going],
            W[going],
            of(found, going),
            part(towards, going),
            radius[going],
            None if ties is None else ties.of(going),
        )
        found.squared_error[going] = error
    after.A[chosen], after.W[chosen] = A, W
    after.iterations[chosen], after.squared_error[chosen] = iterations, found.squared_error
    after.active[chosen] = ~settled & (iterations < stopping.max_iterations)
    after.step[chosen], after.limit[chosen] = radius, estimate
    certified = converged | ridge
    after.kkt[chosen] = np.where(certified, kkt, np.nan)
    after.movement[chosen] = np.where(certified & np.isfinite(estimate), movement, np.nan)
    after.gain[chosen] = np.where(certified & np.isfinite(gain), gain, np.nan)
    after.ridge[chosen], after.idle[chosen] = ridge, idle


def _seen_closely(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    found: Slopes,
    towards: Directions,
    near: np.ndarray,
    most: np.ndarray,
    radius: np.ndarray,
    ties: Ties | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Movement and gain of those ``near``, infinite where not known; better directions for them."""
    if not near.size:
        return np.empty(0), np.empty(0)
    closer = accurate(problem, A, W, found, most, radius, ties)
    towards.products[near] = closer.products
    taken = closer.solved | np.isfinite(radius)
    for name in ("A", "W", "length", "promised", "solved"):
        getattr(towards, name)[near[taken]] = getattr(closer, name)[taken]
    left = movements(A, closer), nats(problem, closer.promised, found.squared_error)
    return np.where(closer.solved, left[0], np.inf), np.where(closer.solved, left[1], np.inf)


def _stepped(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    found: Slopes,
    towards: Directions,
    radius: np.ndarray,
    ties: Ties | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The step that lowers the error, or a sweep over A: A, W, radii, squared errors."""
    A, W, radius, error = A.copy(), W.copy(), radius.copy(), found.squared_error.copy()
    waiting = np.arange(A.shape[0])
    size = 1.0
    for _ in range(TRIALS):
        trial_A = np.maximum(A[waiting] + size * towards.A[waiting], 0.0)
        if ties is not None:
            trial_A = ties.of(waiting).imposed(trial_A)
        trial_W = np.maximum(W[waiting] + size * towards.W[waiting], 0.0)
        now = _squared_errors(problem, trial_A, trial_W)
        better = now < error[waiting]
        done = waiting[better]
        A[done], W[done], error[done] = trial_A[better], trial_W[better], now[better]
        length = towards.length[done]
        if size == 1.0:
            ratio = (found.squared_error[done] - now[better]) / (2.0 * towards.promised[done])
            whole = (length >= 0.99 * radius[done]) & (ratio >= GOOD)
            radius[done] = np.where(whole, GROWTH * length, radius[done])
        else:
            radius[done] = 2.0 * size * length
        waiting = waiting[~better]
        if not waiting.size:
            return A, W, radius, error
        size *= SHRINKAGE
    radius[waiting] = size * towards.length[waiting]
    left = None if ties is None else ties.of(waiting)
    A[waiting] = _swept_A(problem, A[waiting], W[waiting], left)
    error[waiting] = _squared_errors(problem, A[waiting], W[waiting])
    return A, W, radius, error


def _swept_W(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """W (m, R, N) after one exact sweep, and AᵀX; None with gaps."""
    linear = problem.times_columns(A)
    W = W.copy()
    if problem.seen is not None:
        return update_seen(_one_sweep, W, linear, A, problem.seen, np.ones(len(A)), False)[0], None
    sweep(W, linear, gram(A), 1)
    return W, linear


def _swept_A(problem: Problem, A: np.ndarray, W: np.ndarray, ties: Ties | None) -> np.ndarray:
    """A (m, R, D) after one exact sweep, in which held and tied columns have no part."""
    linear = problem.times_rows(W)
    if problem.seen is not None and ties is not None:
        return A.copy()  # a shorter step will do
    if problem.seen is not None:
        ones = np.ones(len(A))
        return update_seen(_one_sweep, A, linear, W, problem.seen.T, ones, False, problem)[0]
    A, G = A.copy(), holding(problem, gram(W))
    sweep(A, linear, G if ties is None else ties.without(G), 1)
    return A


def _one_sweep(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    sweep_each(F, linear, G, 1)
    return F


def _squared_errors(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """‖X − AW‖² over what was seen: (m,)."""
    if problem.seen is not None:
        residual = A.transpose(0, 2, 1) @ W
        residual *= problem.seen
        residual -= problem.dataset.X
        return np.einsum("mdn,mdn->m", residual, residual)
    overlap = np.einsum("mrn,mrn->m", W, problem.times_columns(A))
    size = np.einsum("mrs,mrs->m", gram(A), gram(W))
    return np.maximum(problem.dataset.squared_norm - 2 * overlap + size, 0.0)
