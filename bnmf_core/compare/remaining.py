"""Alternatives for the other components when some are believed.

The believed components are held: their columns of A stay, up to their scale, while their rows of W
and everything else is solved for, from many starts. What comes of these starts is an inner picture
of the feasible region: all of it has been reached, and there may be more.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.compare import modes
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.displacement import allowed_error
from bnmf_core.compare.distances.measures import MAX_ANGLE
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError, raise_if_cancelled
from bnmf_core.core.loss import Loss
from bnmf_core.core.names import listed
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import certificate, usual_solver
from bnmf_core.solvers.solution import Stopping, random_start

STOPPING = Stopping(10_000, None)
# A component that turns by no more than this many degrees hardly moves.
HARDLY = 5.0


@dataclass(frozen=True, eq=False)
class Locked:
    """Factorizations that share held components, first the one that these were taken from.

    Attributes
    ----------
    A : (m, D, R), the held columns the same bits in all. error : (m,) measure of fit.
    movement : (m,) degrees that the others would still turn. converged : (m,) bool.
    """

    A: np.ndarray
    error: np.ndarray
    movement: np.ndarray
    converged: np.ndarray


def check_held(held: np.ndarray) -> None:
    """Check that the held components (R,) bool leave at least one free.

    Raises
    ------
    SettingsError
        When they do not.
    """
    if np.asarray(held).all():
        raise SettingsError("All components are held; leave at least one free.")


def solve_locked(
    dataset: Dataset,
    A: np.ndarray,
    W: np.ndarray,
    held: np.ndarray,
    numbers: range,
    seed: int,
    cancel: Callable[[], bool] | None = None,
    loss: Loss = SQUARED_ERROR,
) -> tuple[Locked, np.ndarray]:
    """Factorizations with some components held, each from a start of its own, until it converges.

    Parameters
    ----------
    A : (D, R), W : (R, N) the factorization whose components are held. held : (R,) bool.
    numbers : of the starts. Number 0 is the factorization itself; any other has the held columns
        of A beside random ones, and a random W, the same for the same number and ``seed``.
    cancel : checked between rounds. loss : minimized.

    Returns
    -------
    The factorizations, in the order of the numbers, and their W (m, R, N).

    Raises
    ------
    SettingsError
        When all components are held. Cancelled: when ``cancel()`` returned True.
    """
    check_held(held)
    held = np.asarray(held, dtype=bool)
    problem = Problem.without_model(dataset, A.shape[1], held if held.any() else None, loss)
    solver = usual_solver(problem)
    pairs = [_start(dataset, A, W, held, number, seed) for number in numbers]
    state = solver.start(problem, np.stack([a for a, _ in pairs]), np.stack([w for _, w in pairs]))
    while state.active.any():
        raise_if_cancelled(cancel, "looking for what remains")
        state = solver.advance(problem, state, STOPPING)
    kkt, movement, gain = certificate(problem, state)
    found_A, found_W = state.particles
    # Solving has balanced the lengths of columns and rows; the believed columns get theirs back.
    for r in np.flatnonzero(held):
        length = np.sqrt((A[:, r] ** 2).sum())
        now = np.sqrt(np.einsum("md,md->m", found_A[:, :, r], found_A[:, :, r]))
        found_W[:, r] *= (now / length if length > 0 else np.zeros_like(now))[:, None]
        found_A[:, :, r] = A[:, r]
    error = loss.measured(dataset, np.maximum(state.squared_error, 0.0))
    return Locked(found_A, error, movement, STOPPING.converged(kkt, movement, gain)), found_W


def _start(
    dataset: Dataset, A: np.ndarray, W: np.ndarray, held: np.ndarray, number: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    if number == 0:
        return np.asarray(A, dtype=np.float64), np.asarray(W, dtype=np.float64)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    start_A, start_W = random_start(dataset, A.shape[1], rng)
    # A random column has the scale that its random row expects; a held one may have another.
    start_W[held] *= (start_A[:, held].sum(axis=0) / np.maximum(A[:, held].sum(axis=0), 1e-300))[
        :, None
    ]
    start_A[:, held] = A[:, held]
    return start_A, start_W


@dataclass(frozen=True, eq=False)
class Remaining:
    """Alternatives for the other components within an allowed error.

    Attributes
    ----------
    made : how many factorizations there are; converged : how many of them have.
    within : (k,) rows of those that have converged with an error that is allowed.
    best, allowed : the least measure of fit, and up to where it is allowed.
    held, free : (H,), (F,) components that are held, and the others.
    answers : groups of those within; any two of a group are at most ``threshold`` degrees apart.
    labels : (k,) the answer of each of them.
    angle : (F,) largest angle of each free component to the factorization's own, in degrees.
    value, lowest, highest : (D, F) share of each entry in its component, Σ_d A_dr = 1: in the
        factorization, and the least and the largest one within.
    """

    made: int
    converged: int
    within: np.ndarray
    best: float
    allowed: float
    held: np.ndarray
    free: np.ndarray
    answers: int
    labels: np.ndarray
    threshold: float
    angle: np.ndarray
    value: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @property
    def sentences(self) -> list[str]:
        """The alternatives, in words."""
        R = self.value.shape[1]
        which, others = "With nothing held", f"the {R} components"
        if self.held.size:
            names = listed(map(str, self.held + 1))
            which = f"With component{'s' * (self.held.size > 1)} {names} held"
            others = f"the other {R} components" if R > 1 else "the other component"
        if not self.within.size:
            return [f"{which}, none of {self.made} factorizations has converged yet."]
        remain = (
            "1 answer remains"
            if self.answers == 1
            else (f"{self.answers} different answers remain")
        )
        sentences = [
            f"{which}, {remain} for {others}, of {self.within.size} factorizations within the "
            f"allowed error; the error can be as low as {self.best:.4g}."
        ]
        hardly = self.angle <= HARDLY
        if hardly.all():
            sentences.append(f"None of them turns by more than {self.angle.max():.2g}°.")
        else:
            most = int(self.angle.argmax())
            if hardly.any():
                least = self.free[hardly] + 1
                sentences.append(
                    f"Component{'s' * (least.size > 1)} {listed(map(str, least))} hardly "
                    f"move{'s' * (least.size == 1)} (at most {self.angle[hardly].max():.2g}°)."
                )
            sentences.append(
                f"Component {self.free[most] + 1} can turn by up to {self.angle[most]:.2g}°."
            )
        return sentences


def remaining(
    found: Locked, A: np.ndarray, held: np.ndarray, rise: float, threshold: float | None = None
) -> Remaining:
    """Summarize factorizations with held components.

    Parameters
    ----------
    A : (D, R), the factorization whose components were held. held : (R,) bool.
    rise : the part by which the error may be above the least one, see :func:`allowed_error`.
    threshold : degrees within which answers count as one; None: where a gap between them is.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import laurberg
    >>> from bnmf_core.compare.remaining import remaining, solve_locked
    >>> data = laurberg("unique")
    >>> A, W = data.truth[0].A, data.truth[0].W
    >>> held = np.array([True, True, False])
    >>> found, _ = solve_locked(data, A, W, held, range(6), seed=0)
    >>> remaining(found, A, held, rise=0.01).answers
    1
    """
    free = np.flatnonzero(~np.asarray(held, dtype=bool))
    base = np.asarray(A, dtype=np.float64)[:, free]
    settled = found.converged
    best = float(found.error[settled].min()) if settled.any() else float(found.error.min())
    allowed = allowed_error(best, rise)
    within = np.flatnonzero(settled & (found.error <= allowed))
    bases = found.A[within][:, :, free]
    order = matching(bases, base)
    aligned = np.take_along_axis(bases, order[:, None, :], axis=2)
    shares = aligned / np.maximum(aligned.sum(axis=1, keepdims=True), 1e-300)
    value = base / np.maximum(base.sum(axis=0), 1e-300)
    angle = np.zeros(free.size)
    labels, answers, limit = np.empty(0, dtype=np.int64), 0, threshold or 0.0
    if within.size:
        angle = component_angles(aligned, base).max(axis=0)
        # The angle between bases does not know W.
        apart = pairwise(aligned, np.ones((within.size, free.size, 1)), MAX_ANGLE)
        finest = float(found.movement[within].max())
        limit = threshold or modes.suggest_threshold(apart, MAX_ANGLE.resolution(free.size), finest)
        groups = modes.find_modes(apart, limit)
        labels, answers = groups.labels, groups.count
    return Remaining(
        made=len(found.error),
        converged=int(settled.sum()),
        within=within,
        best=best,
        allowed=allowed,
        held=np.flatnonzero(held),
        free=free,
        answers=answers,
        labels=labels,
        threshold=limit,
        angle=angle,
        value=value,
        lowest=shares.min(axis=0) if within.size else value,
        highest=shares.max(axis=0) if within.size else value,
    )
