"""Online nonparametric variational inference: components join a mixture one by one (paper 2, §3.1).

A candidate brings its centre. Old centres and variances stay, old weights scale by 1 − w, so that
its weight w and its variance are all there is to choose. It joins when the bound grows by the
tolerance at least; then components whose loss costs less than the tolerance leave.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp

from bnmf_core.core.settings import setting
from bnmf_core.lazy import lazy
from bnmf_core.rrt.mixture import Component, Mixture, log_kernel

optimize = lazy("scipy.optimize")

# Logits of a weight beyond this are 0 or 1 in double precision.
LARGEST_LOGIT = 700.0
# log σ² is searched so far on either side of the best value alone.
REACH = 30.0
REASONS = {
    "joined": "joined",
    "first": "joined as the first",
    "gain": "would raise the bound by less than the tolerance",
    "near": "lies nearer to a component than its standard deviation in every dimension",
    "impossible": "has probability 0 under the model",
    "flat": "lies where the density has no curvature, so that no variance is the best",
}


@dataclass(frozen=True)
class OnlineSettings:
    """When a component joins, and when one leaves."""

    tolerance: float = setting(
        1e-4,
        "Smallest gain",
        "Gain of the bound, in nats, at which a component joins; it leaves if that costs less. "
        "The paper's “10e-4” can be read as 1e-3 or as 1e-4.",
        minimum=1e-12,
        maximum=1e6,
    )
    rescale: bool = setting(
        True,
        "Best scale",
        "Scale the columns of A to equal length, at which the posterior is flattest around the "
        "factorization. The product AW does not change.",
    )


@dataclass(frozen=True)
class Decision:
    """Decision on one candidate.

    Attributes
    ----------
    number : which candidate. joined : whether it is a component now; reason : a key of ``REASONS``.
    gain : by how much it would raise, or has raised, the bound at its best weight and variance.
    weight, variance : those. elbo, entropy, energy : of the mixture afterwards.
    removed : numbers of the components that left. components : how many there are now.
    """

    number: int
    joined: bool
    reason: str
    gain: float
    weight: float
    variance: float
    elbo: float
    entropy: float
    energy: float
    removed: tuple[int, ...]
    components: int


def propose(
    mixture: Mixture,
    component: Component,
    number: int,
    tolerance: float,
    variance: float | None = None,
) -> tuple[Mixture, Decision]:
    """Let a component join where it raises the bound, then let superfluous ones leave.

    Parameters
    ----------
    number : by which the component is known from now on.
    tolerance : smallest gain, nats.
    variance : σ² of all components, where it is fixed (the uniform likelihood); the component then
        joins only where it raises the bound by as much as one would that is σ away from an existing
        one in every dimension (paper 2, §4.3). None: it is chosen with the weight.
    """
    alone = component.best_variance if variance is None else variance
    for reason, needed in (("impossible", component.log_joint), ("flat", alone)):
        if not np.isfinite(needed):
            return mixture, _decision(mixture, number, False, reason, 0.0, 0.0, np.nan)
    if mixture.M == 0:
        joined = mixture.joined(component, alone, 1.0, number)
        return joined, _decision(joined, number, True, "first", np.inf, 1.0, alone)
    elbo = mixture.elbo
    # Without overlap the best weight gains log(1 + exp(e − ELBO)); overlap only costs entropy.
    most = np.logaddexp(0.0, component.bound(alone) - elbo)
    if most < tolerance:
        return mixture, _decision(mixture, number, False, "gain", float(most), 0.0, alone)
    apart = mixture.distances(component.center)
    weight, chosen, gain = best_joining(mixture, component, apart, alone, variance is not None)
    if gain < tolerance:
        return mixture, _decision(mixture, number, False, "gain", gain, weight, chosen)
    if variance is not None and _nearer_than_a_deviation(mixture, component, apart, variance, gain):
        return mixture, _decision(mixture, number, False, "near", gain, weight, chosen)
    joined, removed = prune(mixture.joined(component, chosen, weight, number), tolerance)
    return joined, _decision(joined, number, True, "joined", gain, weight, chosen, removed)


def propose_all(
    components: Iterable[Component], tolerance: float, variance: float | None = None
) -> tuple[Mixture | None, list[Decision]]:
    """Propose components one after the other; no mixture where there is none of them."""
    mixture: Mixture | None = None
    decisions: list[Decision] = []
    for number, component in enumerate(components):
        if mixture is None:
            mixture = Mixture.empty(component.center.size)
        mixture, decision = propose(mixture, component, number, tolerance, variance)
        decisions.append(decision)
    return mixture, decisions


def best_joining(
    mixture: Mixture, component: Component, apart: np.ndarray, variance: float, fixed: bool
) -> tuple[float, float, float]:
    """The weight and the variance at which a component raises the bound most, and by how much.

    Parameters
    ----------
    apart : (M,) squared distances from the components. variance : where the search begins, or, if
        ``fixed``, the one that it has.

    Returns
    -------
    (weight, variance, gain): gain is 0 at weight 0, so it is never below.
    """
    bound = _Bound(mixture, component, apart)
    # Without overlap, the weight's logit is the difference of the two bounds.
    start = np.clip(component.bound(variance) - bound.elbo, -LARGEST_LOGIT / 2, LARGEST_LOGIT / 2)
    x = np.array([start, np.log(variance)])
    reach = 0.0 if fixed else REACH
    limits = [(-LARGEST_LOGIT, LARGEST_LOGIT), (x[1] - reach, x[1] + reach)]
    found = optimize.minimize(bound.loss, x, jac=True, method="L-BFGS-B", bounds=limits)
    candidates = [x, found.x]
    gains = [-bound.loss(point)[0] for point in candidates]
    best = int(np.argmax(gains))
    if not gains[best] > 0:
        return 0.0, float(variance), 0.0
    logit, log_variance = candidates[best]
    chosen = float(variance) if fixed else float(np.exp(log_variance))
    return float(expit(logit)), chosen, float(gains[best])


class _Bound:
    """The gain of the bound as a function of the new weight's logit and of log σ²."""

    def __init__(self, mixture: Mixture, component: Component, apart: np.ndarray) -> None:
        self.mixture, self.component, self.apart = mixture, component, apart
        self.d = mixture.centers.shape[1]
        self.log_weights = np.log(mixture.weights)
        self.log_sums = logsumexp(mixture.log_kernels + self.log_weights, axis=1)
        self.energy = mixture.energy
        self.elbo = self.energy - float(mixture.weights @ self.log_sums)

    def loss(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """−(new bound − old bound) and its gradient in x = (logit w, log σ²)."""
        logit, variance = x[0], np.exp(x[1])
        w, rest = expit(logit), expit(-logit)
        log_w, log_rest = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
        old, d = self.mixture, self.d
        both = variance + old.variances
        across = log_kernel(self.apart, both, d)
        own = log_kernel(0.0, 2 * variance, d)
        # log of the mixture's density, blurred, at the old centres and at the new one; and what
        # part of it comes from the new component.
        at_old = np.logaddexp(log_rest + self.log_sums, log_w + across)
        of_new = np.exp(log_w + across - at_old)
        terms = np.append(log_rest + self.log_weights + across, log_w + own)
        at_new = logsumexp(terms)
        shares = np.exp(terms - at_new)
        energy = self.component.log_joint + 0.5 * variance * self.component.trace
        # Differences first: the bounds are of 1e6 nats where gains of 1e-4 count.
        of_old = float(old.weights @ (at_old - self.log_sums))
        value = -rest * of_old + w * (energy - at_new - self.elbo)
        slope_w = w * rest * (energy - at_new - self.elbo + of_old)
        slope_w -= rest * float(old.weights @ (of_new - w)) + w * (shares[-1] - w)
        slopes = variance * (-0.5 * d / both + self.apart / (2 * both**2))
        slope_v = w * 0.5 * variance * self.component.trace
        slope_v -= rest * float((old.weights * of_new) @ slopes)
        slope_v -= w * (float(shares[:-1] @ slopes) - 0.5 * d * shares[-1])
        return -float(value), -np.array([slope_w, slope_v])


def prune(mixture: Mixture, tolerance: float) -> tuple[Mixture, tuple[int, ...]]:
    """Leave out components, the lightest first, whose loss lowers the bound by less."""
    removed = []
    while mixture.M > 1:
        cheap = np.flatnonzero(mixture.elbo - mixture.elbos_without() < tolerance)
        if not cheap.size:
            break
        lightest = int(cheap[mixture.weights[cheap].argmin()])
        removed.append(int(mixture.numbers[lightest]))
        mixture = mixture.without(lightest)
    return mixture, tuple(removed)


def _nearer_than_a_deviation(
    mixture: Mixture, component: Component, apart: np.ndarray, variance: float, gain: float
) -> bool:
    """Whether a copy of the nearest component, moved by σ in every dimension, would gain more."""
    nearest = int(apart.argmin())
    moved = mixture.squared[nearest] + component.center.size * variance
    return gain < best_joining(mixture, component, moved, variance, fixed=True)[2]


def _decision(
    mixture: Mixture,
    number: int,
    joined: bool,
    reason: str,
    gain: float,
    weight: float,
    variance: float,
    removed: tuple[int, ...] = (),
) -> Decision:
    entropy, energy = (mixture.entropy, mixture.energy) if mixture.M else (np.nan, np.nan)
    return Decision(
        number,
        joined,
        reason,
        gain,
        weight,
        variance,
        entropy + energy,
        entropy,
        energy,
        removed,
        mixture.M,
    )
