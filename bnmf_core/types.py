"""The nouns that travel between rooms: run specifications, algorithms, batches, progress."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a result, given a dataset: same spec, same bits.

    Attributes
    ----------
    algorithm, model : registry keys.
    rank : R, the number of components.
    particles : how many factorizations to keep.
    seed : every random number of the run comes from it.
    settings, model_settings : values by name; what is left out takes its default.
    holdout : fraction of the observations that the run does not see (0 to 0.5).
    """

    algorithm: str
    rank: int
    model: str = "gaussian"
    particles: int = 100
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    holdout: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = dataclasses.asdict(self)
        plain["settings"] = dict(self.settings)
        plain["model_settings"] = dict(self.model_settings)
        return plain


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


@dataclass(frozen=True)
class Batch:
    """New states from one step: A (m, D, R), W (m, R, N), m ≥ 0, in order of their number.

    ``diagnostics`` maps names to (m,) arrays (iterations used, a convergence flag, …).
    ``chain`` (m,) numbers the chain in the run that made each state; None: the shard's index.
    ``warm_up`` (m,) is True for states that are recorded in the trace only and never become
    particles; None: there are none.
    ``ended`` says, in a sentence, why the shard makes no more than it has made; "" while it does.
    """

    A: np.ndarray
    W: np.ndarray
    diagnostics: Mapping[str, np.ndarray] = field(default_factory=dict)
    chain: np.ndarray | None = None
    warm_up: np.ndarray | None = None
    ended: str = ""

    @property
    def size(self) -> int:
        """Number of states in the batch."""
        return self.A.shape[0]


@dataclass(frozen=True)
class Algorithm:
    """A way to make factorizations: two pure functions and their declared settings.

    ``init(problem, settings, shard, rng) → State`` makes the starting state of one shard;
    ``step(problem, state, settings, rng) → (State, Batch)`` is one bounded unit of work
    (about a second or less). A State is a frozen dataclass of arrays and plain numbers, so
    that it can be stored without pickling.

    Attributes
    ----------
    key, label : registry key and name on screen.
    family : "sampler" (leaves a distribution invariant) or "explorer".
    shard_sizes : ``(settings, particles) → list`` of particles per shard.
    work : ``(problem, settings) → float``, multiply-adds per particle, for estimates.
    models : keys of the models it works with; None: every model.
    color : its colour in every chart. summary : one sentence for the form.
    reference : where it was published.
    fraction : ``(state, settings) → float``, the part of a shard's work that is done.
    check : ``(dataset, rank, model settings, settings)``, raises a BNMFError, in a sentence, where
        a run could not start; asked before the run is queued. None: nothing to ask.
    """

    key: str
    label: str
    family: str
    Settings: type
    State: type
    init: Callable[..., Any]
    step: Callable[..., tuple[Any, Batch]]
    shard_sizes: Callable[[Any, int], list[int]]
    work: Callable[..., float]
    fraction: Callable[[Any, Any], float]
    models: tuple[str, ...] | None
    color: str
    summary: str
    reference: str
    check: Callable[..., None] | None = None

    def works_with(self, model: str) -> bool:
        """Whether it can be run with the model of this key."""
        return self.models is None or model in self.models


@dataclass(frozen=True)
class Model:
    """A probability model of X given (A, W), batched over particles.

    Attributes
    ----------
    resolve : ``(dataset, rank, settings) → Settings`` with every "from the data" value set.
    log_joint : ``(problem, A (M, D, R), W (M, R, N)) → (M,)`` full normalised log joint, nats;
        takes ‖X − AW‖² of each particle, (M,), as a fourth argument where it is known.
    log_likelihood : the same arguments, the likelihood in the papers' form (no constant).
    score : ``(problem, A, W)`` → gradients of the log joint, (M, D, R) and (M, R, N), in A and
        W as they stand: a constraint on the columns of A is not taken into account.
    log_joint_and_score : ``(problem, A, W)`` → log joint (M,) and both gradients from the same
        products; with X in expanded form, so the log joint is exact to 1e-15·‖X‖²/σ² only.
    support : where A and W live: "positive" (every entry ≥ 0) or "simplex" (every column of A
        sums to 1, entries of W ≥ 0).
    prior : ``(problem, rng) → A (D, R), W (R, N)``, a draw from the prior.
    scale : ``(A (M, D, R), W (M, R, N)) → (A, W)`` with the same products AW, at the scale of
        the components that the prior favours or demands.
    score_along : ``(problem, A, W, moved_A, moved_W)`` → derivative of the score along a direction,
        of the same shapes; None where it is not known in closed form.
    curvature : ``(problem, A, W)`` → trace of the log joint's second derivatives (M,) and its
        gradients in A and W; None where it is not known in closed form.
    offending : ``(problem, A, W, suspects) → (M,)`` a row of X for which the likelihood is zero, −1
        where there is none; ``suspects`` are rows to look at first. None: it is nowhere zero.
    """

    key: str
    label: str
    Settings: type
    resolve: Callable[..., Any]
    log_joint: Callable[..., np.ndarray]
    log_likelihood: Callable[..., np.ndarray]
    score: Callable[..., tuple[np.ndarray, np.ndarray]]
    log_joint_and_score: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    support: str
    prior: Callable[..., tuple[np.ndarray, np.ndarray]]
    scale: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    summary: str
    reference: str
    score_along: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None
    curvature: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
    offending: Callable[..., np.ndarray] | None = None


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done, total : particles finished and asked for.
    fraction : part of the whole work that is done, 0 to 1.
    seconds : since the run began. remaining : seconds still to go, None while unknown.
    stage : what is being done now, in words.
    """

    done: int
    total: int
    fraction: float
    seconds: float
    remaining: float | None
    stage: str
