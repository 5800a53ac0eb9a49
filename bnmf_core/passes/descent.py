"""Factorizations over blocks of X: starts on the sample, then passes over everything.

Given A the best weights of an observation depend on no other, so the loss is a function of A alone,
F(A) = min over W ≥ 0 of f(X, AW), and one pass over X gives F, its slope and a curvature for every
particle (Golub & Pereyra 1973). Each pass makes one step of A:

1. *Sample.* Every particle is solved on the dataset's sample, in memory, as usual.
2. *Passes.* A plain step is alternating least squares: A minimises the quadratic of F with W held.
   Anderson's method (Walker & Ni 2011) extrapolates from the last of these steps. Of the squared
   error it takes turns with Newton steps (:mod:`bnmf_core.passes.faces`): whichever last lowered F
   by more makes the next one. A step that raises F is taken back to the plain one, so F falls from
   pass to pass.
3. *Certificate.* A particle stops at the KKT residual, the angle and the nats that runs in memory
   stop at. Of the squared error a Newton step with the Hessian of the sample has to agree
   (:mod:`bnmf_core.passes.certificate`), and takes it on where it does not; of counts what the last
   five passes gained counts as well. One more pass takes its weights and its log joint at the
   model's scale.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bnmf_core.blocks.whole import whole_of
from bnmf_core.core.algorithm import Batch, Scores, Shard, unshared
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SMALLEST_RELATIVE_NOISE, SQUARED_ERROR
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.passes import certificate, counts, squared_error, sums
from bnmf_core.passes.executor import CURRENT, over_blocks
from bnmf_core.passes.faces import step_on_faces
from bnmf_core.passes.sums import Sums
from bnmf_core.solvers.nnls import solve_columns
from bnmf_core.solvers.second_order import GOOD, GROWTH, POOR, SHRINKAGE
from bnmf_core.solvers.solution import FURTHEST, Solver, Stopping
from bnmf_core.solvers.stationarity import kkt_distance, turned

Starts = Callable[[Problem, Any, Shard], tuple[np.ndarray, np.ndarray]]
# Particles that are solved on the sample by one task, and passes at most.
TOGETHER, MOST_PASSES = 4, 200
# Steps that Anderson's method remembers, within so many bytes, and those that a certificate needs.
MEMORY, MEMORY_BYTES, ENOUGH = 10, 2**28, 3
# What is left counts so many times, as with Newton's method: what is extrapolated may be too short.
CAUTION = 3.0
# Passes with almost no decrease after which counts have converged.
FALLS = 5
# Of the squared error they count so many times where a Newton step of the sample leads nowhere,
# and after one that does not agree the next is computed after so many times the passes.
UNSURE, ASK_AGAIN = 1e3, 1.25
# A KKT residual of rounding: there no Newton step is made, whose Hessian, of a sample that is
# small beside the features, may lead nowhere.
AT_REST = 1e-12
# A rise of the loss by this part of it, or of ‖X‖², is rounding.
ROUNDING, OF_X = 1e-13, 1e-14
# From this pass on a step is Newton's where the last one lowered the loss by more than the last
# extrapolation did, in a region that this makes wider or narrower, by no less than a factor.
SLOW, LEAST = 8, 0.01
# Passes that a run takes, for the time left: 8 to 30 were seen of most data, 40 to 130 of scenes.
TYPICAL_PASSES = 20
DESCENDING, TO_BE_JUDGED, DONE = 0, 1, 2
# Multiply-adds of a pass: for each stored entry and component, and for the weights of one
# observation for each pair of components (measured).
PRODUCTS = {SQUARED_ERROR.key: 8.0, KULLBACK_LEIBLER.key: 120.0}
COLUMN_WORK = 60.0
# A step of a row of A that changes its fit by less than the first part is not damped; one by more
# than the second is a multiplicative update.
NEAR, FAR = 0.1, 1.0
# An entry of A whose data pull so many times as hard as its weights press is far too small.
HELD_DOWN = 4.0
# Ridge on the curvature of counts, as a fraction of its diagonal.
RIDGE = 1e-6
# What makes a loss small over blocks.
BLOCK_SUMS = {SQUARED_ERROR.key: squared_error.sums, KULLBACK_LEIBLER.key: counts.sums}


@dataclass(frozen=True)
class State:
    """State of m particles between two passes.

    Attributes
    ----------
    A : (m, R, D) bases of the next pass. plain : where the plain step of the last one leads.
    before, after : (h, m, R, D) bases of the last passes, newest last, and their plain steps.
    remembered : (m,) how many of these count. loss : (m,) at the last accepted bases.
    stage : (m,) descending, to be judged, or done. passes : (m,) made.
    kkt, movement, gain : (m,) what was left at the last pass. converged : (m,) bool.
    falls : (2 FALLS, m) by how much the loss has changed in the last passes.
    ask : (m,) pass from which on a Newton step of the sample is made.
    worth : (2, m) by how much the last extrapolation lowered it, and the last Newton step.
    radius : (m,) of the region in which Newton steps are trusted. tried, hoped : (m,) length of the
        Newton step that led here, 0 for none, and the fall of the loss that it promised.
    W : (m, R, S) weights of the sample of those that are done. log_joint : (m,) of these.
    data : (4,) see ``Sums``. handed : particles handed over before these.
    """

    A: np.ndarray
    plain: np.ndarray
    before: np.ndarray
    after: np.ndarray
    remembered: np.ndarray
    loss: np.ndarray
    stage: np.ndarray
    passes: np.ndarray
    kkt: np.ndarray
    movement: np.ndarray
    gain: np.ndarray
    converged: np.ndarray
    falls: np.ndarray
    ask: np.ndarray
    worth: np.ndarray
    radius: np.ndarray
    tried: np.ndarray
    hoped: np.ndarray
    W: np.ndarray
    log_joint: np.ndarray
    data: np.ndarray
    handed: int


class Step(NamedTuple):
    """Next position of one particle, and its remaining distance."""

    A: np.ndarray
    kkt: float
    movement: float
    gain: float


def check(problem: Problem) -> None:
    """Refuse a loss that no pass makes small.

    Raises
    ------
    SettingsError
        Naming the losses that there are.
    """
    if problem.loss.key not in BLOCK_SUMS:
        raise SettingsError(
            f"Data in blocks are factorized by the {SQUARED_ERROR.label} or the "
            f"{KULLBACK_LEIBLER.label}, and the model “{problem.model.label}” wants the "
            f"{problem.loss.label} small; choose a Gaussian or a Poisson model."
        )


def begin(
    problem: Problem,
    starts: Starts,
    settings: Any,
    shard: Shard,
    solver: Solver,
    stopping: Stopping,
) -> State:
    """Solve the shard's particles on the sample; ``starts`` as of an explorer."""
    passes, m = CURRENT.get(), shard.size
    items = [
        (starts, settings, replace(shard, start=shard.start + first, size=min(TOGETHER, m - first)))
        for first in range(0, m, TOGETHER)
    ]
    passes.called("Starts on the sample")
    tasks = ((*item, solver, stopping) for item in items)
    A = _unit(np.concatenate(list(passes.in_order(_solved, problem, tasks, len(items), "group"))))
    memory = int(np.clip(MEMORY_BYTES // (16 * A.size), 2, MEMORY))
    open_ = np.full(m, np.nan)
    return State(
        A=A,
        plain=A.copy(),
        before=np.zeros((memory, *A.shape)),
        after=np.zeros((memory, *A.shape)),
        remembered=np.zeros(m, dtype=np.int64),
        loss=np.full(m, np.inf),
        stage=np.zeros(m, dtype=np.int64),
        passes=np.zeros(m, dtype=np.int64),
        kkt=open_.copy(),
        movement=open_.copy(),
        gain=open_.copy(),
        converged=np.zeros(m, dtype=bool),
        falls=np.full((FALLS, m), np.inf),
        ask=np.zeros(m, dtype=np.int64),
        worth=np.full((2, m), np.inf),
        radius=np.full(m, np.inf),
        tried=np.zeros(m),
        hoped=np.zeros(m),
        W=np.zeros((m, problem.rank, problem.dataset.N)),
        log_joint=open_.copy(),
        data=np.zeros(4),
        handed=0,
    )


def _solved(
    problem: Problem,
    starts: Starts,
    settings: Any,
    shard: Shard,
    solver: Solver,
    stopping: Stopping,
) -> tuple[np.ndarray, float]:
    """Bases (m, R, D) of the sample, and the seconds they took."""
    began = time.thread_time()
    with one_blas_thread():
        solution = solver.start(problem, *starts(problem, settings, shard))
        while solution.active.any():
            solution = solver.advance(problem, solution, stopping)
    return solution.A, time.thread_time() - began


def _most_passes(stopping: Stopping) -> int:
    return min(stopping.max_iterations, MOST_PASSES)


def step(problem: Problem, state: State, stopping: Stopping) -> tuple[State, Batch]:
    """One pass over X, which serves all particles; those that are done are handed over in order."""
    chosen = np.flatnonzero(state.stage != DONE)
    judged = state.stage[chosen] == TO_BE_JUDGED
    begun, most = int(state.passes.max(initial=0)) + 1, _most_passes(stopping) + 1
    found = sums.added(
        over_blocks(
            problem,
            f"Pass {begun} of at most {most}",
            BLOCK_SUMS[problem.loss.key],
            state.A[chosen],
            judged,
        )
    )
    after, arrived = replace(unshared(state), data=found.data), []
    for k, p in enumerate(chosen):
        one = sums.chosen(found, np.array([k]))
        if judged[k]:
            _judge(problem, after, int(p), one)
        elif _descend(problem, after, int(p), one, stopping):
            arrived.append((int(p), one))
    _certify(problem, after, arrived, stopping)
    waiting = int(np.argmin([*(after.stage == DONE), False]))
    if not waiting:
        return after, Batch.empty(problem)
    return _handed_over(problem, after, waiting)


def _judge(problem: Problem, after: State, p: int, found: Sums) -> None:
    """Take what the last pass of a particle, at the model's scale, has found."""
    blocks = whole_of(problem).count
    prior = sums.prior_of_A(problem, after.A[p : p + 1], found.sampled)
    after.log_joint[p] = (found.log_joint - (blocks - 1) * prior)[0]
    after.loss[p], after.W[p] = found.loss[0], found.sampled[0]
    after.stage[p] = DONE


def _descend(problem: Problem, after: State, p: int, found: Sums, stopping: Stopping) -> bool:
    """Make one step of a particle, in place; whether it seems to have arrived."""
    after.passes[p] += 1
    loss = float(found.loss[0])
    rounding = OF_X * float(after.data[0]) if problem.loss is SQUARED_ERROR else 0.0
    kind, raised = int(after.tried[p] > 0.0), False
    if after.remembered[p]:
        raised = loss > after.loss[p] * (1 + ROUNDING) + rounding
        fell = after.loss[p] - loss
        after.worth[kind, p] = after.worth[:, p].min() if raised else fell
    if after.tried[p]:
        ratio = (after.loss[p] - loss) / after.hoped[p]
        if ratio < POOR:
            # Where the parabola through both losses is lowest that begins as was promised.
            part = np.clip(1.0 / (2.0 - ratio), LEAST, SHRINKAGE)
            after.radius[p] = part * after.tried[p]
        elif ratio > GOOD:
            after.radius[p] = max(after.radius[p], GROWTH * after.tried[p])
        after.tried[p] = 0.0
    if raised:
        # The step went too far: on from the plain step, without memory.
        after.A[p], after.remembered[p] = after.plain[p], 0
        return False
    after.falls[:, p] = *after.falls[1:, p], abs(after.loss[p] - loss)
    after.loss[p] = loss
    A = after.A[p]
    plain = plain_step(A, found.slope[0], found.curvature[0], found.totals[0])
    after.plain[p] = _unit(plain)
    for history, new in ((after.before, A), (after.after, after.plain[p])):
        history[:-1, p] = history[1:, p].copy()
        history[-1, p] = new
    after.remembered[p] = min(after.remembered[p] + 1, len(after.before))
    length = np.sqrt(found.squares[0])
    following = _extrapolated(after, p, length)
    left = _left(problem, A, following, plain, found, after.data)
    after.kkt[p], after.movement[p], after.gain[p] = left.kkt, left.movement, left.gain
    if problem.loss is not SQUARED_ERROR:
        after.gain[p] = max(left.gain, CAUTION * float(after.falls[:, p].sum()))
    met = problem.loss is SQUARED_ERROR and (loss <= OF_X * after.data[0] or left.kkt <= AT_REST)
    enough = met or after.remembered[p] >= min(ENOUGH, len(after.before))
    arrived = bool(enough and stopping.converged(left.kkt, left.movement, after.gain[p]))
    good = measured(problem, found.loss, after.data)[0]
    if after.passes[p] >= _most_passes(stopping) or good <= stopping.good_enough:
        _settle(problem, after, p, found, converged=arrived and met)
    elif arrived and (met or problem.loss is not SQUARED_ERROR):
        _settle(problem, after, p, found, converged=True)
    else:
        after.A[p] = _unit(following)
        slow = found.shared.size and after.passes[p] >= SLOW
        return arrived or bool(slow and after.worth[1, p] >= after.worth[0, p])
    return False


def _certify(
    problem: Problem, after: State, pairs: list[tuple[int, Sums]], stopping: Stopping
) -> None:
    """Estimate remaining distances by Newton steps; settle particles, or take the steps."""
    passes, part = CURRENT.get(), problem.dataset.N / whole_of(problem).N
    arrived = [(p, found) for p, found in pairs if _faces_agree(problem, after, p, found, stopping)]
    passes.called(f"Newton steps after pass {int(after.passes.max(initial=0))}")
    bases = {p: after.before[-1, p].copy() for p, _ in arrived}
    tasks = ((bases[p], found.sampled[0], 2.0 * found.slope[0], part) for p, found in arrived)
    steps = passes.in_order(certificate.towards, problem, tasks, len(arrived), "particle")
    for (p, found), step in zip(arrived, steps, strict=True):
        # The sample may bend down where all observations do not. Then nothing may be left to see.
        lowered = step.promised if step.solved else UNSURE * float(after.falls[:, p].sum())
        turn = CAUTION * float(turned(bases[p][None], step.A[None])[0]) if step.solved else 0.0
        gain = CAUTION * _nats(problem, lowered / 2.0, found, after.data)
        after.movement[p] = max(after.movement[p], min(turn, FURTHEST))
        after.gain[p] = max(after.gain[p], gain)
        if stopping.converged(after.kkt[p], after.movement[p], after.gain[p]):
            _settle(problem, after, p, found, converged=True)
        else:
            after.ask[p] = int(after.passes[p] * ASK_AGAIN)
            if step.solved:
                after.A[p], after.tried[p] = _unit(step.A), 0.0


def _faces_agree(problem: Problem, after: State, p: int, found: Sums, stopping: Stopping) -> bool:
    """Make the next step of a particle Newton's; whether it seems to have arrived by that, too."""
    if found.shared.size:
        A, radius = after.before[-1, p], float(after.radius[p])
        of_A = found.slope[0], found.curvature[0], found.shared[0]
        step = step_on_faces(A, *of_A, radius)
        turn = CAUTION * float(turned(A[None], step.A[None])[0])
        gain = CAUTION * _nats(problem, step.promised / 2.0, found, after.data)
        after.movement[p] = max(after.movement[p], min(turn, FURTHEST))
        after.gain[p] = max(after.gain[p], gain)
        if step.promised > 0.0:
            after.A[p] = _unit(step.A)
            after.tried[p], after.hoped[p] = step.length, step.promised
    close = stopping.converged(after.kkt[p], after.movement[p], after.gain[p])
    return bool(close and after.passes[p] >= after.ask[p])


def _settle(problem: Problem, after: State, p: int, found: Sums, converged: bool) -> None:
    """Give a particle's last bases the scale of the model, for one more pass."""
    scaled, _ = problem.model.scale(after.before[-1, p].T[None], found.totals[0][None, :, None])
    after.A[p], after.stage[p], after.converged[p] = scaled[0].T, TO_BE_JUDGED, converged


def plain_step(
    A: np.ndarray, slope: np.ndarray, curvature: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """Minimum of the quadratic of the loss over A ≥ 0, weights held.

    A, slope : (R, D). curvature : (R, R) of every row, or (D, R, R), where the loss is a quadratic
    near by only: a step that changes the fit of a row by the factor 1 + ρ, root mean square, is
    divided by that, and one far away is the multiplicative update of Lee & Seung (2001), which
    never raises the loss. totals : (R,), Σ_n W_rn.
    """
    rows = np.ascontiguousarray(A.T)
    each = np.ascontiguousarray(curvature[None] if curvature.ndim == 2 else curvature)
    bend = np.einsum("drr->dr", each)
    if curvature.ndim == 3:
        # Few counts bend a row in few directions; in the others it goes as far as A ≥ 0 lets it.
        each = each + RIDGE * bend[:, :, None] * np.eye(bend.shape[1])
    target = np.ascontiguousarray((each @ rows[:, :, None])[:, :, 0] - slope.T)
    new = solve_columns(each, target)
    if curvature.ndim == 2:
        return new.T
    change, pulled = new - rows, totals - slope.T
    size = np.sqrt(np.einsum("dr,drs,ds->d", change, each, change))
    whole = np.sqrt(np.vecdot(rows, pulled))
    ratio = np.divide(size, whole, out=np.full_like(size, np.inf), where=whole > 0)[:, None]
    damped = rows + change / np.where(ratio > NEAR, 1.0 + ratio, 1.0)
    updated = rows * np.divide(pulled, totals, out=np.zeros_like(rows), where=totals > 0)
    new = np.where((ratio > FAR) & (whole > 0)[:, None], updated, damped)
    # What an entry of 0 alone would explain is not seen from there: a Newton step only doubles
    # what is there, and an update leaves 0. Slope and curvature are those of a·totals −
    # x log(a + c), whose minimum is x/totals − c away.
    lifted = pulled > HELD_DOWN * totals
    x = np.divide(pulled**2, bend, out=np.zeros_like(rows), where=lifted & (bend > 0))
    c = np.divide(pulled, bend, out=np.zeros_like(rows), where=lifted & (bend > 0))
    jump = np.divide(x, totals, out=np.zeros_like(rows), where=totals > 0) - c
    several = np.maximum(lifted.sum(axis=1, keepdims=True), 1)
    return np.where(lifted & (jump > 0), np.maximum(new, rows + jump / several), new).T


def _extrapolated(after: State, p: int, length: np.ndarray) -> np.ndarray:
    """The bases (R, D) that the last plain steps lead to; ``length`` (R,) of the components."""
    count = int(after.remembered[p])
    before = after.before[len(after.before) - count :, p]
    reached = after.after[len(after.after) - count :, p]
    if count == 1:
        return reached[-1]
    residuals = ((reached - before) * length[:, None]).reshape(count, -1)
    changes = np.diff(residuals, axis=0)
    share = np.linalg.lstsq(changes.T, residuals[-1], rcond=1e-10)[0]
    new = reached[-1] - np.tensordot(share, np.diff(reached, axis=0), axes=1)
    return np.maximum(new, 0.0)


def _left(
    problem: Problem,
    A: np.ndarray,
    following: np.ndarray,
    plain: np.ndarray,
    found: Sums,
    data: np.ndarray,
) -> Step:
    """Distance of A (R, D) from its limit."""
    curvature, slope = found.curvature[0], found.slope[0]
    bend = np.diag(curvature)[:, None] if curvature.ndim == 2 else np.einsum("drr->rd", curvature)
    distance = np.minimum(A, np.divide(slope, bend, out=np.zeros_like(A), where=bend > 0))
    root = np.sqrt(found.squares[0])[None, :, None]  # as long as the weights
    kkt = float(kkt_distance(A[None], root, distance[None], np.zeros_like(root))[0])
    movement = min(CAUTION * float(turned(A[None], following[None])[0]), FURTHEST)
    ahead = max(-0.5 * float(np.sum(slope * (new - A))) for new in (following, plain))
    lowered = CAUTION * max(ahead, 0.0)
    return Step(following, kkt, movement, _nats(problem, lowered, found, data))


def _nats(problem: Problem, lowered: float, found: Sums, data: np.ndarray) -> float:
    """Nats of a decrease of the loss, or of half the squared error, at the noise left."""
    if problem.loss is not SQUARED_ERROR:
        return lowered
    if lowered <= OF_X * data[0]:  # where X is met to its last digit, none is left to gain
        return 0.0
    least = max(SMALLEST_RELATIVE_NOISE**2 * data[0], np.finfo(float).tiny)
    return float(lowered * observed(problem) / max(float(found.loss[0]), least))


def measured(problem: Problem, f: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Measure of fit of the loss f (m,), see :meth:`Loss.measured`; ``data`` as of ``Sums``."""
    if problem.loss is SQUARED_ERROR:
        return np.sqrt(f / data[0])
    mean, floor = data[1] / observed(problem), KULLBACK_LEIBLER.floor(problem.dataset)
    return f / (data[2] - data[3] * np.log(mean + floor))


def observed(problem: Problem) -> int:
    """Entries of X that are seen."""
    return problem.dataset.D * whole_of(problem).N


def _handed_over(problem: Problem, state: State, waiting: int) -> tuple[State, Batch]:
    done = slice(None, waiting)
    batch = Batch(
        np.ascontiguousarray(state.A[done].transpose(0, 2, 1)),
        state.W[done],
        {
            "iterations": state.passes[done],
            "converged": state.converged[done],
            "kkt": state.kkt[done],
            "movement": np.where(np.isnan(state.movement[done]), FURTHEST, state.movement[done]),
            "gain": state.gain[done],
            "ridge": np.zeros(waiting, dtype=bool),
        },
        scores=Scores(
            state.loss[done],
            state.log_joint[done],
            measured(problem, state.loss[done], state.data),
        ),
    )
    rest = {
        name: value[:, waiting:]
        if name in ("before", "after", "falls", "worth")
        else value[waiting:]
        for name, value in vars(state).items()
        if isinstance(value, np.ndarray) and name != "data"
    }
    return replace(state, **rest, handed=state.handed + waiting), batch


def work(problem: Problem) -> float:
    """Multiply-adds of the passes of one particle."""
    whole, R = whole_of(problem), problem.rank
    stored = whole.N * problem.dataset.stored_entries / problem.dataset.N
    products = PRODUCTS[problem.loss.key] * stored * R
    return TYPICAL_PASSES * (products + COLUMN_WORK * R * R * whole.N)


def fraction(state: State) -> float:
    """Part of the passes that are done, as far as is known."""
    if not state.stage.size:
        return 1.0
    way = np.where(state.stage == DONE, 1.0, state.passes / (state.passes + TYPICAL_PASSES / 2))
    return float((state.handed + way.sum()) / (state.handed + way.size))


def _unit(A: np.ndarray) -> np.ndarray:
    """Components (…, R, D) of length 1; empty ones stay."""
    length = np.sqrt(np.einsum("...rd,...rd->...r", A, A))[..., None]
    return A / np.where(length > 0, length, 1.0)
