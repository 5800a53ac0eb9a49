"""Shared state of solvers: factorizations being solved, and convergence.

With gaps in X the error is summed over its seen entries, S_dn = 1 where X was seen and 0 elsewhere:
Σ S_dn (X_dn − (AW)_dn)². For row d of A that is a quadratic of the linear term (X Wᵀ)_d, as without
gaps since X holds 0 where it was not seen, and of the matrix Σ_n S_dn w_n w_nᵀ, its own in place of
WWᵀ; for the columns of W alike. So each update is as exact and as monotone as on a whole matrix.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bnmf_core.core.algorithm import unshared
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR

CHECK_EVERY = 5
# Step of the accelerated iterations that an approach begins with.
FIRST_STEP = 0.5
# When a factorization counts as converged: degrees left to turn, KKT residual, and nats to gain.
MOVEMENT, KKT, GAIN = 1.0, 1e-3, 0.01
# A factorization is on a ridge when so many rounds in a row have found nothing to gain and far to
# turn: on the way to an optimum a few do, where entries come to zero or leave it.
IDLE = 20
# What is left of ‖X‖² once its digits have been used up.
ROUNDING = 1e-15
# Degrees: no column of A is further from where it is going.
FURTHEST = 90.0
# Multiply-adds of one step: about a third of a second on one core.
STEP_WORK = 1.5e9
# Bytes of the factors of particles that are worked on together, where X is no larger; of a large X
# this part is added. A single particle may take more.
GROUP_BYTES, GROUP_SHARE = 2**24, 1 / 8
# Numbers in the Gram matrices of lines with gaps that are held at once: 2 MB.
GRAM_ENTRIES = 2**18


@dataclass(frozen=True)
class Solution:
    """Factorizations being solved.

    Attributes
    ----------
    A : (m, R, D) bases, transposed. W : (m, R, N).
    iterations : (m,) done by each particle. squared_error : (m,) at its last check.
    active : (m,) still being improved in this phase. approaching : whether this is phase 1.
    step, limit : (m,) state of the extrapolation; in Newton's method how far a step may go (in
        variable projection the inverse of its damping), and the movement estimated in the round
        before.
    kkt, movement, gain : (m,) see :mod:`bnmf_core.solvers.newton`; NaN where not measured yet.
    ridge : (m,) whether it has nothing left to gain, and yet turns on and on.
    idle : (m,) rounds in a row that have found so little to gain, and so far to turn.
    sure : (m,) rounds in a row that have found nothing left, see ``second_order``.
    part : (m,) part of X that each is approached on first, see :mod:`bnmf_core.solvers.sampling`,
        and that its squared error is of; −1: all of it.
    handed : how many more there were, which have settled and been handed over.
    """

    A: np.ndarray
    W: np.ndarray
    iterations: np.ndarray
    squared_error: np.ndarray
    active: np.ndarray
    approaching: bool
    step: np.ndarray
    limit: np.ndarray
    kkt: np.ndarray
    movement: np.ndarray
    gain: np.ndarray
    ridge: np.ndarray
    idle: np.ndarray
    sure: np.ndarray
    part: np.ndarray
    handed: int = field(default=0, kw_only=True)

    def part_of(self, some: slice) -> "Solution":
        """A selection of the factorizations."""
        arrays: dict[str, Any] = {
            k: v[some] for k, v in vars(self).items() if isinstance(v, np.ndarray)
        }
        return replace(self, **arrays)

    @property
    def particles(self) -> tuple[np.ndarray, np.ndarray]:
        """A (m, D, R), W (m, R, N)."""
        return np.ascontiguousarray(self.A.transpose(0, 2, 1)), self.W


@dataclass(frozen=True)
class Stopping:
    """When a particle has settled.

    Attributes
    ----------
    max_iterations : at the latest then.
    tolerance : when five iterations lower its squared error by less than this part of it, however
        far it may still have to go; None: when it has converged.
    good_enough : when its relative error ‖X − AW‖/‖X‖ is at most this; 0 for never.
    movement, kkt, gain : it has converged when it is at most so many degrees from where it is
        going, its KKT residual is at most this, and ½‖X − AW‖² would still fall by at most so
        many nats, at the noise that is left. No factorization is further away than 90°: where so
        many are allowed, the residual alone decides.
    """

    max_iterations: int = 300
    tolerance: float | None = 5e-5
    good_enough: float = 0.0
    movement: float = MOVEMENT
    kkt: float = KKT
    gain: float = GAIN

    @property
    def by_residual(self) -> bool:
        """Whether the way that is left does not count."""
        return self.movement >= FURTHEST

    @property
    def little(self) -> float:
        """Nats that are nothing, however many may be left."""
        return min(self.gain, GAIN)

    def converged(self, kkt: Any, movement: Any, gain: Any) -> Any:
        """Whether factorizations of which this is left have, (m,) each; NaN: no."""
        arrived = (movement <= self.movement) & (gain <= self.gain)
        return (kkt <= self.kkt) & (self.by_residual | arrived)

    def idle(self, kkt: Any, turn: Any, gain: Any) -> Any:
        """Whether they have nothing left to gain, and yet so far to turn, in degrees."""
        far = turn > max(self.movement, MOVEMENT)
        return (kkt <= self.kkt) & (gain <= self.little) & far & (not self.by_residual)


@dataclass(frozen=True)
class Solver:
    """A way from a start to an NMF.

    Attributes
    ----------
    key, label : registry key and name on screen. reference : where it was published.
    start : ``(problem, A (m, D, R), W (m, R, N)) → Solution``.
    advance : ``(problem, solution, stopping) → Solution``, one bounded step.
    work : ``(problem, typical iterations) → float``, multiply-adds per particle; None iterations:
        until it has converged.
    serves : whether it makes this loss small.
    """

    key: str
    label: str
    reference: str
    start: Callable[[Problem, np.ndarray, np.ndarray], Solution]
    advance: Callable[[Problem, Solution, Stopping], Solution]
    work: Callable[[Problem, float | None], float]
    serves: Callable[[Loss], bool] = lambda loss: loss is SQUARED_ERROR


def start_full(problem: Problem, A: np.ndarray, W: np.ndarray) -> Solution:
    """Set out from A (m, D, R) and W (m, R, N), on X itself."""
    m = A.shape[0]
    return Solution(
        A=np.ascontiguousarray(A.transpose(0, 2, 1)),
        W=np.ascontiguousarray(W),
        iterations=np.zeros(m, dtype=np.int64),
        squared_error=np.full(m, np.inf),
        active=np.ones(m, dtype=bool),
        approaching=False,
        step=np.ones(m),
        limit=np.ones(m),
        kkt=np.full(m, np.nan),
        movement=np.full(m, np.nan),
        gain=np.full(m, np.nan),
        ridge=np.zeros(m, dtype=bool),
        idle=np.zeros(m, dtype=np.int64),
        sure=np.zeros(m, dtype=np.int64),
        part=np.full(m, -1),
    )


def start_approach(problem: Problem, A: np.ndarray, W: np.ndarray) -> Solution:
    """Set out from A (m, D, R) and W (m, R, N), with an approach."""
    solution = start_full(problem, A, W)
    return replace(solution, approaching=True, step=FIRST_STEP * solution.step)


def solve_with(
    solver: Solver, problem: Problem, A: np.ndarray, W: np.ndarray, stopping: Stopping
) -> tuple[np.ndarray, np.ndarray]:
    """Improve A (m, D, R), W (m, R, N) until each particle settles; same shapes back."""
    solution = solver.start(problem, A, W)
    while solution.active.any():
        solution = solver.advance(problem, solution, stopping)
    return solution.particles


Update = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def advance_full(
    problem: Problem,
    solution: Solution,
    stopping: Stopping,
    work_per_iteration: float,
    update: Update,
    most: int | None = None,
    single: bool = False,
) -> Solution:
    """One bounded step on X itself: all particles side by side, until some have settled.

    ``most`` : iterations in it at most. ``single`` : products with a sparse X may be in single
    precision. ``update(F (m, R, n), linear (m, R, n), gram, step (m,))``
    returns a factor that is better, or no worse, on ½ ⟨F, G F⟩ − ⟨C, F⟩; it may change ``step`` in
    place. ``gram`` is (m, R, R), or (m, R, R, n) with a matrix for each column of F where X has
    gaps.
    """
    squared_norm = problem.dataset.squared_norm
    # Below the floor the expanded error is rounding.
    target = max(stopping.good_enough**2, ROUNDING) * squared_norm
    after = unshared(solution)
    single = single and problem.noise_is_small  # X is compressed on request
    active = np.flatnonzero(solution.active)
    fit = iterations_that_fit(work_per_iteration * active.size)
    for chosen in groups(problem, active):
        A, W = solution.A[chosen], solution.W[chosen]
        step_A, step_W = solution.step[chosen], solution.limit[chosen]
        for _ in range(fit if most is None else min(fit, most)):
            after.iterations[chosen] += 1
            last = after.iterations[chosen] >= stopping.max_iterations
            due = (after.iterations[chosen] % CHECK_EVERY == 0) | last
            # A target error is checked after each: another iteration costs more than the check.
            checked = np.ones_like(due) if stopping.good_enough > 0.0 else due
            if problem.seen is None:
                found = _iterate(problem, update, A, W, step_A, step_W, checked.any(), single)
            else:
                found = _iterate_seen(problem, update, A, W, step_A, step_W, checked.any())
            A, W, overlap, size = found
            if overlap is None or size is None:
                continue
            # ‖X − AW‖² from products that are already there.
            now = np.maximum(squared_norm - 2 * overlap + size, 0.0)
            settled = last | (checked & (now <= target))
            if stopping.tolerance is not None:
                gained = after.squared_error[chosen] - now
                settled |= due & (gained <= stopping.tolerance * now)
            known = due | settled
            after.squared_error[chosen[known]] = now[known]
            after.active[chosen[settled]] = False
            if settled.any():
                break
        after.A[chosen], after.W[chosen] = A, W
        after.step[chosen], after.limit[chosen] = step_A, step_W
    return after


def groups(problem: Problem, chosen: np.ndarray) -> list[np.ndarray]:
    """Particles (k,) in groups that are worked on together: fewer where each takes much memory."""
    data = problem.dataset
    most = GROUP_BYTES + GROUP_SHARE * 8 * data.stored_entries
    size = max(1, int(most / (8 * problem.rank * (data.D + data.N))))
    return [chosen[first : first + size] for first in range(0, chosen.size, size)]


# A, W, and of each particle ⟨X, AW⟩ and ‖AW‖², both over observed entries, where requested.
Iterated = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]


def _iterate(
    problem: Problem,
    update: Update,
    A: np.ndarray,
    W: np.ndarray,
    step_A: np.ndarray,
    step_W: np.ndarray,
    measured: bool,
    single: bool,
) -> Iterated:
    A = update(A, problem.times_rows(W, single), holding(problem, gram(W)), step_A)
    linear, gram_A = problem.times_columns(A, single), gram(A)
    W = update(W, linear, gram_A, step_W)
    if not measured:
        return A, W, None, None
    overlap = np.einsum("mrn,mrn->m", W, linear)
    return A, W, overlap, np.einsum("mrs,mrs->m", gram_A, gram(W))


def _iterate_seen(
    problem: Problem,
    update: Update,
    A: np.ndarray,
    W: np.ndarray,
    step_A: np.ndarray,
    step_W: np.ndarray,
    measured: bool,
) -> Iterated:
    seen = problem.seen
    assert seen is not None
    A, _ = update_seen(update, A, problem.times_rows(W), W, seen.T, step_A, False, problem)
    linear = problem.times_columns(A)
    W, size = update_seen(update, W, linear, A, seen, step_W, measured)
    return A, W, np.einsum("mrn,mrn->m", W, linear) if measured else None, size


def update_seen(
    update: Update,
    F: np.ndarray,
    linear: np.ndarray,
    other: np.ndarray,
    seen: np.ndarray,
    step: np.ndarray,
    measured: bool,
    holds: Problem | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """F (m, R, n) updated given the other factor (m, R, k), and Σ S (AW)² of each particle.

    ``seen`` (k, n). ``holds`` : where F is A, the problem that may hold some of it. Particle by
    particle: the Gram matrices of all would take much memory.
    """
    m = F.shape[0]
    result, size = np.empty_like(F), np.zeros(m)
    for p in range(m):
        for columns, G in seen_grams(other[p], seen):
            one = np.ascontiguousarray(F[p, :, columns])[None]
            C = np.ascontiguousarray(linear[p, :, columns])[None]
            G_of_it = G[None] if holds is None else holding(holds, G[None])
            one = update(one, C, G_of_it, step[p : p + 1])[0]
            result[p, :, columns] = one
            if measured:
                size[p] += np.einsum("rsn,rn,sn->", G, one, one)
    return result, size if measured else None


def seen_grams(other: np.ndarray, seen: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Σ_k S_kn f_k f_kᵀ of every column n, given F (R, k) and S (k, n): (columns, (R, R, columns)).

    A few columns at a time, so that little is held at once. The sums are one product of the
    R (R + 1)/2 different products of rows of F with S. A component that no seen entry uses has
    exactly 0.
    """
    R, n = other.shape[0], seen.shape[1]
    rows, columns = np.tril_indices(R)
    place = np.empty((R, R), dtype=np.int64)
    place[rows, columns] = place[columns, rows] = np.arange(rows.size)
    products = other[rows]
    products *= other[columns]
    width = max(1, GRAM_ENTRIES // (R * R))
    for first in range(0, n, width):
        part = slice(first, min(first + width, n))
        yield part, (products @ seen[:, part])[place]


def alike_columns(
    F: np.ndarray, C: np.ndarray, other: np.ndarray, seen: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Columns of F (R, n), to be changed in place, with those of C and their Gram matrices.

    One matrix (R, R, 1) of ``other`` (R, k) for all of them, or one for each, of what was ``seen``
    (k, n) of it.
    """
    if seen is None:
        yield F, C, gram(other[None])[0][:, :, None]
        return
    for columns, G in seen_grams(other, seen):
        part = F[:, columns].copy()
        yield part, C[:, columns].copy(), G
        F[:, columns] = part


def iterations_that_fit(work: float) -> int:
    """Iterations that fit in one bounded step, a multiple of the check if possible."""
    fit = int(STEP_WORK / work)
    return max(1, fit if fit < CHECK_EVERY else fit // CHECK_EVERY * CHECK_EVERY)


def nats(problem: Problem, lowered: Any, squared_error: Any) -> Any:
    """Gain in nats of lowering ½‖X − AW‖² by so much, (m,), at the noise that is left.

    What is rounding of ‖X‖² is nothing: where X is met to its last digit, none is left to gain.
    """
    gain = 2.0 * lowered * SQUARED_ERROR.nats(problem.dataset, squared_error)
    return np.where(np.asarray(lowered) > ROUNDING * problem.dataset.squared_norm, gain, 0.0)


def gram(F: np.ndarray) -> np.ndarray:
    """F Fᵀ of every particle: F (m, R, n) → (m, R, R)."""
    return F @ F.transpose(0, 2, 1)


def holding(problem: Problem, G: np.ndarray) -> np.ndarray:
    """Gram matrices of W (m, R, R, …) with which descent over A leaves held components alone.

    Their diagonal entries are 0: a component without curvature cannot be improved and stays.
    """
    if problem.held is None:
        return G
    G, held = G.copy(), np.flatnonzero(problem.held)
    G[:, held, held] = 0.0
    return G


def product_work(problem: Problem) -> float:
    """Multiply-adds of the two products with X in one full iteration of one particle."""
    # A sparse product reaches about an eighth of a dense one's rate.
    entries = problem.dataset.stored_entries * (8 if problem.dataset.is_sparse else 1)
    # With gaps, as many again as there are different entries in a Gram matrix.
    grams = 0.5 * (problem.rank + 1) if problem.dataset.missing else 0.0
    return 2.0 * entries * problem.rank * (1.0 + grams)


def random_start(
    dataset: Dataset, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """|N(0, 1)| entries times √(mean(X)/R), scikit-learn's scale: A (D, R), W (R, N).

    The mean is that of the seen entries; that of AW is then 2/π of it on average.
    """
    scale = np.sqrt(dataset.mean / rank)
    A = scale * np.abs(rng.standard_normal((dataset.D, rank)))
    W = scale * np.abs(rng.standard_normal((rank, dataset.N)))
    return A, W
