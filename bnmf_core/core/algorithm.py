"""Algorithms: two pure functions over shards, and the batches that they make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from bnmf_core.core.model import Capability, Model, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import declarations

SettingsT = TypeVar("SettingsT")
StateT = TypeVar("StateT")
# Multiply-adds of one step: about a third of a second on one core.
STEP_WORK = 1.0e9
Supports = frozenset[tuple[Support, Support]]
ANY_SUPPORT: Supports = frozenset(product(Support, Support))
# Where a solved NMF fits in whatever its size: the weights can take up any scale.
ANY_SCALE: Supports = frozenset(product(Support, [Support.POSITIVE]))


@dataclass(frozen=True)
class Shard:
    """A part of a run that depends on no other: one chain, or a block of restarts.

    ``start`` and ``size`` say which particles of the run it makes. A shard is the unit of
    checkpoints, of progress and of distribution.
    """

    index: int
    start: int
    size: int
    seed: int

    def generator(self) -> np.random.Generator:
        """The generator that a shard's steps draw from."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(0, self.index)))

    def particle_generator(self, i: int) -> np.random.Generator:
        """The generator of this shard's i-th particle, whatever the shard's size.

        Drawing a start from it makes the start depend on the seed and the particle's number
        in the run only, not on how the run is cut into shards.
        """
        key = (1, self.start + i)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


def fitting(work: float) -> int:
    """Number of updates of so many multiply-adds in one step, at least one."""
    return max(1, int(STEP_WORK / work))


def unshared(state: StateT) -> StateT:
    """A copy of the state, a dataclass, whose arrays may be changed in place."""

    def copied(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.copy()
        return unshared(value) if is_dataclass(value) else value

    parts: Any = fields(state)  # type: ignore[arg-type]
    changed = {part.name: copied(getattr(state, part.name)) for part in parts}
    return replace(state, **changed)  # type: ignore[type-var]


@dataclass(frozen=True)
class Scores:
    """Scores of states: loss, log joint and measure of fit, (m,) each."""

    loss: np.ndarray
    log_joint: np.ndarray
    error: np.ndarray

    def first(self, count: int) -> "Scores":
        """Scores of the first states."""
        return Scores(self.loss[:count], self.log_joint[:count], self.error[:count])


@dataclass(frozen=True)
class Batch:
    """New states from one step: A (m, D, R), W (m, R, N), m ≥ 0, in order of their number.

    ``diagnostics`` maps names to (m,) arrays (iterations used, a convergence flag, …).
    ``chain`` (m,) numbers the chain in the run that made each state; None: the shard's index.
    ``warm_up`` (m,) is True for states that are recorded in the trace only and never become
    particles; None: there are none.
    ``ended`` says, in a sentence, why the shard makes no more than it has made; "" while it does.
    ``log_weights`` (m,): the log weight of each state, up to a constant that all shards of the run
    share; None: all states of the run count the same. States with weights are a population, no
    chain: nothing is recorded of them along a chain.
    ``log_evidence``: the shard's own estimate of the log evidence, reported once; None without one.
    ``totals`` maps names to arrays (c, …) over everything that the shard's c chains have made,
    recorded or not, reported once with its last states; their size does not grow.
    ``note``: a sentence for the run's result, shown once even if several shards report it.
    ``scores``: what is known of the states already; None: it is computed from A, W and X.
    """

    A: np.ndarray
    W: np.ndarray
    diagnostics: Mapping[str, np.ndarray] = field(default_factory=dict)
    chain: np.ndarray | None = None
    warm_up: np.ndarray | None = None
    ended: str = ""
    log_weights: np.ndarray | None = None
    log_evidence: float | None = None
    note: str = ""
    totals: Mapping[str, np.ndarray] = field(default_factory=dict)
    scores: Scores | None = None

    @classmethod
    def empty(cls, problem: Problem, ended: str = "") -> "Batch":
        """No new states."""
        D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
        return cls(np.empty((0, D, R)), np.empty((0, R, N)), ended=ended)

    @property
    def size(self) -> int:
        """Number of states in the batch."""
        return self.A.shape[0]


@dataclass(frozen=True)
class Needs:
    """Requirements of an algorithm on a model.

    Attributes
    ----------
    capabilities : what the model has to be able to do.
    supports : pairs, of A and of W, for which the algorithm is made.
    """

    capabilities: frozenset[Capability] = frozenset()
    supports: Supports = ANY_SUPPORT

    @classmethod
    def of(cls, *capabilities: Capability, supports: Supports = ANY_SUPPORT) -> "Needs":
        """These capabilities, on these supports."""
        return cls(frozenset(capabilities), supports)


@dataclass(frozen=True)
class OnBlocks:
    """Replacements of an algorithm's functions where X is in blocks, each as of Algorithm."""

    State: type[Any]
    init: Callable[[Problem, Any, Shard, np.random.Generator], Any]
    step: Callable[[Problem, Any, Any, np.random.Generator], tuple[Any, Batch]]
    work: Callable[[Problem, Any], float]
    fraction: Callable[[Any, Any], float]
    check: Callable[[Problem, Any], None]
    # One pass over X serves all particles.
    shard_sizes: Callable[[Any, int], list[int]] = lambda settings, particles: [particles]


@dataclass(frozen=True)
class Algorithm(Generic[SettingsT, StateT]):
    """A way to make factorizations: two pure functions and their declared settings.

    ``init(problem, settings, shard, rng) → State`` makes the starting state of one shard;
    ``step(problem, state, settings, rng) → (State, Batch)`` is one bounded unit of work
    (about a second or less). A State is a frozen dataclass of arrays, plain numbers and further
    such dataclasses, so that it can be stored without pickling.

    Attributes
    ----------
    key, label : registry key and name on screen.
    family : "sampler" (chains that leave a distribution invariant) or "explorer".
    caveat : of chains that leave none invariant, why their states are no draws, in sentences.
    shard_sizes : ``(settings, particles) → list`` of particles per shard.
    work : ``(problem, settings) → float``, multiply-adds per particle, for estimates.
    needs : what it asks of a model.
    color : its colour in every chart. summary : one sentence for the form.
    symbol : its marker in every chart, which distinguishes it from those of similar colours; one
        of :data:`bnmf_core.figures.style.DASHES`, which has the dashes of its lines.
    reference : where it was published. works : ``(problem, settings) → str``, the works that a run
        uses where that depends on the problem, such as those of its solver; None: ``reference``.
    fraction : ``(state, settings) → float``, the part of a shard's work that is done.
    check : ``(problem, settings)``, raises a BNMFError, in a sentence, where a run could not start;
        called before the run is queued, for a problem with unresolved model settings.
        None: no check.
    on_blocks : the same algorithm over data larger than memory, see :mod:`bnmf_core.blocks`; None
        where all of X has to be in memory.
    """

    key: str
    label: str
    family: str
    Settings: type[SettingsT]
    State: type[StateT]
    init: Callable[[Problem, SettingsT, Shard, np.random.Generator], StateT]
    step: Callable[[Problem, StateT, SettingsT, np.random.Generator], tuple[StateT, Batch]]
    shard_sizes: Callable[[SettingsT, int], list[int]]
    work: Callable[[Problem, SettingsT], float]
    fraction: Callable[[StateT, SettingsT], float]
    needs: Needs
    color: str
    summary: str
    reference: str
    check: Callable[[Problem, SettingsT], None] | None = None
    caveat: str = ""
    symbol: str = "circle"
    works: Callable[[Problem, SettingsT], str] | None = None
    on_blocks: OnBlocks | None = None

    @property
    def exact(self) -> bool:
        """Whether its results are draws from the posterior."""
        return self.family == "sampler" and not self.caveat

    @property
    def members(self) -> str:
        """Noun for its results."""
        if self.family != "sampler":
            return "factorizations"
        return "draws" if self.exact else "outputs"

    @property
    def runs_to_optima(self) -> bool:
        """Whether it goes on until it has converged, and tells how far it may still turn."""
        return "movement" in declarations(self.Settings)

    def works_with(self, model: Model) -> bool:
        """Whether it can be run with the model."""
        return not self.why_not(model)

    def why_not(self, model: Model) -> str:
        """Why it cannot be run with the model, in a sentence; "" where it can."""
        missing = [
            what.value
            for what in Capability
            if what in self.needs.capabilities - model.capabilities
        ]
        if missing:
            return (
                f"{self.label} needs {' and '.join(missing)}, which the model “{model.label}” "
                "does not have."
            )
        if model.support not in self.needs.supports:
            return (
                f"{self.label} is not made for a model like “{model.label}”, where "
                f"{model.support_A.of('A')} and {model.support_W.of('W')}."
            )
        return ""


# An algorithm with unspecified settings and state.
AnyAlgorithm: TypeAlias = Algorithm[Any, Any]
