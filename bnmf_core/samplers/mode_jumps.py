"""Gibbs sampling with jumps between modes that restarts have found.

Gibbs rarely leaves the mode it starts in. Here restarts are solved first, and the best of each
group of alike ones is taken for a mode; a pilot of Gibbs chains then shows what each looks like,
and which are modes of the posterior at all, see :mod:`bnmf_core.samplers.adaptation`.
After that nothing is learned any more: chains take turns between Gibbs sweeps and a jump that is
proposed from what the pilot saw and accepted by Metropolis–Hastings, so that the posterior is left
invariant whatever was found. Up to about a hundred numbers in A and W a jump is one proposal, see
:mod:`bnmf_core.samplers.fitted_jump`; beyond, no fit is good enough, and it is annealed, see
:mod:`bnmf_core.samplers.annealed_jump`. Every shard finds the same modes, as their search depends
on the seed alone.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting
from bnmf_core.core.model import Capability
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.samplers import annealed_jump, fitted_jump, gibbs, scale_move
from bnmf_core.samplers.adaptation import Pilot
from bnmf_core.samplers.annealed_jump import Anchors
from bnmf_core.samplers.chains import chains_of, chains_setting, joined, recorded, shard_sizes
from bnmf_core.samplers.fitted_jump import FittedModes
from bnmf_core.samplers.landmarks import landmarks
from bnmf_core.samplers.starting import checking
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Solution, Stopping, random_start

LABEL = "Mode jumps"
TIED = "the gamma that each entry has besides is tied to AW, so that jumps would not be accepted"
check = checking(LABEL, conditionals=True, refused=TIED)
# Restarts that have not settled lie between modes and look like more of them.
SEARCH = Stopping(max_iterations=3000, tolerance=None)
MOST_MODES = 12
# Numbers in A and W up to which one proposal from a fit is accepted often enough.
MOST_FITTED = 100
# Pilot chains around each mode: a full scale matrix needs more draws than single entries do.
FITTED_CHAINS, ANNEALED_CHAINS = 16, 4
# Parts of a chain's work that search and pilot are counted for, in progress only.
SEARCHED, PILOTED = 0.1, 0.2


@dataclass(frozen=True)
class Settings:
    """Search and fit of modes, and the chains that follow."""

    chains: int = chains_setting(4)
    start: str = setting(
        "restart",
        "Modes",
        "“restart”: the modes of solved NMFs from random starts. “known”: the dataset's known "
        "exact factorizations.",
        choices=("restart", "known"),
    )
    restarts: int = setting(
        40, "Restarts", "How many are solved to find the modes.", minimum=1, maximum=1000
    )
    threshold: float = setting(
        15.0,
        "Modes are further apart than",
        "Largest angle between matched components of A at which two restarts are one mode.",
        minimum=0.1,
        maximum=90.0,
        unit="°",
    )
    pilot: int = setting(
        300,
        "Pilot sweeps",
        "Gibbs sweeps from each mode to fit its proposal; a third is discarded.",
        minimum=30,
        maximum=100_000,
        advanced=True,
    )
    proposal: str = setting(
        "automatic",
        "Proposal",
        "“fitted”: drawn from a mixture in one piece. “annealed”: brought up to the posterior in "
        f"steps. “automatic”: fitted up to {MOST_FITTED} numbers in A and W.",
        choices=("automatic", "fitted", "annealed"),
        advanced=True,
    )
    bridge: int = setting(
        256,
        "Steps of an annealed jump",
        "More steps are accepted more often, at a proportional cost.",
        minimum=1,
        maximum=10_000,
        advanced=True,
    )
    warm_up: int = setting(
        50,
        "Warm-up jumps",
        "Jumps, with the sweeps between them, before the first stored draw.",
        minimum=0,
        maximum=1_000_000,
    )
    sweeps: int = setting(
        5, "Sweeps per jump", "Gibbs sweeps before each jump.", minimum=1, maximum=10_000
    )
    thinning: int = setting(
        1, "Jumps per kept draw", "One draw in this many is kept.", minimum=1, maximum=10_000
    )


@dataclass(frozen=True)
class State:
    """A search, then a pilot, then c chains with a proposal: A (c, R, D) and W (c, R, N).

    draws : (c,) number of particles of each chain. first : number of the first chain in the run.
    jumps, total : done by each chain and to do. accepted : (c,) of those since the last record.
    landed : jumps accepted so far. left : groups of restarts that all pilot chains left. seed : of
    the run.
    """

    search: Solution | None
    pilot: Pilot | None
    proposal: FittedModes | Anchors | None
    A: np.ndarray
    W: np.ndarray
    accepted: np.ndarray
    draws: np.ndarray
    first: int
    jumps: int
    total: int
    left: int
    seed: int
    landed: int = 0


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Set out on the search; its random numbers are the same in every shard."""
    check(problem, settings)
    first, draws = chains_of(settings, shard)
    if settings.start == "known":
        known = problem.dataset.known_factorizations(problem.rank)
        pairs = [(truth.A, truth.W) for truth in known]
    else:
        common = _common_generator(shard.seed, 0)
        pairs = [
            random_start(problem.dataset, problem.rank, common) for _ in range(settings.restarts)
        ]
    A, W = (np.array(factors, dtype=np.float64) for factors in zip(*pairs, strict=True))
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    return State(
        search=usual_solver(problem).start(problem, A, W),
        pilot=None,
        proposal=None,
        A=np.empty((0, R, D)),
        W=np.empty((0, R, N)),
        accepted=np.zeros(draws.size, dtype=np.int64),
        draws=draws,
        first=first,
        jumps=0,
        total=settings.warm_up + settings.thinning * int(draws.max()),
        left=0,
        seed=shard.seed,
    )


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded part of the search, of the pilot, or of sweeps and jumps, one jump at least."""
    if state.search is not None:
        return _searched(problem, state, state.search, settings), joined(problem, [])
    if state.pilot is not None:
        return _piloted(problem, state, state.pilot, settings, rng), joined(problem, [])
    proposal = state.proposal
    assert proposal is not None
    batches: list[Batch] = []
    begun = state.jumps
    for _ in range(fitting(state.draws.size * work_per_jump(problem, settings))):
        if state.jumps == state.total:
            break
        state = _jumped(problem, state, proposal, settings, rng)
        after = state.jumps - settings.warm_up
        if after % settings.thinning == 0:
            draw = after // settings.thinning
            acceptance = {"acceptance": state.accepted / settings.thinning}
            batches.append(recorded(state, draw, state.A, state.W, acceptance))
            state = replace(state, accepted=np.zeros_like(state.accepted))
    note = "" if begun else _note(proposal, state.left, settings)
    if state.jumps == state.total and not state.landed:
        note = " ".join(filter(None, (note, _none_accepted(proposal, state))))
    return state, replace(joined(problem, batches), note=note)


def _searched(problem: Problem, state: State, search: Solution, settings: Settings) -> State:
    search = usual_solver(problem).advance(problem, search, SEARCH)
    if search.active.any() or search.approaching:
        return replace(state, search=search)
    loss = problem.loss.values(problem, *search.particles)
    A, W = problem.model.scale(*search.particles)
    threshold = settings.threshold if settings.start == "restart" else 0.0
    found = landmarks(A, loss, threshold, MOST_MODES)
    chosen = np.array([m for m, _ in found])
    order = np.stack([order for _, order in found])
    pilot = Pilot.of(
        np.take_along_axis(A[chosen], order[:, None, :], axis=2),
        np.take_along_axis(W[chosen], order[:, :, None], axis=1),
        FITTED_CHAINS if _fits(problem, settings) else ANNEALED_CHAINS,
    )
    return replace(state, search=None, pilot=pilot)


def _piloted(
    problem: Problem, state: State, pilot: Pilot, settings: Settings, rng: np.random.Generator
) -> State:
    """Sweeps of the pilot from random numbers that are the same in every shard, then the fit."""
    dropped = settings.pilot // 3

    def moments(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Summands of the pilot: z and z zᵀ (c, d), (c, d, d), or moments of entries."""
        if not _fits(problem, settings):
            return annealed_jump.moments(problem, A, W)
        z = fitted_jump.logarithms(fitted_jump.floored(A), fitted_jump.floored(W))
        return z, np.einsum("ci,cj->cij", z, z)

    chains = pilot.A.shape[0]
    for _ in range(fitting(chains * 2 * gibbs.work_per_sweep(problem))):
        if pilot.sweeps == settings.pilot:
            break
        pilot = pilot.swept(problem, _common_generator(state.seed, 1 + pilot.sweeps))
        if pilot.sweeps > dropped:
            pilot = pilot.added(moments)
    if pilot.sweeps < settings.pilot:
        return replace(state, pilot=pilot)
    stayed = pilot.stayed()
    means = pilot.means(stayed, recorded=pilot.sweeps - dropped)
    chosen = rng.choice(np.flatnonzero(stayed), size=state.draws.size)
    return replace(
        state,
        pilot=None,
        proposal=(
            fitted_jump.fit(*means)
            if _fits(problem, settings)
            else Anchors.of_moments(*means, settings.bridge)
        ),
        A=pilot.A[chosen],
        W=pilot.W[chosen],
        left=int(np.count_nonzero(~stayed.any(axis=1))),
    )


def _jumped(
    problem: Problem,
    state: State,
    proposal: FittedModes | Anchors,
    settings: Settings,
    rng: np.random.Generator,
) -> State:
    A, W = state.A, state.W
    for _ in range(settings.sweeps):
        A, W = gibbs.sweep(problem, A, W, rng)
        A, W, _ = scale_move.move(problem, A, W, rng)
    if isinstance(proposal, FittedModes):
        log_joint = partial(problem.model.log_joint, problem)
        A, W, accepted = fitted_jump.jump(log_joint, A, W, proposal, rng)
    else:
        A, W, accepted = annealed_jump.jump(problem, A, W, proposal, rng)
    return replace(
        state,
        A=A,
        W=W,
        accepted=state.accepted + accepted,
        jumps=state.jumps + 1,
        landed=state.landed + int(np.sum(accepted)),
    )


def _modes_of(proposal: FittedModes | Anchors) -> int:
    return len(proposal.centers if isinstance(proposal, FittedModes) else proposal.mean)


def _none_accepted(proposal: FittedModes | Anchors, state: State) -> str:
    """Note that every chain stayed in its mode, with advice; "" with one mode."""
    if _modes_of(proposal) == 1:
        return ""
    do = "more steps of an annealed jump are accepted more often"
    if isinstance(proposal, FittedModes):
        do = "an annealed proposal is accepted more often"
    # The sentence is the same for every chain, so it is shown once.
    return (
        f"A chain accepted none of its {state.total:,} jumps, so that its draws say nothing of how "
        f"probable modes are; {do}."
    )


def _note(proposal: FittedModes | Anchors, left: int, settings: Settings) -> str:
    fitted, count = isinstance(proposal, FittedModes), _modes_of(proposal)
    known = settings.start == "known"
    source = "The known factorizations are" if known else f"{settings.restarts} restarts fell into"
    without = f", without {left} which every chain left" if left else ""
    if count == 1:
        return (
            f"{source} one mode at {settings.threshold:g}°{without}, so there was nothing to jump "
            "to and the chains are those of Gibbs; run Random restarts or Q-Transform first to see "
            "whether there are other modes, and give more restarts or a smaller angle."
        )
    how = "fitted proposals" if fitted else f"proposals annealed in {settings.bridge} steps"
    return f"{source} {count} modes{without}; chains jump between them by {how}."


def _fits(problem: Problem, settings: Settings) -> bool:
    """Whether jumps are proposed from a fit."""
    if settings.proposal != "automatic":
        return settings.proposal == "fitted"
    return problem.rank * (problem.dataset.D + problem.dataset.N) <= MOST_FITTED


def _common_generator(seed: int, part: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, part)))


def fraction(state: State, settings: Settings) -> float:
    """Part of the work that is done, the search and the pilot counted as fixed parts of it."""
    if state.search is not None:
        done = state.search.iterations / SEARCH.max_iterations
        return SEARCHED * float(np.minimum(done, 1.0).mean())
    if state.pilot is not None:
        return SEARCHED + (PILOTED - SEARCHED) * state.pilot.sweeps / settings.pilot
    return PILOTED + (1 - PILOTED) * state.jumps / state.total


def work_per_jump(problem: Problem, settings: Settings) -> float:
    """Multiply-adds of one chain's jump and of the sweeps before it."""
    sweep = gibbs.work_per_sweep(problem)
    if _fits(problem, settings):
        return (settings.sweeps + 2) * sweep
    return (settings.sweeps + 3 * settings.bridge) * sweep


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw; search, pilot and warm-up are left out."""
    return settings.thinning * work_per_jump(problem, settings)


ALGORITHM = Algorithm(
    key="mode_jumps",
    label=LABEL,
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=check,
    needs=Needs.of(Capability.SWEEPS),
    color="#78C050",
    symbol="triangle-up",
    summary="Gibbs sampling with jumps between the modes that restarts have found, so that each "
    "is visited in proportion to its posterior mass.",
    reference="Tierney 1994; Neal 2001; Andrieu, Doucet & Holenstein 2010",
)
