"""Probability models, their capabilities, and the capabilities that algorithms need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.special import gammaln

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.loss import Loss
from bnmf_core.core.threshold import Threshold

if TYPE_CHECKING:  # a problem has a model, and a model's functions take a problem
    from bnmf_core.core.dataset import Dataset
    from bnmf_core.core.problem import Problem

Pair = tuple[np.ndarray, np.ndarray]
Part = TypeVar("Part")
# Where a density is infinite or zero at 0, an entry counts as no less than this part of its mean.
NEARLY_ZERO = 1e-12


class Support(StrEnum):
    """Support of a factor: every entry ≥ 0, every column a distribution, every entry in [0, 1]."""

    POSITIVE = "positive"
    SIMPLEX = "simplex"
    UNIT_INTERVAL = "unit_interval"

    def of(self, factor: str) -> str:
        """The constraint on the factor ("A" or "W"), in words."""
        words = {
            Support.POSITIVE: f"the entries of {factor} are ≥ 0",
            Support.SIMPLEX: f"the columns of {factor} sum to 1",
            Support.UNIT_INTERVAL: f"the entries of {factor} lie between 0 and 1",
        }
        return words[self]


class Capability(StrEnum):
    """Capabilities of models; the value names one in sentences."""

    SCORE = "slopes of the log joint"
    SCORE_ALONG = "second derivatives along a direction"
    CURVATURE = "the trace of second derivatives"
    SWEEPS = "conditional draws"
    BOX = "conditional draws between 0 and 1"
    GAUSSIAN_NOISE = "Gaussian noise of a known size"
    THRESHOLD = "a threshold"
    NOWHERE_ZERO = "a likelihood that is nowhere zero"


@dataclass(frozen=True)
class EntryPrior:
    """Prior of one entry of a factor: ∝ exp(−rate·x − ½·precision·x²).

    On 0 ≤ x ≤ largest. rate > 0 and precision = 0: exponential; rate = 0 and precision > 0:
    half-normal; all 0 on [0, 1]: uniform.
    """

    rate: float = 0.0
    precision: float = 0.0
    largest: float = np.inf

    def gained(self, F: np.ndarray, s: np.ndarray) -> np.ndarray:
        """log p(s F_r) − log p(F_r) of every component: F (c, R, n), s (c, R)."""
        change = -self.rate * (s - 1) * F.sum(axis=2)
        if self.precision > 0:
            change -= 0.5 * self.precision * (s**2 - 1) * np.square(F).sum(axis=2)
        if np.isfinite(self.largest):
            change = np.where(s * F.max(axis=2) <= self.largest, change, -np.inf)
        return change


@dataclass(frozen=True)
class Conditionals:
    """Conditional of one entry of A or W given all others, where X_dn ~ N((AW)_dn, σ²).

    The likelihood is a parabola in every single entry, so that with an :class:`EntryPrior` each is
    normal, cut to the prior's interval. noise_variance : σ².
    """

    noise_variance: float
    A: EntryPrior
    W: EntryPrior


@dataclass(frozen=True)
class InverseGamma:
    """Prior of a variance: 1/σ² ~ Gamma(shape, rate = scale)."""

    shape: float
    scale: float


@dataclass(frozen=True)
class Box:
    """Conditionals of entries in [0, 1] given all others, where X_dn ~ N((AW)_dn, σ²).

    prior : of every entry of A and of W, ``largest`` = 1; None: Beta(½, ½).
    noise : σ² where it is known, or its prior where it is drawn as well.
    """

    prior: EntryPrior | None
    noise: float | InverseGamma


@dataclass(frozen=True)
class GammaPrior:
    """x ~ Gamma(shape, rate), of every entry of a factor."""

    shape: float
    rate: float

    def log_density(self, F: np.ndarray) -> np.ndarray:
        """Log density of all entries of F (M, …), (M,); an entry of 0 counts as nearly 0."""
        parts = tuple(range(1, F.ndim))
        size = float(np.prod(F.shape[1:]))
        constant = size * (self.shape * np.log(self.rate) - gammaln(self.shape))
        found = constant - self.rate * F.sum(axis=parts)
        if self.shape != 1.0:
            found += (self.shape - 1.0) * np.log(self._off_zero(F)).sum(axis=parts)
        return found

    def gained(self, F: np.ndarray, s: np.ndarray) -> np.ndarray:
        """log p(s F_r) − log p(F_r) of every component: F (c, R, n), s (c, R)."""
        stretched: np.ndarray = (self.shape - 1.0) * F.shape[2] * np.log(s)
        return stretched - self.rate * (s - 1) * F.sum(axis=2)

    def slope(self, F: np.ndarray) -> np.ndarray | float:
        """The derivative of the log density by every entry."""
        if self.shape == 1.0:
            return -self.rate
        return (self.shape - 1.0) / self._off_zero(F) - self.rate

    def bend(self, F: np.ndarray) -> np.ndarray | float:
        """The second derivative."""
        return 0.0 if self.shape == 1.0 else (1.0 - self.shape) / self._off_zero(F) ** 2

    def _off_zero(self, F: np.ndarray) -> np.ndarray:
        return np.maximum(F, NEARLY_ZERO * self.shape / self.rate)


@dataclass(frozen=True)
class LogNormal:
    """Prior of a positive number: its logarithm ~ N(log median, spread²)."""

    median: float
    spread: float


@dataclass(frozen=True)
class Sources:
    """X_dn = Σ_r Z_dnr, Z_dnr ~ Poisson(g_dn A_dr W_rn), with gamma priors on A and W.

    Given the sources Z, entries of A and W are gammas; given A and W, the sources of an entry are
    multinomial (Cemgil 2009).

    dispersion : of the negative binomial, g_dn ~ Gamma(k, k): the prior of k, with a spread of 0
        where k is known; None: g = 1, Poisson counts.
    """

    A: GammaPrior
    W: GammaPrior
    dispersion: LogNormal | None = None


Derivatives = Callable[
    ["Problem", np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]
]


def fine(*arguments: object) -> str:
    """No objection, whatever the data and the settings."""
    return ""


@dataclass(frozen=True)
class Model:
    """A posterior p(A, W | X) = p(X | AW) p(A) p(W) / p(X), up to what does not depend on A and W.

    All functions take M factorizations at once, A (M, D, R) and W (M, R, N). The first part is what
    every model is; the second what it may be able to do besides, None where it is not. Algorithms
    ask for :class:`Capability` and :class:`Support`, never for a model by its key, so a new model
    works with every algorithm that can.

    Attributes
    ----------
    key, label, summary, reference : registry key, name and sentence on screen, where published.
    Settings : its declared settings.
    support_A, support_W : where A and W live.
    resolve : ``(dataset, rank, settings) → settings`` with every "from the data" value set.
    loss : ``settings → Loss``, what a factorization of maximum likelihood makes smallest.
    log_joint : ``(problem, A, W, f) → (M,)``, log p(X, A, W) in nats with every constant that is
        known. f (M,) is the loss of each, where it is known already.
    log_likelihood : likewise the likelihood in the papers' form, without its constant.
    prior : ``(problem, rng) → A (D, R), W (R, N)``, a draw from the prior.
    scale : ``(A, W) → (A, W)`` on the support, with the same products AW at the scale of the
        components that the prior favours or demands. Where both factors are bounded above, the
        nearest there is: products may change.
    improper : ``settings → words``: what the settings would have to be for a posterior with a
        finite total ("a prior rate λ above 0: …"); "" where it has one.
    unfit : ``dataset → sentence``: why it is no model of these data; "" where it is.
    suits : kinds of numbers that it is proposed for, see :class:`~bnmf_core.data.kinds.Kind`.
    per_loss : ``settings →`` nats that a change of the loss by 1 means; None where that depends on
        the loss, or the likelihood is no function of it.
    unnormalised : ``(dataset, settings) → sentence``: why the constant of the likelihood is not
        known, without which there is no evidence; "" where it is.
    draw : ``(problem, Y (D, N), rng) → X``, data around Y = AW; None where X cannot be drawn.

    score : ``(problem, A, W)`` → gradients of the log joint, (M, D, R) and (M, R, N), in A and W as
        they stand: a constraint on columns is not taken into account.
    log_joint_and_score : ``(problem, A, W)`` → log joint (M,) and both gradients from the same
        products; with X in expanded form, so the log joint is exact to 1e-15·‖X‖²/σ² only.
    score_along : ``(problem, A, W, moved_A, moved_W)`` → derivative of the score along a direction,
        of the same shapes.
    curvature : ``(problem, A, W)`` → trace of the log joint's second derivatives (M,) and its
        gradients in A and W.
    noise_curvature : the same of Gaussian noise of the same standard deviation, for a flat
        likelihood, whose own curvature tells no variance; None: the curvature itself does.
    conditionals : ``settings → Conditionals``. unconditional : ``settings → words``: what the
        settings would have to be for them; "" where they give them.
    sources : ``(settings, D) → Sources``.
    box : ``settings → Box``.
    noise_level : ``settings → σ``, where X_dn ~ N((AW)_dn, σ²).
    threshold : the objective and the ε up to which every factorization is good enough.
    offending : ``(problem, A, W, suspects) → (M,)``, a row of X for which the likelihood is zero,
        −1 for none; ``suspects`` are rows to look at first. None: it is nowhere zero.
    """

    key: str
    label: str
    Settings: type
    support_A: Support
    support_W: Support
    resolve: Callable[[Dataset, int, Any], Any]
    loss: Callable[[Any], Loss]
    log_joint: Callable[..., np.ndarray]
    log_likelihood: Callable[..., np.ndarray]
    prior: Callable[[Problem, np.random.Generator], Pair]
    scale: Callable[[np.ndarray, np.ndarray], Pair]
    summary: str
    reference: str
    improper: Callable[[Any], str] = fine
    unfit: Callable[[Dataset], str] = fine
    suits: tuple[str, ...] = ()
    per_loss: Callable[[Any], float] | None = None
    unnormalised: Callable[[Dataset, Any], str] = fine
    draw: Callable[[Problem, np.ndarray, np.random.Generator], np.ndarray] | None = None
    score: Callable[[Problem, np.ndarray, np.ndarray], Pair] | None = None
    log_joint_and_score: Derivatives | None = None
    score_along: (
        Callable[[Problem, np.ndarray, np.ndarray, np.ndarray, np.ndarray], Pair] | None
    ) = None
    curvature: Derivatives | None = None
    noise_curvature: Derivatives | None = None
    conditionals: Callable[[Any], Conditionals] | None = None
    sources: Callable[[Any, int], Sources] | None = None
    unconditional: Callable[[Any], str] = fine
    box: Callable[[Any], Box] | None = None
    noise_level: Callable[[Any], float] | None = None
    threshold: Threshold | None = None
    offending: Callable[..., np.ndarray] | None = None

    @property
    def support(self) -> tuple[Support, Support]:
        """Supports of A and of W."""
        return self.support_A, self.support_W

    def entry_priors(
        self, settings: Any, D: int
    ) -> tuple[EntryPrior | GammaPrior, EntryPrior | GammaPrior]:
        """Priors of every entry of A (D, R) and of W, where there are conditional draws."""
        if self.sources is not None:
            counted = self.sources(settings, D)
            return counted.A, counted.W
        drawn = required(self.conditionals)(settings)
        return drawn.A, drawn.W

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Capabilities of the model."""
        slopes = self.score is not None and self.log_joint_and_score is not None
        able = {
            Capability.SCORE: slopes,
            Capability.SCORE_ALONG: slopes and self.score_along is not None,
            Capability.CURVATURE: slopes and self.curvature is not None,
            Capability.SWEEPS: self.conditionals is not None or self.sources is not None,
            Capability.BOX: self.box is not None,
            Capability.GAUSSIAN_NOISE: self.noise_level is not None,
            Capability.THRESHOLD: self.threshold is not None,
            Capability.NOWHERE_ZERO: self.offending is None,
        }
        return frozenset(capability for capability, is_able in able.items() if is_able)


def required(part: Part | None) -> Part:
    """Return an optional part of a model that an algorithm requires.

    Raises
    ------
    SettingsError
        When the model lacks the part: the algorithm does not declare this need.
    """
    if part is None:
        raise SettingsError("The model cannot do what is asked of it here; choose another model.")
    return part
