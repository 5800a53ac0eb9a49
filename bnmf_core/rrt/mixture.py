"""A mixture of isotropic Gaussians over (A, W), and its evidence lower bound.

q = Σ_m w_m N(μ_m, σ_m² I) in d = R(D + N) dimensions (Gershman, Hoffman & Blei 2012; paper 2, §2,
with weights that may differ). The bound is entropy + energy:

    entropy ≥ −Σ_m w_m log Σ_j w_j N(μ_m; μ_j, (σ_m² + σ_j²) I)        (paper 2, eq. 2)
    energy  ≈ Σ_m w_m (log p(X, μ_m) + ½ σ_m² Tr H_m)                   (paper 2, eq. 3)

with H the Hessian of log p. The components are not cut off at 0, where the posterior ends, and the
energy is that of a parabola; so this is a bound up to that approximation only.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from bnmf_core.core.model import Support, required
from bnmf_core.core.problem import Problem

# Gaussians over all entries, at any scale of a component, fit where no entry has another bound
# than 0 and no sum is fixed.
NO_BORDERS = frozenset([(Support.POSITIVE, Support.POSITIVE)])


@dataclass(frozen=True)
class Component:
    """One Gaussian that may join a mixture.

    center : (d,) μ = (A, W) in one row. log_joint : log p(X, μ), nats. trace : Tr H there.
    """

    center: np.ndarray
    log_joint: float
    trace: float

    @property
    def best_variance(self) -> float:
        """σ² at which a mixture of this component alone has the largest bound, −d/Tr H.

        The bound ½ d log(4πσ²) + log p + ½ σ² Tr H has its only maximum there; ∞ for Tr H = 0.
        """
        return self.center.size / -self.trace if self.trace < 0 else np.inf

    def bound(self, variance: float) -> float:
        """The bound of a mixture of this component alone."""
        entropy = 0.5 * self.center.size * np.log(4 * np.pi * variance)
        return entropy + self.log_joint + 0.5 * variance * self.trace


@dataclass(frozen=True)
class Mixture:
    """Weighted Gaussians.

    Attributes
    ----------
    centers : (M, d). variances : (M,) σ². weights : (M,), summing to 1.
    log_joint, trace : (M,) log p(X, μ_m) and Tr H_m.
    squared : (M, M) ‖μ_m − μ_j‖².
    numbers : (M,) which proposal each component was.
    """

    centers: np.ndarray
    variances: np.ndarray
    weights: np.ndarray
    log_joint: np.ndarray
    trace: np.ndarray
    squared: np.ndarray
    numbers: np.ndarray

    @classmethod
    def empty(cls, d: int) -> "Mixture":
        """Without components, in d dimensions."""
        nothing = np.zeros(0)
        return cls(
            np.zeros((0, d)),
            nothing,
            nothing,
            nothing,
            nothing,
            np.zeros((0, 0)),
            np.zeros(0, dtype=np.int64),
        )

    @property
    def M(self) -> int:
        """Number of components."""
        return self.centers.shape[0]

    @cached_property
    def log_kernels(self) -> np.ndarray:
        """log N(μ_m; μ_j, (σ_m² + σ_j²) I), (M, M)."""
        return log_kernel(
            self.squared, self.variances[:, None] + self.variances, self.centers.shape[1]
        )

    @cached_property
    def entropy(self) -> float:
        """The lower bound on the entropy, nats."""
        logs = logsumexp(self.log_kernels, b=self.weights, axis=1)
        return float(-(self.weights @ logs))

    @property
    def energies(self) -> np.ndarray:
        """E[log p(X, θ)] of each component, to second order: (M,)."""
        return self.log_joint + 0.5 * self.variances * self.trace

    @property
    def energy(self) -> float:
        """E_q[log p(X, θ)] to second order, nats."""
        return float(self.weights @ self.energies)

    @property
    def elbo(self) -> float:
        """Entropy bound + energy."""
        return self.entropy + self.energy

    def distances(self, center: np.ndarray) -> np.ndarray:
        """‖μ_m − center‖², (M,)."""
        return np.square(self.centers - center).sum(axis=1)

    def joined(
        self, component: Component, variance: float, weight: float, number: int
    ) -> "Mixture":
        """With a further component; the old weights are scaled by 1 − weight."""
        apart = self.distances(component.center)
        squared = np.zeros((self.M + 1, self.M + 1))
        squared[:-1, :-1] = self.squared
        squared[-1, :-1] = squared[:-1, -1] = apart
        return Mixture(
            np.vstack([self.centers, component.center]),
            np.append(self.variances, variance),
            np.append((1 - weight) * self.weights, weight),
            np.append(self.log_joint, component.log_joint),
            np.append(self.trace, component.trace),
            squared,
            np.append(self.numbers, number),
        )

    def elbos_without(self) -> np.ndarray:
        """The bound of :meth:`without` for each component, (M,), in O(M²) all together.

        NaN where the others have no weight at all.
        """
        others = ~np.eye(self.M, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self.log_kernels + np.log(self.weights)
            sums = logsumexp(terms, axis=1)[:, None]
            shares = np.exp(terms - sums)
            left = sums + np.log1p(-np.minimum(shares, 0.5))
            # A sum that lost most of itself has lost its digits too: it is taken again.
            i, m = np.nonzero((shares > 0.5) & others)
            left[i, m] = logsumexp(np.where(np.arange(self.M) == m[:, None], -np.inf, terms[i]), 1)
            rest = others @ self.weights
            totals = self.weights @ np.where(others, self.energies[:, None] - left, 0.0)
            return totals / rest + np.log(rest)

    def without(self, m: int) -> "Mixture":
        """Without component m; the other weights grow to sum to 1."""
        others = np.arange(self.M) != m
        weights = self.weights[others]
        return Mixture(
            self.centers[others],
            self.variances[others],
            weights / weights.sum(),
            self.log_joint[others],
            self.trace[others],
            self.squared[np.ix_(others, others)],
            self.numbers[others],
        )

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws from q, (count, d), with entries below 0 where q reaches beyond it."""
        chosen = rng.choice(self.M, size=count, p=self.weights)
        noise = rng.standard_normal((count, self.centers.shape[1]))
        return self.centers[chosen] + np.sqrt(self.variances[chosen])[:, None] * noise

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log q of points (P, d): (P,)."""
        squared = np.square(points[:, None] - self.centers).sum(axis=2)
        logs = log_kernel(squared, self.variances, self.centers.shape[1])
        return logsumexp(logs, b=self.weights, axis=1)


def log_kernel(squared: float | np.ndarray, variance: float | np.ndarray, d: int) -> np.ndarray:
    """log N(δ; 0, variance · I) for ‖δ‖² = ``squared`` in d dimensions."""
    return -0.5 * d * np.log(2 * np.pi * variance) - squared / (2 * variance)


def component_of(problem: Problem, A: np.ndarray, W: np.ndarray, rescale: bool) -> Component:
    """The factorization A (D, R), W (R, N) as a component, at its best scale on request."""
    if rescale:
        A, W = (F[0] for F in best_scale(A[None], W[None]))
    log_joint = problem.model.log_joint(problem, A[None], W[None])[0]
    trace = required(problem.model.curvature)(problem, A[None], W[None])[0][0]
    return Component(np.concatenate([A.ravel(), W.ravel()]), float(log_joint), float(trace))


def best_scale(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The paper's scale of small curvature: A (M, D, R), W (M, R, N), the same products AW.

    Columns of A get unit length, then all together β: −σ² Tr H = N R β² + D T/β² with T = ‖S⁻¹W‖²
    is smallest for β = (D T/(N R))^(1/4) (paper 2, §3.2, whose formula lacks the squares, and
    which searches for β by Newton steps). A scale of its own for every component would leave less
    curvature still, but lengths that cannot be compared. All entries count, seen or not. A
    factorization with W = 0 keeps β = 1.
    """
    (_, D, R), N = A.shape, W.shape[2]
    lengths = np.sqrt(np.einsum("mdr,mdr->mr", A, A))
    lengths = np.where(lengths > 0, lengths, 1.0)
    A, W = A / lengths[:, None, :], W * lengths[:, :, None]
    total = np.einsum("mrn,mrn->m", W, W)
    beta = np.where(total > 0, (D * total / (N * R)) ** 0.25, 1.0)[:, None, None]
    return A * beta, W / beta


def variance_alone(problem: Problem, A: np.ndarray, W: np.ndarray) -> float:
    """σ² of a mixture of one component where the likelihood is flat: A (M, D, R), W (M, R, N).

    The bound has no best variance there. Gaussian noise of the same standard deviation, ε/√3, takes
    the likelihood's place, and of the factorizations the one with the smallest curvature counts. So
    σ² grows with ε, and with it how far a component must lie from the others.
    """
    curvature = problem.model.noise_curvature or required(problem.model.curvature)
    traces = curvature(problem, *best_scale(A, W))[0]
    return problem.rank * (problem.dataset.D + problem.dataset.N) / float((-traces).min())
