"""Kernels on many small posteriors at once, each with its own X, and wrong ones on purpose.

What the proofs of several samplers share: problems with an X for every chain, prior draws, and a
``Kernel`` that moves θ given X.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import stein_direction
from bnmf_core.likelihoods import gaussian, gaussian_simplex
from bnmf_core.samplers import (
    annealed_jump,
    fitted_jump,
    gibbs,
    hamiltonian,
    metropolis,
    scale_move,
)
from bnmf_core.samplers.coordinates import EntryCoordinates, SimplexCoordinates

D, N, R = 4, 3, 2
SIGMA, RATE = 1.0, 1.0
MODELS = {"positive": gaussian.MODEL, "simplex": gaussian_simplex.MODEL}


def make_problem(X, rank, sigma=1.0, rate=1.0, model=gaussian.MODEL) -> Problem:
    """One problem with all settings fixed; X may have negative entries."""
    dataset = Dataset(X, "matrix", ("feature",) * X.shape[0], ("observation",) * X.shape[1])
    return Problem(dataset, model, model.Settings(sigma=sigma, rate=rate), rank)


def many_problems(X, rank, model, sigma=SIGMA, rate=RATE, mask=None):
    """Stands in for a Problem where chain c has its own X[c]: X (c, D, N), one mask for all."""
    seen = np.ones(X.shape[1:]) if mask is None else mask.astype(float)
    X = X * seen
    observed = int(seen.sum())
    return SimpleNamespace(
        dataset=SimpleNamespace(
            D=X.shape[1],
            N=X.shape[2],
            missing=seen.size - observed,
            observed=observed,
            squared_norm=(X**2).sum(axis=(1, 2)),
        ),
        seen=seen,
        model=model,
        model_settings=model.Settings(sigma=sigma, rate=rate),
        rank=rank,
        packed=None,
        times_rows=lambda W: W @ X.transpose(0, 2, 1),
        times_columns=lambda A: A @ X,
    )


def draw_joint(support, draws, rng, shape=(D, N, R), sigma=SIGMA, rate=RATE):
    """θ from the prior and X from the likelihood: A (draws, D, R), W (draws, R, N), X."""
    d, n, r = shape
    A = rng.exponential(1 / rate, (draws, d, r))
    if support == "simplex":
        A /= A.sum(axis=1, keepdims=True)
    W = rng.exponential(1 / rate, (draws, r, n))
    return A, W, A @ W + sigma * rng.standard_normal((draws, d, n))


@dataclass(frozen=True)
class Kernel:
    """``move(A, W, X, rng, times) → A, W``: so many updates of every chain's θ given its X.

    ``back`` is its time reversal. ``mask`` (D, N): the entries of X that it has seen.
    """

    support: str
    move: Callable
    back: Callable
    mask: np.ndarray = field(default_factory=lambda: np.ones((D, N), dtype=bool))


def gibbs_kernel(assumed_rate=RATE, mask=None, zeros=False) -> Kernel:
    """Gibbs sweeps that believe in the rate; 0 is the mutant without λ.

    With a mask, ``zeros`` is the mutant that takes an unseen entry for a zero that was seen.
    """

    def move(A, W, X, rng, times):
        believed = mask
        if mask is not None and X.shape[1:] != mask.shape:
            believed = mask.T
        if zeros:
            X, believed = X * believed, None
        problem = many_problems(X, A.shape[2], gaussian.MODEL, SIGMA, assumed_rate, believed)
        A = np.ascontiguousarray(A.transpose(0, 2, 1))
        for _ in range(times):
            A, W = gibbs.sweep(problem, A, W, rng)
        return A.transpose(0, 2, 1), W

    def back(A, W, X, rng, times):
        """W before A, and the components from the last to the first."""

        def turned(F):
            return F.transpose(0, 2, 1)

        W, A = move(turned(W)[:, :, ::-1], turned(A)[:, ::-1], turned(X), rng, times)
        return turned(A)[:, :, ::-1], turned(W)[:, ::-1]

    return Kernel("positive", move, back) if mask is None else Kernel("positive", move, back, mask)


def of_bases(move):
    """The move of a Kernel, from one of A (c, R, D) and W of many problems."""

    def moved(A, W, X, rng, times):
        problem = many_problems(X, A.shape[2], gaussian.MODEL)
        A = np.ascontiguousarray(A.transpose(0, 2, 1))
        for _ in range(times):
            A, W = move(problem, X, A, W, rng)
        return A.transpose(0, 2, 1), W

    return moved


def log_joint_of(X):
    """Log joints of chains that each have their own X (c, D, N), up to a constant."""

    def log_joint(A, W):
        squared = ((X - A @ W) ** 2).sum(axis=(1, 2))
        return -squared / (2 * SIGMA**2) - RATE * (A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))

    return log_joint


def tempered_kernel(power=0.3, told=True) -> Kernel:
    """Gibbs at a power of the likelihood of less noise: the posterior is that of noise σ.

    Unless ``told``, the sweep takes the noise as it is.
    """

    def move(problem, X, A, W, rng):
        problem.model_settings = gaussian.Settings(sigma=SIGMA * power**0.5, rate=RATE)
        variance = SIGMA**2 * power
        return gibbs.sweep(problem, A, W, rng, variance / power if told else None)

    return Kernel("positive", of_bases(move), of_bases(move))


def scale_kernel() -> Kernel:
    """Moves along the scale of each component; alone they keep AW as it is."""

    def move(problem, X, A, W, rng):
        return scale_move.move(problem, A, W, rng)[:2]

    return Kernel("positive", of_bases(move), of_bases(move))


def fitted_kernel() -> Kernel:
    """Jumps by a mixture of two t that is fitted to none of the posteriors."""
    rng = np.random.default_rng(6)
    size = R * (D + N)
    centers = rng.uniform(-0.9, 0.1, (2, size))
    noise = 0.1 * rng.standard_normal((2, size, size))
    roots = np.linalg.cholesky(0.8 * np.eye(size) + noise @ noise.transpose(0, 2, 1))
    modes = fitted_jump.FittedModes(centers, roots)

    def move(problem, X, A, W, rng):
        for _ in range(30):  # few are accepted
            A, W, _ = fitted_jump.jump(log_joint_of(X), A, W, modes, rng)
        return A, W

    return Kernel("positive", of_bases(move), of_bases(move))


class Raised(annealed_jump.Anchors):
    """A constant that weights have in common, which must not count."""

    def bridge(self, problem, label):
        bridge = super().bridge(problem, label)
        vars(bridge.posterior)["constant"] = 20.0
        return bridge


def annealed_kernel(steps=2) -> Kernel:
    """Jumps annealed from products, three of them the same, fitted to none of the posteriors."""
    rng = np.random.default_rng(7)
    mean = rng.uniform(-0.5, 0.5, (2, R, D + N)) + np.array([-0.5, 0.8])[:, None, None]
    variance = 1.0 / rng.uniform(0.5, 1.0, mean.shape)
    alike = [0, 0, 0, 1]
    anchors = Raised(mean[alike], variance[alike], np.linspace(0, 1, steps + 1))

    def move(problem, X, A, W, rng):
        problem.seen = None  # sums over all entries, each chain with its own X
        return annealed_jump.jump(problem, A, W, anchors, rng)[:2]

    return Kernel("positive", of_bases(move), of_bases(move))


def chart_of(support, rows=D, unit=1.5):
    return EntryCoordinates(rows) if support == "positive" else SimplexCoordinates(rows, unit)


def flat_density(chart):
    """The density that the change of variables alone gives: the Jacobian and its gradient."""

    def nothing(problem, A, W):
        return np.zeros(A.shape[0]), np.zeros_like(A), np.zeros_like(W)

    return chart.density(SimpleNamespace(model=SimpleNamespace(log_joint_and_score=nothing)))


def hmc_kernel(
    support,
    step=None,
    leapfrogs=8,
    jacobian=True,
    accept=True,
    wall="reflect",
    rate=RATE,
    model=None,
    settings=None,
) -> Kernel:
    """HMC and its mutants: no Jacobian, no accept step, another wall.

    At the wall "keep" reflects the place but not the momentum, "clamp" stops at zero. ``model``
    with its ``settings``: another one than that of Gaussian noise.
    """
    step = {"positive": 0.25, "simplex": 0.3}[support] if step is None else step

    def move(A, W, X, rng, times):
        chart = chart_of(support, X.shape[1])
        problem = many_problems(X, A.shape[2], MODELS[support], rate=rate)
        if model is not None:
            problem.model, problem.model_settings = model, settings
        full = chart.density(problem)
        jacobian_only = flat_density(chart)

        def without_jacobian(q):
            return tuple(
                whole - part for whole, part in zip(full(q), jacobian_only(q), strict=True)
            )

        density = full if jacobian else without_jacobian
        reflected = chart.reflected if wall == "reflect" else None
        if wall != "reflect":
            sound = density

            def density(q):
                place = q[..., chart.reflected]
                place[...] = np.abs(place) if wall == "keep" else np.maximum(place, 0)
                return sound(q)

        q = chart.to_position(A, W)
        point = hamiltonian.Point(q, *density(q))
        steps = np.full(A.shape[0], step)
        for _ in range(times):
            if accept:
                point = hamiltonian.transition(
                    density, point, steps, rng, reflected, leapfrogs
                ).point
            else:
                momentum = rng.standard_normal(q.shape)
                point, _ = hamiltonian.leapfrog(
                    density, point, momentum, steps, leapfrogs, reflected
                )
        return chart.to_factors(point.q)

    return Kernel(support, move, move)  # fresh momenta and an accept step make it reversible


def metropolis_kernel(support, step=0.35, jacobian=True, accept=True, wall=True) -> Kernel:
    """Random-walk proposals and their mutants: no Jacobian, none rejected, a wall that clamps."""

    def move(A, W, X, rng, times):
        chart = chart_of(support, X.shape[1])
        full = chart.density(many_problems(X, A.shape[2], MODELS[support]))
        jacobian_only = flat_density(chart)

        def density(q):
            if not wall:
                np.maximum(q[..., chart.reflected], 0, out=q[..., chart.reflected])
            value, gradient = full(q)
            return value if jacobian else value - jacobian_only(q)[0], gradient

        q = chart.to_position(A, W)
        point = hamiltonian.Point(q, *density(q))
        steps = np.full(A.shape[0], step)
        for _ in range(10 * times):  # one moves little
            reflected = chart.reflected if wall else None
            if accept:
                point = metropolis.move(density, point, steps, rng, reflected).point
            else:
                q = point.q + step * rng.standard_normal(point.q.shape)
                point = hamiltonian.Point(q, *density(q))
        return chart.to_factors(point.q)

    return Kernel(support, move, move)


def stein_discrepancy(positions, scores, dimensions, lengths, exponent) -> float:
    """S = (1/M²) Σ_ij K_p(x_i, x_j), of which ``discrepancy_gradient`` is the gradient."""
    M, B, b = positions[0].shape[0], len(positions), exponent
    bases = stein_direction._bases(positions, lengths)
    inner = np.sum([s @ s.T for s in scores], axis=0)
    total = float((inner * np.sum([base**b for base in bases], axis=0)).sum())
    for x, s, dimension, length, base in zip(
        positions, scores, dimensions, lengths, bases, strict=True
    ):
        mixed = s @ (x - x.mean(axis=0)).T
        own = np.diagonal(mixed)
        first = (2 * b / length**2) * base ** (b - 1)
        across = mixed + mixed.T - own[:, None] - own
        total += (first * (across - dimension - 2 * (b - 1) * (1 - 1 / base))).sum()
    return float(total) / (B * M**2)
