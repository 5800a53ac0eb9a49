"""Gibbs sampling over blocks of X: one pass is one sweep of every chain, and exact.

Given A the weights of an observation depend on no other, so blocks draw theirs independently; A is
then drawn from sums over all blocks. The weights of all observations lie in two files of the run's
folder, those before the sweep and those after it, so a run that is broken off goes on with the same
bits. A recorded state is A and the weights drawn from it.

For counts, a sweep draws the sources given A and W, W given these, and then A. The moves of scale
that runs in memory add are left out (:mod:`bnmf_core.samplers.scale_move`).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from bnmf_core.blocks.whole import block_problem, whole_of
from bnmf_core.core.algorithm import Batch, OnBlocks, Scores, Shard
from bnmf_core.core.errors import SettingsError, StoreError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.model import required
from bnmf_core.core.problem import Problem
from bnmf_core.core.whole import AllObservations
from bnmf_core.numerics.counts import Counts
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.passes import squared_error
from bnmf_core.passes.descent import measured
from bnmf_core.passes.executor import CURRENT
from bnmf_core.passes.sums import of_data, prior_of_A
from bnmf_core.samplers import gibbs, sources
from bnmf_core.samplers.chains import joined, recorded
from bnmf_core.samplers.starting import starts
from bnmf_core.solvers.nnls import solve_weights

# Stream of the generators of blocks, distinct from those of shards and particles.
BLOCK_KEY = 2


@dataclass(frozen=True)
class State:
    """State of chains between two passes.

    chains : the bases and the sample's weights that were recorded last, and how far they are.
    A : (c, R, D) the bases of the next pass. seed : of the run.
    """

    chains: gibbs.State
    A: np.ndarray
    seed: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """Results of a pass for one block.

    W : (c, R, n) weights that were drawn. sums : what A is drawn from, added over blocks.
    loss, log_joint : (c,). data : as of :class:`~bnmf_core.passes.sums.Sums`.
    """

    W: np.ndarray
    sums: tuple[np.ndarray, ...]
    loss: np.ndarray
    log_joint: np.ndarray
    data: np.ndarray


def init(
    problem: Problem, settings: gibbs.Settings, shard: Shard, rng: np.random.Generator
) -> State:
    """Start each chain on the sample, at the scale of the whole."""
    each, rest = divmod(shard.size, min(settings.chains, shard.size))
    draws = each + (np.arange(min(settings.chains, shard.size)) < rest)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    A, W = starts(problem, settings, generators, "Gibbs")
    if settings.start != "prior":
        A, _ = problem.model.scale(A, W * (whole_of(problem).N / problem.dataset.N))
    A = np.ascontiguousarray(A.transpose(0, 2, 1))
    return State(gibbs.started(problem, A, W, draws, 0, settings), A, shard.seed)


def step(
    problem: Problem, state: State, settings: gibbs.Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """One sweep, which is one pass over X."""
    state, scores = _swept(problem, state, rng)
    chains = state.chains
    if chains.warm_up is not None:
        return replace(state, chains=gibbs.warmed(problem, chains, settings)), joined(problem, [])
    after = chains.sweeps - chains.begin
    if after % chains.thinning:
        return state, joined(problem, [])
    draw = after // chains.thinning
    batch = recorded(chains, draw, chains.A, chains.W)
    chosen = np.flatnonzero(chains.draws >= draw)
    known = (scores.loss, scores.log_joint, scores.error)
    return state, replace(batch, scores=Scores(*(values[chosen] for values in known)))


def _swept(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, Scores]:
    passes, whole, sweep = CURRENT.get(), whole_of(problem), state.chains.sweeps
    files = [passes.folder / f"weights-{parity}.bin" for parity in (sweep % 2, (sweep + 1) % 2)]
    passes.called(f"Sweep {sweep + 1:,}")
    shape = state.A.shape[:2]

    def items() -> Iterator[tuple[object, ...]]:
        for i in range(whole.count):
            before = _read(files[0], whole, i, shape) if sweep else None
            yield i, state.A, before, (state.seed, sweep)

    sampled, total = [], Drawn(np.empty(0), (), *(np.zeros(()) for _ in range(3)))
    passes.folder.mkdir(parents=True, exist_ok=True)
    with files[1].open("wb") as file:
        for i, drawn in enumerate(passes.in_order(_block, problem, items(), whole.count)):
            file.write(np.ascontiguousarray(drawn.W).data)
            sampled.append(drawn.W[:, :, whole.sampled(i)])
            pairs = zip(total.sums or [np.zeros(())] * len(drawn.sums), drawn.sums, strict=True)
            total = Drawn(
                np.empty(0),
                tuple(one + other for one, other in pairs),
                total.loss + drawn.loss,
                total.log_joint + drawn.log_joint,
                total.data + drawn.data,
            )
    W = np.concatenate(sampled, axis=2)
    log_joint = total.log_joint - (whole.count - 1) * prior_of_A(problem, state.A, W)
    scores = Scores(total.loss, log_joint, measured(problem, total.loss, total.data))
    chains = replace(state.chains, A=state.A, W=W, sweeps=sweep + 1)
    return State(chains, _bases(problem, state.A, total.sums, rng), state.seed), scores


def _read(path: Path, whole: AllObservations, i: int, shape: tuple[int, int]) -> np.ndarray:
    """The weights (c, R, n) of block i."""
    size = int(whole.starts[i + 1] - whole.starts[i])
    count, offset = np.prod(shape) * size, 8 * np.prod(shape) * int(whole.starts[i])
    try:
        W = np.fromfile(path, dtype=np.float64, count=int(count), offset=int(offset))
        return W.reshape(*shape, size)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"The weights of block {i + 1} that this run had saved cannot be read ({error}); begin "
            "the run again."
        ) from error


def _block(
    problem: Problem, i: int, A: np.ndarray, W: np.ndarray | None, place: tuple[int, int]
) -> tuple[Drawn, float]:
    """Draw the weights of block i given A (c, R, D) and the weights before, None at the start."""
    began = time.thread_time()
    with one_blas_thread():
        X = whole_of(problem).read(i)
        if W is None:
            W = solve_weights(X, A.transpose(0, 2, 1))
        key = (BLOCK_KEY, place[1], i)
        rng = np.random.default_rng(np.random.SeedSequence(place[0], spawn_key=key))
        draw = _of_counts if sources.serve(problem) else _of_gaussian
        W, sums, loss = draw(problem, i, X, A, W, rng)
        part = block_problem(problem, i, X)
        log_joint = problem.model.log_joint(part, A.transpose(0, 2, 1), W, loss)
        data = of_data(X, KULLBACK_LEIBLER.floor(problem.dataset))
    return Drawn(W, sums, loss, log_joint, data), time.thread_time() - began


def _of_gaussian(
    problem: Problem,
    i: int,
    X: Matrix,
    A: np.ndarray,
    W: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """Weights under Gaussian noise, X Wᵀ and W Wᵀ, and the squared errors."""
    law = required(problem.model.conditionals)(problem.model_settings)
    gram = A @ A.transpose(0, 2, 1)
    W = gibbs.draw(W, squared_error.times(X, A), gram, law.noise_variance, law.W, rng)
    found = squared_error.of_factors(problem, i, X, A, W, judged=False)
    return W, (found.curvature @ A - found.slope, found.curvature), found.loss


def _of_counts(
    problem: Problem,
    i: int,
    X: Matrix,
    A: np.ndarray,
    W: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """Weights of counts, sums of the sources over columns and of weights, and the divergences."""
    places = sparse.coo_array(X)
    rows, columns = places.coords
    counts = Counts(X.shape, rows, columns, places.data.astype(np.int64), None)
    of_A, of_W = sources.allocate(counts, A, W, rng)
    exposure = sources.seen_sums(None, A, of_rows=False)
    W = sources.drawn(sources.of(problem).W, of_W, exposure, rng)
    loss = KULLBACK_LEIBLER.values(block_problem(problem, i, X), A.transpose(0, 2, 1), W)
    return W, (of_A, W.sum(axis=2, keepdims=True)), loss


def _bases(
    problem: Problem, A: np.ndarray, sums: tuple[np.ndarray, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draw A (c, R, D) from the sums of a pass."""
    if sources.serve(problem):
        return sources.drawn(sources.of(problem).A, sums[0], sums[1], rng)
    law = required(problem.model.conditionals)(problem.model_settings)
    return gibbs.draw(A, sums[0], sums[1], law.noise_variance, law.A, rng)


def check(problem: Problem, settings: gibbs.Settings) -> None:
    """Refuse what cannot be drawn block by block.

    Raises
    ------
    SettingsError
        Saying what can.
    """
    required(gibbs.ALGORITHM.check)(problem, settings)
    if sources.serve(problem) and sources.of(problem).dispersion is not None:
        raise SettingsError(
            "Gibbs over blocks cannot draw a dispersion of counts; choose the Poisson model."
        )


def work(problem: Problem, settings: gibbs.Settings) -> float:
    """Multiply-adds per kept draw."""
    return gibbs.work(problem, settings) * whole_of(problem).N / problem.dataset.N


ALGORITHM = replace(
    gibbs.ALGORITHM,
    on_blocks=OnBlocks(
        State=State,
        init=init,
        step=step,
        check=check,
        work=work,
        fraction=lambda state, settings: gibbs.fraction(state.chains, settings),
    ),
)
