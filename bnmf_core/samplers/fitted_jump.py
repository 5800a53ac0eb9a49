"""Jumps between modes by proposals from a mixture that was fitted to draws around each.

The mixture is one Student t with eight degrees of freedom a mode, in the logarithms z of all
entries of A and W, each with a full scale matrix, fitted once and then frozen. A proposal z' does
not depend on where the chain is; Metropolis–Hastings accepts it with probability

    min(1, π(z') q(z) / (π(z) q(z'))),    π(z) = p(X, A, W) exp(Σ z),

where exp(Σ z) is the Jacobian of the logarithm. The posterior is left invariant whatever the fit
(Tierney 1994, §2.3.3); a mode that the mixture lacks is left to the sampler between the jumps. Of
the R! relabellings of a mode the mixture has the one that was fitted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

DEGREES = 8.0
# Every variance is larger by this part, so that few draws leave no matrix singular. Little noise
# ties logarithms to each other up to (σ/x)², and this must not undo it.
RIDGE = 1e-9
# Entries are taken for at least this part of the factors' mean where a mode is fitted.
FLOOR = 1e-12
# (A (c, D, R), W (c, R, N)) → log joint (c,).
LogJoint = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FittedModes:
    """A mixture of K Student t with equal shares: centres (K, d), Cholesky factors (K, d, d)."""

    centers: np.ndarray
    roots: np.ndarray


def logarithms(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """z of A (c, R, D) and W (c, R, N): (c, R(D + N))."""
    c = A.shape[0]
    return np.log(np.concatenate((A.reshape(c, -1), W.reshape(c, -1)), axis=1))


def floored(F: np.ndarray) -> np.ndarray:
    """F with no entry of zero, which has no logarithm."""
    return np.maximum(F, FLOOR * F.mean())


def fit(first: np.ndarray, second: np.ndarray) -> FittedModes:
    """The t with the moments of what was drawn around each mode: E z (K, d), E z zᵀ (K, d, d)."""
    covariance = second - first[:, :, None] * first[:, None, :]
    own = np.einsum("kii->ki", covariance)
    own += RIDGE * own + np.finfo(float).tiny
    return FittedModes(first, np.linalg.cholesky(covariance * (DEGREES - 2) / DEGREES))


def draw(modes: FittedModes, count: int, rng: np.random.Generator) -> np.ndarray:
    """Independent draws from the mixture: (count, d)."""
    K, d = modes.centers.shape
    chosen = rng.integers(K, size=count)
    stretch = np.sqrt(DEGREES / rng.chisquare(DEGREES, count))
    normal = rng.standard_normal((count, d))
    turned = np.einsum("cij,cj->ci", modes.roots[chosen], normal)
    return modes.centers[chosen] + stretch[:, None] * turned


def log_density(modes: FittedModes, z: np.ndarray) -> np.ndarray:
    """log q of z (c, d): (c,)."""
    K, d = modes.centers.shape
    logs = np.empty((K, z.shape[0]))
    for k in range(K):
        residual = np.linalg.solve(modes.roots[k], (z - modes.centers[k]).T)
        squared = (residual**2).sum(axis=0)
        volume = np.log(np.diag(modes.roots[k])).sum()
        logs[k] = -volume - 0.5 * (DEGREES + d) * np.log1p(squared / DEGREES)
    constant = gammaln(0.5 * (DEGREES + d)) - gammaln(0.5 * DEGREES)
    constant -= 0.5 * d * np.log(np.pi * DEGREES) + np.log(K)
    return logsumexp(logs, axis=0) + constant


def jump(
    log_joint: LogJoint,
    A: np.ndarray,
    W: np.ndarray,
    modes: FittedModes,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One proposal for every chain: new A (c, R, D), W (c, R, N) and accepted (c,) bool."""
    proposed = draw(modes, A.shape[0], rng)
    # An entry of zero has no logarithm: no jump comes back to it, so none leaves.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        now = logarithms(A, W)
        F = np.exp(proposed)
        new_A, new_W = F[:, : A[0].size].reshape(A.shape), F[:, A[0].size :].reshape(W.shape)
        gained = log_joint(new_A.transpose(0, 2, 1), new_W) + proposed.sum(axis=1)
        gained -= log_joint(A.transpose(0, 2, 1), W) + now.sum(axis=1)
        correction = log_density(modes, now) - log_density(modes, proposed)
        accepted = np.log1p(-rng.random(A.shape[0])) < gained + correction
    chosen = accepted[:, None, None]
    return np.where(chosen, new_A, A), np.where(chosen, new_W, W), accepted
