"""Rapidly exploring random trees over the changes of basis of an SVD (paper 2, §3.2 and §4.3).

A random point is drawn, the nearest node of the tree moves towards it step by step for as long as
it stays feasible (RRT-Extend, Kuffner & LaValle 2000), and where it gets to becomes a node. Two
ways:

- "quality", for Gaussian noise: feasible is what is as probable as the poorest start. When the tree
  is full, the threshold rises to the best node, and what is found replaces the poorest.
- "diversity", for the uniform likelihood: feasible is what has a density at all and lies some angle
  away from every node. When the tree is full, it begins again from its base nodes, and the angle
  grows. What joins the variational mixture becomes a base node. A likelihood that is nowhere zero
  has the threshold of the poorest start here, too.

Every node is handed over as a factorization, after the starts. The paper does not say whether the
points on the way become nodes; here only the last one does.

The threshold is the log joint of the solved starts (A_m, W_m) themselves. Their projections ⌊A_svd
Q_m⌋, ⌊Q_m⁻¹ W_svd⌋ may fit far worse: one ill-conditioned Q_m would make every point feasible. A
projection below the threshold is no node.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.core.model import Capability, required
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.threshold import rounded_up
from bnmf_core.explorers import oblique
from bnmf_core.rrt import tree
from bnmf_core.rrt.mixture import (
    NO_BORDERS,
    best_scale,
    component_of,
    variance_alone,
)
from bnmf_core.rrt.online import OnlineSettings, propose, propose_all
from bnmf_core.rrt.tree import (
    DIVERSITY,
    QUALITY,
    REJECTIONS,
    Counters,
    Nodes,
    Planted,
    Starts,
    State,
    Tree,
    explanation,
)
from bnmf_core.solvers import SOLVERS, solution
from bnmf_core.solvers.solution import random_start

# Starts and temporary nodes of the two ways (paper 2, §4.3).
STARTS = {QUALITY: 50, DIVERSITY: 10}
TEMPORARY = {QUALITY: 100, DIVERSITY: 90}
# Maximum number of attempts in one step of the algorithm.
MOST_ATTEMPTS = 200
# Multiply-adds of an attempt besides its products.
ATTEMPT_WORK = 1e5
# Number of points tried in an attempt where many are feasible.
STEPS_OF_ATTEMPT = 10
# What rounding can change of a log joint, as a part of it: an exact start's projection is a node.
ROUNDING = 1e-10
# The allowance that is shown where no start is a node is larger by this part.
ROOM = 1e-9


@dataclass(frozen=True)
class Settings(OnlineSettings):
    """Start and growth of the tree, and admission to the mixture."""

    way: str = setting(
        "by the model",
        "Look for",
        "“quality”: increasingly probable factorizations. “diversity”: feasible ones far from the "
        "known ones. Empty: quality, but diversity for the uniform likelihood.",
        choices=("by the model", QUALITY, DIVERSITY),
    )
    start: str = setting(
        "restarts",
        "Start of the tree",
        "“restarts”: solved NMFs from random starts. “known”: one of the dataset's known exact "
        "factorizations, the same as that of a sampler's first chain with the same seed.",
        choices=("restarts", "known"),
    )
    starts: int | None = setting(
        None,
        "Starts",
        "Restarts from which the tree starts. Empty: 50 for quality, 10 for diversity.",
        minimum=1,
        maximum=1000,
    )
    temporary: int | None = setting(
        None,
        "Temporary nodes",
        "Maximum number of nodes. Empty: 100 for quality, including the starts; 90 for diversity, "
        "in addition to the base nodes.",
        minimum=1,
        maximum=10_000,
    )
    step: float = setting(
        0.01,
        "First step s₀",
        "Length of the first step of an attempt; every column of Q has length 1.",
        minimum=1e-8,
        maximum=2,
    )
    step_growth: float = setting(
        0.1,
        "Growth of steps",
        "Relative growth of the step length within an attempt.",
        minimum=0,
        maximum=10,
        advanced=True,
    )
    most_steps: int = setting(
        50,
        "Most steps",
        "An attempt goes at most this many steps.",
        minimum=1,
        maximum=10_000,
        advanced=True,
    )
    allowance: float = setting(
        0.0,
        "Allowance",
        "Allowance in nats: factorizations that are at most this much less probable than the "
        "poorest start are feasible, too; 0 is the paper's. Draws of a posterior in d dimensions "
        "lie about d/2 below its best point.",
        minimum=0,
        maximum=1e9,
        advanced=True,
    )
    angle: float = setting(
        0.01,
        "Least angle",
        "In degrees; for diversity, the initial smallest distance between nodes.",
        minimum=0,
        maximum=90,
    )
    angle_growth: float = setting(
        0.5,
        "Growth of the angle",
        "In degrees; added whenever the tree begins again.",
        minimum=0,
        maximum=90,
        advanced=True,
    )
    attempts: int = setting(
        10_000,
        "Failed attempts",
        "Number of consecutive failed attempts after which the tree stops.",
        minimum=1,
        maximum=10_000_000,
    )
    solver: str = setting(
        "hals",
        "Solver of the starts",
        "hals is by far the fastest; the paper's is projected_gradient (Lin 2007).",
        choices=tuple(SOLVERS),
        advanced=True,
    )
    solver_iterations: int = setting(
        300,
        "Solver iterations",
        "A start takes at most this many.",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )
    polish: int = setting(
        100,
        "Iterations on the bound",
        "For quality, iterations of optimising the best start under the variational bound; 0 for "
        "none.",
        minimum=0,
        maximum=10_000,
        advanced=True,
    )


class Proposal(NamedTuple):
    """A factorization A (D, R), W (R, N) that is handed over, and how the tree came to it."""

    A: np.ndarray
    W: np.ndarray
    parent: int
    least_angle: float
    turn: int


def check(problem: Problem, settings: Settings) -> None:
    """Checks before the run is queued: whether the start is known, and possible."""
    if settings.start != "known":
        return
    known = problem.dataset.known_factorizations(problem.rank)
    threshold = problem.model.threshold
    if threshold is not None and threshold.epsilon(problem.model_settings) is not None:
        A, W = (np.stack(factors) for factors in zip(*((k.A, k.W) for k in known), strict=True))
        tree.possible_starts(problem, A, W)


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """The starts, not yet solved."""
    check(problem, settings)
    usual = DIVERSITY if problem.model.offending is not None else QUALITY
    way = usual if settings.way == "by the model" else settings.way
    known = settings.start == "known"
    if known:
        truths = problem.dataset.known_factorizations(problem.rank)
        # A sampler's first chain draws its start in the same way.
        truth = truths[shard.particle_generator(0).integers(len(truths))]
        pairs = [(np.asarray(truth.A, dtype=float), np.asarray(truth.W, dtype=float))]
    else:
        count = STARTS[way] if settings.starts is None else settings.starts
        generators = [shard.particle_generator(i) for i in range(count)]
        pairs = [random_start(problem.dataset, problem.rank, g) for g in generators]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    rejected = np.zeros(len(REJECTIONS), dtype=np.int64)
    starts = Starts(A, W, 0 if known else len(A))
    return State(way, starts, None, None, 0.0, Counters(shard.size, 0, 0, rejected))


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """Solve some starts, or plant the tree, or make some attempts to grow it."""
    if state.starts is not None and state.starts.unsolved:
        before = state.starts
        solved = tree.solved(problem, before.A, before.W, before.unsolved, settings)
        return replace(state, starts=Starts(*solved)), Batch.empty(problem)
    if state.starts is not None:
        return _planted(problem, state, state.starts, settings)
    return _grown(problem, state, required(state.tree), settings, rng)


def _grown(
    problem: Problem, state: State, before: Planted, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """Make some attempts and return the nodes found."""
    A_svd, W_svd = problem.svd(problem.rank)
    directions = None
    if state.way == DIVERSITY:
        directions = oblique.unit_columns(np.maximum(A_svd @ before.nodes.Q, 0.0))
    tree = Tree(problem, A_svd, W_svd, before.nodes, directions, settings.rescale)
    mixture, counters = state.mixture, state.counters
    found: list[Proposal] = []
    ended = ""
    temporary = TEMPORARY[state.way] if settings.temporary is None else settings.temporary
    threshold, angle, turn = before.threshold, before.angle, before.turn
    failed, rejected = counters.failed, counters.rejected.copy()
    work = ATTEMPT_WORK + STEPS_OF_ATTEMPT * _point_work(problem)
    for _ in range(max(1, min(MOST_ATTEMPTS, int(solution.STEP_WORK / work)))):
        if failed >= settings.attempts:
            ended = explanation(rejected, settings.attempts)
            break
        failure, Q, parent = tree.attempt(settings, threshold, angle, rng)
        if failure:
            failed += 1
            rejected[REJECTIONS.index(failure)] += 1
            continue
        failed = 0
        A, W, _ = oblique.factors(Q[None], tree.A_svd, tree.W_svd)
        quality = float(tree.log_joint(A, W)[0])
        number = counters.made + len(found)
        found.append(Proposal(A[0], W[0], int(tree.nodes.number[parent]), angle, turn))
        joined = False
        if mixture is not None:
            component = component_of(problem, A[0], W[0], settings.rescale)
            mixture, decision = propose(
                mixture, component, number, settings.tolerance, state.variance or None
            )
            joined = decision.joined
        tree.add(Q, number, quality, joined)
        if state.way == QUALITY and tree.nodes.size > temporary:
            if turn == 0:
                threshold, turn = float(tree.nodes.quality.max()) - settings.allowance, 1
            best = np.argsort(-tree.nodes.quality, kind="stable")[:temporary]
            tree.keep(np.sort(best))
        if state.way == DIVERSITY and (~tree.nodes.base).sum() >= temporary:
            tree.keep(tree.nodes.base)
            angle, turn = angle + settings.angle_growth, turn + 1
        if number + 1 >= counters.size:
            break
    counters = replace(counters, made=counters.made + len(found), failed=failed, rejected=rejected)
    planted = Planted(tree.nodes, threshold, angle, turn)
    state = replace(state, tree=planted, mixture=mixture, counters=counters)
    return state, _batch(problem, settings, found, kind=2, ended=ended)


def _planted(
    problem: Problem, state: State, starts: Starts, settings: Settings
) -> tuple[State, Batch]:
    """The tree of the starts' changes of basis; the starts are handed over as they are."""
    size = state.counters.size
    A, W = tree.possible_starts(problem, *_scaled(problem, settings, starts.A, starts.W))
    kinds = np.zeros(len(A), dtype=np.int64)
    # A flat likelihood leaves the bound without a best variance to climb with.
    if state.way == QUALITY and settings.polish and problem.model.offending is None:
        best = tree.polished(problem, A, W, settings.polish)
        A, W = np.concatenate([A, best[0]]), np.concatenate([W, best[1]])
        kinds = np.append(kinds, 1)
    A, W, kinds = A[:size], W[:size], kinds[:size]
    A_svd, W_svd = problem.svd(problem.rank)
    Q = oblique.changes_of_basis(A_svd, tree.in_one_order(A))
    projected = oblique.factors(Q, A_svd, W_svd)[:2]
    quality = problem.model.log_joint(problem, *_scaled(problem, settings, *projected))
    mixture, variance, diverse = None, 0.0, state.way == DIVERSITY
    if diverse:
        components = [
            component_of(problem, *pair, settings.rescale) for pair in zip(A, W, strict=True)
        ]
        variance = variance_alone(problem, A, W)
        mixture = propose_all(components, settings.tolerance, variance)[0]
    threshold, ended = -np.inf, ""
    if not (diverse and problem.model.offending is not None):
        poorest = float(problem.model.log_joint(problem, A[kinds == 0], W[kinds == 0]).min())
        threshold = poorest - settings.allowance - ROUNDING * abs(poorest)
        if quality.max() < threshold:
            ended = _explained(poorest - float(quality.max()))
    angle = settings.angle if diverse else 0.0
    nodes = Nodes(Q, np.arange(len(A)), quality, np.full(len(A), diverse))
    nodes = nodes.select(quality >= threshold)
    counters = replace(state.counters, made=len(A))
    state = State(state.way, None, Planted(nodes, threshold, angle, 0), mixture, variance, counters)
    found = [Proposal(a, w, -1, angle, 0) for a, w in zip(A, W, strict=True)]
    batch = _batch(problem, settings, found, kind=0, ended=ended)
    return state, replace(batch, diagnostics={**batch.diagnostics, "kind": kinds})


def _explained(lacking: float) -> str:
    """Why no start is a node, whose best projection is so many nats below the threshold."""
    return (
        "The tree cannot grow: projected onto the leading singular vectors of X, every start is "
        "less probable than the poorest start itself. Under Advanced, an allowance of "
        f"{rounded_up(lacking, ROOM):,.12g} nats lets it grow from the best of them, which fits "
        "worse than every start."
    )


def _scaled(
    problem: Problem, settings: Settings, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return best_scale(A, W) if settings.rescale else problem.model.scale(A, W)


def _batch(
    problem: Problem, settings: Settings, found: list[Proposal], kind: int, ended: str = ""
) -> Batch:
    if not found:
        return Batch.empty(problem, ended)
    A, W = (np.stack([one.A for one in found]), np.stack([one.W for one in found]))
    A, W = _scaled(problem, settings, A, W)
    diagnostics = {
        "parent": np.array([one.parent for one in found], dtype=np.int64),
        "kind": np.full(len(A), kind, dtype=np.int64),
        "least_angle": np.array([one.least_angle for one in found]),
        "turn": np.array([one.turn for one in found], dtype=np.int64),
    }
    return Batch(A, W, diagnostics, ended=ended)


def _point_work(problem: Problem) -> float:
    """Multiply-adds of trying one point; entries are compared at the zeros of a sparse X too."""
    data = problem.dataset
    compared = 0.0 if problem.model.offending is None else data.D * data.N * problem.rank
    return max(solution.product_work(problem), compared)


def shard_sizes(settings: Settings, particles: int) -> list[int]:
    """One tree."""
    return [particles]


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per proposal, if every tenth attempt succeeds."""
    return 10 * (ATTEMPT_WORK + 2 * solution.product_work(problem))


def fraction(state: State, settings: Settings) -> float:
    """Part of the proposals that are made, or of the failed attempts that end the tree."""
    counters = state.counters
    if state.starts is not None:
        return 0.05 * (1 - state.starts.unsolved / len(state.starts.A))
    return max(0.05, counters.made / counters.size, min(counters.failed / settings.attempts, 0.99))


ALGORITHM = Algorithm(
    key="rrt",
    label="RRT",
    family="explorer",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    needs=Needs.of(Capability.CURVATURE, supports=NO_BORDERS),
    color="#127835",
    symbol="triangle-down",
    summary="Grow a tree through the space of good factorizations, from converged ones towards "
    "unexplored regions.",
    reference="paper 2, §3.2 and §4.3",
    check=check,
)
