"""Nonparametric variational inference: centres and variances of equally weighted Gaussians.

Gershman, Hoffman & Blei (2012): the bound of :mod:`bnmf_core.rrt.mixture` is raised in all
centres and variances. Centres keep to entries ≥ 0. Under a likelihood that is flat and then zero,
the bound has no slope that leads back, so there each centre goes as far as it stays possible.
"""

import numpy as np
from scipy.special import logsumexp

from bnmf_core.core.model import required
from bnmf_core.core.problem import Problem
from bnmf_core.lazy import lazy
from bnmf_core.rrt.mixture import log_kernel

optimize = lazy("scipy.optimize")

# L-BFGS's memory. Each call begins without any, so calls of few iterations lose by it.
MEMORY = 10
# Maximum number of halvings of a step that would leave the feasible region.
HALVINGS = 20
# log σ² moves at most this far from where it starts in one call.
REACH = 20.0
# A component has collapsed if its AW is below this fraction of X.
NOTHING = 1e-3


def climb(
    problem: Problem, A: np.ndarray, W: np.ndarray, log_variances: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Raise the bound by some iterations of L-BFGS-B over all centres and variances together.

    Parameters
    ----------
    A : (M, D, R), W : (M, R, N) centres ≥ 0. log_variances : (M,) log σ².

    Returns
    -------
    A, W, log_variances, bound: the bound is never below where it began.
    """
    M = A.shape[0]
    x = np.concatenate([A.ravel(), W.ravel(), log_variances])
    # The factors at one scale, so that one step size suits all: curvature differs by σ² only.
    limits = [(0.0, None)] * (x.size - M) + [(v - REACH, v + REACH) for v in log_variances]

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        parts = _apart(x, A.shape, W.shape)
        value, by_A, by_W, by_v = bound(problem, *parts)
        return -value, -np.concatenate([by_A.ravel(), by_W.ravel(), by_v])

    found = optimize.minimize(
        loss,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxiter": iterations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
    )
    return *_apart(found.x, A.shape, W.shape), -float(found.fun)


def spread(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    log_variances: np.ndarray,
    iterations: int,
    step: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Raise the bound under a flat likelihood: centres move along its slope while possible.

    The step is a part of a centre's standard deviation in every dimension; one that leaves the
    possible region, or lowers the bound, is halved. Variances stay as they are.
    """
    A, W = A.copy(), W.copy()
    M, size = A.shape[0], A[0].size
    lengths = step * np.exp(0.5 * log_variances) * np.sqrt(size + W[0].size)
    best = bound(problem, A, W, log_variances)[0]
    for _ in range(iterations):
        _, by_A, by_W, _ = bound(problem, A, W, log_variances)
        for m in range(M):
            norm = np.sqrt(np.vdot(by_A[m], by_A[m]) + np.vdot(by_W[m], by_W[m]))
            if norm == 0 or lengths[m] == 0:
                continue
            before, moved = (A[m].copy(), W[m].copy()), False
            for halving in range(HALVINGS):
                along = lengths[m] * 0.5**halving / norm
                A[m] = np.maximum(before[0] + along * by_A[m], 0.0)
                W[m] = np.maximum(before[1] + along * by_W[m], 0.0)
                possible = np.isfinite(problem.model.log_joint(problem, A[m : m + 1], W[m : m + 1]))
                now = bound(problem, A, W, log_variances)[0] if possible[0] else -np.inf
                if now > best:
                    best, moved = now, True
                    break
            if not moved:
                A[m], W[m] = before
                lengths[m] = 0.0
    return A, W, log_variances, float(best)


def bound(
    problem: Problem, A: np.ndarray, W: np.ndarray, log_variances: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The bound of equally weighted Gaussians, and its gradients in A, W and log σ²."""
    M, variances = A.shape[0], np.exp(log_variances)
    entropy, by_A, by_W, by_variances = _entropy(A, W, variances)
    log_joint, score_A, score_W = required(problem.model.log_joint_and_score)(problem, A, W)
    trace, trace_A, trace_W = required(problem.model.curvature)(problem, A, W)
    half = (0.5 * variances)[:, None, None]
    by_A += (score_A + half * trace_A) / M
    by_W += (score_W + half * trace_W) / M
    by_variances += 0.5 * trace / M
    value = entropy + float((log_joint + 0.5 * variances * trace).sum()) / M
    return value, by_A, by_W, by_variances * variances


def collapsed(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Which factorizations A (M, D, R), W (M, R, N) have A W = 0, nearly: (M,) bool.

    There Tr H = 0, and the bound grows with log σ² without end: the second-order energy leaves out
    that the posterior ends at 0. Such a component is one of nothing.
    """
    squared = np.einsum("mrs,mrs->m", A.transpose(0, 2, 1) @ A, W @ W.transpose(0, 2, 1))
    return squared < NOTHING**2 * problem.dataset.squared_norm


def _entropy(
    A: np.ndarray, W: np.ndarray, variances: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    # −(1/M) Σ_m log (1/M) Σ_j N(μ_m; μ_j, (σ_m² + σ_j²) I) and its gradients; with p_mj the part
    # of j in the sum of m, the pair (m, j) pushes both ends by (p_mj + p_jm)(μ_m − μ_j)/(M c).
    M = A.shape[0]
    centers = np.concatenate([A.reshape(M, -1), W.reshape(M, -1)], axis=1)
    d = centers.shape[1]
    moved = centers - centers.mean(axis=0)
    squares = np.vecdot(moved, moved)
    squared = np.maximum(squares[:, None] + squares - 2 * moved @ moved.T, 0.0)
    np.fill_diagonal(squared, 0.0)
    both = variances[:, None] + variances
    logs = log_kernel(squared, both, d)
    sums = logsumexp(logs, axis=1)
    shares = np.exp(logs - sums[:, None])
    pairs = (shares + shares.T) / (M * both)
    push = pairs.sum(axis=1)[:, None] * moved - pairs @ moved
    slopes = -0.5 * d / both + squared / (2 * both**2)
    by_variances = -((shares + shares.T) * slopes).sum(axis=1) / M
    size = A[0].size
    entropy = float(np.log(M) - sums.mean())
    return entropy, push[:, :size].reshape(A.shape), push[:, size:].reshape(W.shape), by_variances


def _apart(
    x: np.ndarray, shape_A: tuple[int, ...], shape_W: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second = int(np.prod(shape_A)), int(np.prod(shape_W))
    A = x[:first].reshape(shape_A)
    return A, x[first : first + second].reshape(shape_W), x[first + second :]
