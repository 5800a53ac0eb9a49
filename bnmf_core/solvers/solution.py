"""What every solver shares: factorizations being solved, and when they have settled."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.problem import Problem

CHECK_EVERY = 5
# Multiply-adds of one step: about a third of a second on one core.
STEP_WORK = 1.5e9


@dataclass(frozen=True)
class Solution:
    """Factorizations being solved.

    Attributes
    ----------
    A : (m, R, D) bases, transposed. W : (m, R, N).
    iterations : (m,) done by each particle. squared_error : (m,) at its last check.
    active : (m,) still being improved in this phase. approaching : whether this is phase 1.
    step, limit : (m,) state of the extrapolation.
    """

    A: np.ndarray
    W: np.ndarray
    iterations: np.ndarray
    squared_error: np.ndarray
    active: np.ndarray
    approaching: bool
    step: np.ndarray
    limit: np.ndarray

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
    tolerance : when five iterations lower its squared error by less than this part of it.
    good_enough : when its relative error ‖X − AW‖/‖X‖ is at most this; 0 for never.
    """

    max_iterations: int = 300
    tolerance: float = 5e-5
    good_enough: float = 0.0


@dataclass(frozen=True)
class Solver:
    """A way from a start to an NMF.

    Attributes
    ----------
    key, label : registry key and name on screen. reference : where it was published.
    start : ``(problem, A (m, D, R), W (m, R, N)) → Solution``.
    advance : ``(problem, solution, stopping) → Solution``, one bounded step.
    work : ``(problem, typical iterations) → float``, multiply-adds per particle.
    """

    key: str
    label: str
    reference: str
    start: Callable[[Problem, np.ndarray, np.ndarray], Solution]
    advance: Callable[[Problem, Solution, Stopping], Solution]
    work: Callable[[Problem, float], float]


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
    )


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
) -> Solution:
    """One bounded step on X itself: all particles side by side, until some have settled.

    ``update(F (m, R, n), linear (m, R, n), gram (m, R, R), step (m,))`` returns a factor that
    is better, or no worse, on ½ ⟨F, G F⟩ − ⟨C, F⟩; it may change ``step`` in place.
    """
    squared_norm = problem.dataset.squared_norm
    # Below the floor the expanded error is rounding.
    target = max(stopping.good_enough**2, 1e-15) * squared_norm
    chosen = np.flatnonzero(solution.active)
    A, W = solution.A[chosen], solution.W[chosen]
    step, limit = solution.step.copy(), solution.limit.copy()
    step_A, step_W = step[chosen], limit[chosen]
    iterations, squared_error = solution.iterations.copy(), solution.squared_error.copy()
    active = solution.active.copy()
    for _ in range(iterations_that_fit(work_per_iteration * chosen.size)):
        A = update(A, problem.times_rows(W), gram(W), step_A)
        linear, gram_A = problem.times_columns(A), gram(A)
        W = update(W, linear, gram_A, step_W)
        iterations[chosen] += 1
        last = iterations[chosen] >= stopping.max_iterations
        due = (iterations[chosen] % CHECK_EVERY == 0) | last
        if not due.any():
            continue
        # ‖X − AW‖² from products that are already there.
        now = squared_norm - 2 * np.einsum("mrn,mrn->m", W, linear)
        now = np.maximum(now + np.einsum("mrs,mrs->m", gram_A, gram(W)), 0.0)
        settled = squared_error[chosen] - now <= stopping.tolerance * now
        settled = due & (settled | (now <= target) | last)
        squared_error[chosen[due]] = now[due]
        active[chosen[settled]] = False
        if settled.any():
            break
    if chosen.size < solution.active.size:
        result_A, result_W = solution.A.copy(), solution.W.copy()
        result_A[chosen], result_W[chosen] = A, W
        A, W = result_A, result_W
    step[chosen], limit[chosen] = step_A, step_W
    return replace(
        solution, A=A, W=W, iterations=iterations, squared_error=squared_error,
        active=active, step=step, limit=limit,
    )  # fmt: skip


def full_solver(
    update: Update, work_per_iteration: Callable[[Problem], float], **described: str
) -> Solver:
    """The solver that works on X itself by one kind of update.

    ``work_per_iteration`` gives the multiply-adds of one iteration of one particle;
    ``described`` holds key, label and reference.
    """

    def advance(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
        return advance_full(problem, solution, stopping, work_per_iteration(problem), update)

    def work(problem: Problem, typical: float) -> float:
        return typical * work_per_iteration(problem)

    return Solver(start=start_full, advance=advance, work=work, **described)


def iterations_that_fit(work: float) -> int:
    """Iterations that fit in one bounded step, a multiple of the check if possible."""
    fit = int(STEP_WORK / work)
    return max(1, fit if fit < CHECK_EVERY else fit // CHECK_EVERY * CHECK_EVERY)


def gram(F: np.ndarray) -> np.ndarray:
    """F Fᵀ of every particle: F (m, R, n) → (m, R, R)."""
    return F @ F.transpose(0, 2, 1)


def product_work(problem: Problem) -> float:
    """Multiply-adds of the two products with X in one full iteration of one particle."""
    # A sparse product reaches about an eighth of a dense one's rate.
    entries = problem.dataset.stored_entries * (8 if problem.dataset.is_sparse else 1)
    return 2.0 * entries * problem.rank
