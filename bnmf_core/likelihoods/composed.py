"""A model from a likelihood and a prior."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss
from bnmf_core.core.model import Conditionals, Model, Pair, fine
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods.priors import Prior

Curve = Callable[[Problem, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Likelihood:
    """p(X | AW) = exp(−h(f(X, AW)))/Z, a function of a loss f.

    Attributes
    ----------
    loss : ``settings → Loss``.
    resolve : ``(dataset, rank, settings) → settings`` with what the likelihood takes from the data.
    per_loss : ``settings →`` nats that a change of f by 1 means: h(f) is so many times f.
    curve : ``(problem, f) → h(f)``, rising, and its first and second derivative, where h is no
        multiple of f.
    constant : ``problem → −log Z``, 0 where it is not known.
    unnormalised : ``(dataset, settings) → sentence``: why Z is not known; "" where it is.
    draw : ``(problem, Y (D, N), rng) → X``, data with mean Y; None where there is no such thing.
    unfit : ``dataset → sentence``: why it is none of these data; "" where it is.
    suits : kinds of numbers that it is proposed for.
    noise_variance : ``settings → σ²`` where entries are normal given all others; None elsewhere.
    extras : further parts of :class:`~bnmf_core.core.model.Model`, by their names.
    """

    loss: Callable[[Any], Loss]
    resolve: Callable[[Dataset, int, Any], Any] = lambda dataset, rank, settings: settings
    per_loss: Callable[[Any], float] = lambda settings: 1.0
    curve: tuple[Curve, Curve, Curve] | None = None
    constant: Callable[[Problem], float] = lambda problem: 0.0
    unnormalised: Callable[[Dataset, Any], str] = fine
    draw: Callable[[Problem, np.ndarray, np.random.Generator], np.ndarray] | None = None
    unfit: Callable[[Dataset], str] = fine
    suits: tuple[str, ...] = ()
    noise_variance: Callable[[Any], float] | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)

    def log_likelihood(
        self, problem: Problem, A: np.ndarray, W: np.ndarray, f: np.ndarray | None = None
    ) -> np.ndarray:
        """−h(f) of each particle, (M,), without the constant: the papers' tables print this."""
        loss = self.loss(problem.model_settings)
        return -self.nats(problem, loss.values(problem, A, W) if f is None else f)

    def nats(self, problem: Problem, f: np.ndarray) -> np.ndarray:
        """h(f)."""
        if self.curve is not None:
            return self.curve[0](problem, f)
        return self.per_loss(problem.model_settings) * f


def model(
    likelihood: Likelihood,
    prior: Prior,
    Settings: type,
    key: str,
    label: str,
    summary: str,
    reference: str,
) -> Model:
    """p(A, W | X) ∝ p(X | AW) p(A, W). Settings : of the likelihood, and of the prior's rate."""

    def resolve(dataset: Dataset, rank: int, settings: Any) -> Any:
        return likelihood.resolve(dataset, rank, prior.resolved(dataset, rank, settings))

    def log_joint(
        problem: Problem, A: np.ndarray, W: np.ndarray, f: np.ndarray | None = None
    ) -> np.ndarray:
        fit = likelihood.log_likelihood(problem, A, W, f)
        return fit + likelihood.constant(problem) + prior.log_density(problem, A, W)

    def log_joint_and_score(
        problem: Problem, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        settings = problem.model_settings
        f, by_A, by_W = likelihood.loss(settings).values_and_gradients(problem, A, W)
        factor: Any = -likelihood.per_loss(settings)
        if likelihood.curve is not None:
            factor = -likelihood.curve[1](problem, f)[:, None, None]
        by_A *= factor
        by_W *= factor
        slope_A, slope_W = prior.slopes(settings, A, W)
        by_A += slope_A
        by_W += slope_W
        constants = likelihood.constant(problem) + prior.log_density(problem, A, W)
        return constants - likelihood.nats(problem, f), by_A, by_W

    def score_along(
        problem: Problem, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
    ) -> Pair:
        """−(h''(f) (∇f·v) ∇f + h'(f) ∇²f v), and the prior's own bends times v."""
        settings = problem.model_settings
        loss = likelihood.loss(settings)
        along_A, along_W = loss.gradients_along(problem, A, W, moved_A, moved_W)
        slope: Any = likelihood.per_loss(settings)
        if likelihood.curve is not None:
            f, by_A, by_W = loss.values_and_gradients(problem, A, W)
            slope, bend = (h(problem, f)[:, None, None] for h in likelihood.curve[1:])
            uphill = np.vecdot(by_A, moved_A).sum(axis=1) + np.vecdot(by_W, moved_W).sum(axis=1)
            bend = bend * uphill[:, None, None]
            along_A, along_W = along_A * slope + bend * by_A, along_W * slope + bend * by_W
            slope = 1.0
        along_A, along_W = -slope * along_A, -slope * along_W
        if prior.bends is not None:
            bend_A, bend_W = prior.bends(settings, A, W)
            along_A += bend_A * moved_A
            along_W += bend_W * moved_W
        return along_A, along_W

    extras: dict[str, Any] = {}
    if likelihood.noise_variance is not None and prior.entry is not None:
        variance, entry = likelihood.noise_variance, prior.entry
        extras["conditionals"] = lambda settings: Conditionals(
            variance(settings), entry(settings), entry(settings)
        )
    extras |= likelihood.extras
    return Model(
        key=key,
        label=label,
        summary=summary,
        reference=reference,
        Settings=Settings,
        resolve=resolve,
        loss=likelihood.loss,
        per_loss=likelihood.per_loss if likelihood.curve is None else None,
        unnormalised=likelihood.unnormalised,
        draw=likelihood.draw,
        log_joint=log_joint,
        log_likelihood=likelihood.log_likelihood,
        support_A=prior.support_A,
        support_W=prior.support_W,
        prior=prior.draw,
        scale=prior.scale,
        improper=prior.improper,
        unfit=likelihood.unfit,
        suits=likelihood.suits,
        score=lambda problem, A, W: log_joint_and_score(problem, A, W)[1:],
        log_joint_and_score=log_joint_and_score,
        score_along=score_along,
        **extras,
    )
