"""Rapidly exploring random trees over the changes of basis of an SVD (paper 2, §3.2 and §4.3).

A random point is drawn, the nearest node of the tree moves towards it step by step for as long as
it stays feasible (RRT-Extend, Kuffner & LaValle 2000), and where it gets to becomes a node. Two
ways:

- "quality", for Gaussian noise: feasible is what is as probable as the poorest node. When the tree
  is full, the threshold rises to the best node, and what is found replaces the poorest.
- "diversity", for the uniform likelihood: feasible is what has a density at all and lies some angle
  away from every node. When the tree is full, it begins again from its base nodes, and the angle
  grows. What joins the variational mixture becomes a base node. A likelihood that is nowhere zero
  has the threshold of the poorest start here, too.

Every node is handed over as a factorization, after the starts. The paper does not say whether the
points on the way become nodes; here only the last one does.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from bnmf_core.explorers import oblique, planting
from bnmf_core.explorers.tree import REJECTIONS, Tree, explanation
from bnmf_core.nouns.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.nouns.model import Capability
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.settings import setting
from bnmf_core.solvers import SOLVERS, solution
from bnmf_core.solvers.starts import random_start
from bnmf_core.variational.mixture import (
    NO_BORDERS,
    Mixture,
    best_scale,
    component_of,
    variance_alone,
)
from bnmf_core.variational.online import OnlineSettings, propose

QUALITY, DIVERSITY = "quality", "diversity"
# Starts and temporary nodes of the two ways (paper 2, §4.3).
STARTS = {QUALITY: 50, DIVERSITY: 10}
TEMPORARY = {QUALITY: 100, DIVERSITY: 90}
# Attempts of one step of the algorithm, at most.
MOST_ATTEMPTS = 200
# Multiply-adds that an attempt takes beside its products.
ATTEMPT_WORK = 1e5
# Points of an attempt that are tried, where many are feasible.
STEPS_OF_ATTEMPT = 10


@dataclass(frozen=True)
class Settings(OnlineSettings):
    """How the tree begins and grows, and when a component joins the mixture."""

    way: str = setting(
        "by the model",
        "Look for",
        "“quality”: ever more probable factorizations. “diversity”: possible ones far from those "
        "that are known. By the model: quality, but diversity for the uniform likelihood.",
        choices=("by the model", QUALITY, DIVERSITY),
    )
    start: str = setting(
        "restarts",
        "Start of the tree",
        "“restarts”: solved NMFs from random starts. “known”: one of the dataset's known exact "
        "factorizations alone; the one that a sampler's first chain of the same seed starts at.",
        choices=("restarts", "known"),
    )
    starts: int | None = setting(
        None,
        "Starts",
        "Restarts that the tree begins from. Left open: 50 for quality, 10 for diversity.",
        minimum=1,
        maximum=1000,
    )
    temporary: int | None = setting(
        None,
        "Temporary nodes",
        "Nodes of the tree until it is full. Left open: 100 for quality, the starts included; 90 "
        "for diversity, beside the base nodes.",
        minimum=1,
        maximum=10_000,
    )
    step: float = setting(
        0.01,
        "First step s₀",
        "How far the first step of an attempt goes; every column of Q has length 1.",
        minimum=1e-8,
        maximum=2,
    )
    step_growth: float = setting(
        0.1, "Growth of steps", "Every further step of an attempt is longer by this part.",
        minimum=0, maximum=10, advanced=True,
    )  # fmt: skip
    most_steps: int = setting(
        50, "Most steps", "An attempt goes at most this many steps.",
        minimum=1, maximum=10_000, advanced=True,
    )  # fmt: skip
    allowance: float = setting(
        0.0,
        "Allowance",
        "In nats. What is so much less probable than the poorest start is feasible, too; 0 is the "
        "paper's. Draws of a posterior in d dimensions lie about d/2 below its best point.",
        minimum=0,
        maximum=1e9,
        advanced=True,
    )
    angle: float = setting(
        0.01,
        "Least angle",
        "In degrees; for diversity, a node has to lie so far from every other at first.",
        minimum=0,
        maximum=90,
    )
    angle_growth: float = setting(
        0.5, "Growth of the angle", "In degrees; added whenever the tree begins again.",
        minimum=0, maximum=90, advanced=True,
    )  # fmt: skip
    attempts: int = setting(
        10_000,
        "Failed attempts",
        "The tree has stopped growing when so many attempts in a row have failed.",
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
        300, "Solver iterations", "A start takes at most this many.",
        minimum=1, maximum=100_000, advanced=True,
    )  # fmt: skip
    polish: int = setting(
        100,
        "Iterations on the bound",
        "For quality, the best start is also optimised under the variational bound by so many "
        "iterations; 0 for none.",
        minimum=0,
        maximum=10_000,
        advanced=True,
    )


@dataclass(frozen=True)
class State:
    """A tree between two steps.

    Attributes
    ----------
    size : proposals asked for. made : so far. way : "quality" or "diversity".
    A, W : (b, D, R), (b, R, N) the starts. unsolved : how many are still to be solved.
    Q, number, quality, base : the nodes, see ``Tree``.
    threshold : least log joint of a node, −∞ where there is none. angle : least angle, degrees.
    failed : attempts in a row without a node. rejected : attempts that failed, by reason.
    turn : how often the tree has begun again. variance : σ² of all components, 0 if not fixed.
    centers … mixed : the mixture's arrays, see ``Mixture``; without components for quality.
    """

    size: int
    made: int
    way: str
    A: np.ndarray
    W: np.ndarray
    unsolved: int
    Q: np.ndarray
    number: np.ndarray
    quality: np.ndarray
    base: np.ndarray
    threshold: float
    angle: float
    failed: int
    rejected: np.ndarray
    turn: int
    variance: float
    mixture_centers: np.ndarray
    mixture_variances: np.ndarray
    mixture_weights: np.ndarray
    mixture_log_joint: np.ndarray
    mixture_trace: np.ndarray
    mixture_squared: np.ndarray
    mixture_numbers: np.ndarray


def check(problem: Problem, settings: Settings) -> None:
    """What can be said before the run is queued: whether the start is known, and possible."""
    if settings.start != "known":
        return
    known = problem.dataset.known_factorizations(problem.rank)
    threshold = problem.model.threshold
    if threshold is not None and threshold.epsilon(problem.model_settings) is not None:
        A, W = (np.stack(factors) for factors in zip(*((k.A, k.W) for k in known), strict=True))
        planting.possible_starts(problem, A, W)


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
    R, d = problem.rank, problem.rank * (problem.dataset.D + problem.dataset.N)
    nothing, numbers = np.zeros(0), np.zeros(0, dtype=np.int64)
    return State(
        shard.size, 0, way, A, W, 0 if known else len(A), np.zeros((0, R, R)), numbers, nothing,
        np.zeros(0, dtype=bool), -np.inf, settings.angle if way == DIVERSITY else 0.0, 0,
        np.zeros(len(REJECTIONS), dtype=np.int64), 0, 0.0,
        **_flat(Mixture.empty(d)),
    )  # fmt: skip


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """Solve some starts, or plant the tree, or make some attempts to grow it."""
    if state.unsolved:
        A, W, unsolved = planting.solved(problem, state.A, state.W, state.unsolved, settings)
        return replace(state, A=A, W=W, unsolved=unsolved), _nothing(problem)
    if not len(state.Q):
        return _planted(problem, state, settings)
    tree = _tree(problem, state)
    mixture = _mixture(state)
    found: list[tuple[np.ndarray, np.ndarray, int, float, int]] = []
    ended = ""
    temporary = TEMPORARY[state.way] if settings.temporary is None else settings.temporary
    threshold, angle, turn = state.threshold, state.angle, state.turn
    failed, rejected = state.failed, state.rejected.copy()
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
        number = state.made + len(found)
        found.append((A[0], W[0], int(tree.number[parent]), angle, turn))
        joined = False
        if state.way == DIVERSITY:
            component = component_of(problem, A[0], W[0], settings.rescale)
            mixture, decision = propose(
                mixture, component, number, settings.tolerance, state.variance or None
            )
            joined = decision.joined
        tree.add(Q, number, quality, joined)
        if state.way == QUALITY and tree.size > temporary:
            if turn == 0:
                threshold, turn = float(tree.quality.max()) - settings.allowance, 1
            tree.keep(np.sort(np.argsort(-tree.quality, kind="stable")[:temporary]))
        if state.way == DIVERSITY and (~tree.base).sum() >= temporary:
            tree.keep(tree.base)
            angle, turn = angle + settings.angle_growth, turn + 1
        if number + 1 >= state.size:
            break
    state = replace(
        state, made=state.made + len(found), Q=tree.Q, number=tree.number, quality=tree.quality,
        base=tree.base, threshold=threshold, angle=angle, failed=failed, rejected=rejected,
        turn=turn, **_flat(mixture),
    )  # fmt: skip
    return state, _batch(problem, settings, found, kind=2, ended=ended)


def _planted(problem: Problem, state: State, settings: Settings) -> tuple[State, Batch]:
    """The tree of the starts' changes of basis; the starts are handed over as they are."""
    A, W = planting.possible_starts(problem, *_scaled(problem, settings, state.A, state.W))
    kinds = np.zeros(len(A), dtype=np.int64)
    if state.way == QUALITY and settings.polish and problem.model.curvature is not None:
        best = planting.polished(problem, A, W, settings.polish)
        A, W = np.concatenate([A, best[0]]), np.concatenate([W, best[1]])
        kinds = np.append(kinds, 1)
    A, W, kinds = A[: state.size], W[: state.size], kinds[: state.size]
    A_svd, W_svd = problem.svd(problem.rank)
    Q = oblique.changes_of_basis(A_svd, planting.in_one_order(A))
    projected = oblique.factors(Q, A_svd, W_svd)
    quality = problem.model.log_joint(problem, *best_scale(*projected[:2]))
    mixture, variance = _mixture(state), 0.0
    if state.way == DIVERSITY:
        components = [
            component_of(problem, *pair, settings.rescale) for pair in zip(A, W, strict=True)
        ]
        variance = variance_alone(problem, A, W)
        for number, component in enumerate(components):
            mixture, _ = propose(mixture, component, number, settings.tolerance, variance)
    zero_somewhere = state.way == DIVERSITY and problem.model.offending is not None
    threshold = -np.inf if zero_somewhere else float(quality.min()) - settings.allowance
    state = replace(
        state, made=len(A), Q=Q, number=np.arange(len(A)), quality=quality,
        base=np.full(len(A), state.way == DIVERSITY), variance=variance,
        threshold=threshold, **_flat(mixture),
    )  # fmt: skip
    found = [(a, w, -1, state.angle, 0) for a, w in zip(A, W, strict=True)]
    batch = _batch(problem, settings, found, kind=0)
    return state, replace(batch, diagnostics=batch.diagnostics | {"kind": kinds})


def _tree(problem: Problem, state: State) -> Tree:
    A_svd, W_svd = problem.svd(problem.rank)
    directions = None
    if state.way == DIVERSITY:
        directions = oblique.unit_columns(np.maximum(A_svd @ state.Q, 0.0))
    return Tree(problem, A_svd, W_svd, state.Q, state.number, state.quality, state.base, directions)


MIXTURE = [part.name for part in fields(Mixture)]


def _mixture(state: State) -> Mixture:
    return Mixture(**{name: getattr(state, f"mixture_{name}") for name in MIXTURE})


def _flat(mixture: Mixture) -> dict[str, np.ndarray]:
    # A state is arrays and plain numbers only, so that it can be stored.
    return {f"mixture_{name}": getattr(mixture, name) for name in MIXTURE}


def _nothing(problem: Problem) -> Batch:
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    return Batch(np.empty((0, D, R)), np.empty((0, R, N)))


def _scaled(
    problem: Problem, settings: Settings, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return best_scale(A, W) if settings.rescale else problem.model.scale(A, W)


def _batch(problem: Problem, settings: Settings, found: list, kind: int, ended: str = "") -> Batch:
    if not found:
        return replace(_nothing(problem), ended=ended)
    A, W, parents, angles, turns = zip(*found, strict=True)
    A, W = _scaled(problem, settings, np.stack(A), np.stack(W))
    told = {
        "parent": np.array(parents, dtype=np.int64),
        "kind": np.full(len(A), kind, dtype=np.int64),
        "least_angle": np.array(angles),
        "turn": np.array(turns, dtype=np.int64),
    }
    return Batch(A, W, told, ended=ended)


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
    solved = 0.05 * (1 - state.unsolved / len(state.A))
    return max(solved, state.made / state.size, min(state.failed / settings.attempts, 0.99))


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
    color="#117733",
    summary="Grow a tree through the space of good factorizations, from solved ones towards where "
    "nothing is known yet.",
    reference="paper 2, §3.2 and §4.3",
    check=check,
)
