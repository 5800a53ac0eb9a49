"""Jumps between modes where dimensions are many: a proposal annealed from near a mode up to π.

Around every mode k stands a product q_k of truncated normals, one an entry of A and W. A proposal
starts at a draw of q_k and goes through π_t ∝ q_k^(1−β_t) π^β_t, β from 0 to 1, by Gibbs sweeps
K_t, each exact for its π_t: an entry's conditional has the precision β·h + (1−β)/s² with h that of
the posterior's own. Along the way it collects the weight w = Π π_t(z_{t−1})/π_{t−1}(z_{t−1}) of
annealed importance sampling (Neal 2001).

Why the posterior is left invariant, whatever the q_k and however few the steps: let z_T, a label k
drawn with probability r_k(z_T) and a path drawn downwards by the time reversals L_t of the K_t have
the joint density π(z_T) r_k(z_T) Π L_t(z_{t−1} | z_t); its marginal in z_T is the posterior. The
jump first draws the label and the path anew given z_T, and then proposes all of it independently
from q_k(z_0) Π K_t(z_t | z_{t−1})/K with a uniform label. As L_t(a | b) = π_t(a) K_t(b | a)/π_t(b),
the ratio of both densities is K r_k(z_T) w, so min(1, r_k'(z'_T) w'/(r_k(z_T) w)) is a
Metropolis–Hastings step on that joint density (Andrieu, Doucet & Holenstein 2010, §2.4). A sweep
redraws the components of A in turn, then those of W; its reversal goes through them backwards.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, log_softmax

from bnmf_core.core.model import Conditionals, EntryPrior, given
from bnmf_core.core.problem import Problem
from bnmf_core.samplers.fitted_jump import LogJoint
from bnmf_core.samplers.truncated_normal import draw_factors_within
from bnmf_core.solvers.solution import gram, seen_grams

# The products are made this much wider than what was seen: too narrow a start misses more.
WIDER = 1.2


@dataclass(frozen=True)
class Anchors:
    """A product of truncated normals around each of K modes, and the powers on the way from it.

    center, precision : (K, R, D + N), of the normals before they are cut; A's entries before W's.
    powers : (T + 1,), from 0 to 1.
    """

    center: np.ndarray
    precision: np.ndarray
    powers: np.ndarray


def anchors(first: np.ndarray, second: np.ndarray, steps: int) -> Anchors:
    """From E m (K, R, D + N) and E (m² + v), m and v moments of entries' conditional normals."""
    variance = WIDER * (second - first**2)
    return Anchors(first, 1 / variance, np.linspace(0.0, 1.0, steps + 1))


def conditional_moments(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each entry's conditional normal, before it is cut: (c, R, D + N)."""
    drawn = _drawn(problem)
    sides = (
        (A, problem.times_rows(W), W, _seen(problem, rows=True), drawn.A),
        (W, problem.times_columns(A), A, _seen(problem, rows=False), drawn.W),
    )
    means, variances = [], []
    for F, C, other, seen, prior in sides:
        c, R, n = F.shape
        G = _column_grams(other, seen, n).reshape(R, R, c, n)
        own = np.einsum("rrcn->crn", G)
        pull = C - np.einsum("ckn,krcn->crn", F, G) + own * F - prior.rate * drawn.noise_variance
        precision = own + prior.precision * drawn.noise_variance
        # Where no seen entry uses a component only the prior is left, about as wide as its mean.
        free = precision <= 0
        width = 1 / prior.rate if prior.rate > 0 else 1.0
        means.append(np.where(free, width, pull / np.where(free, 1.0, precision)))
        variances.append(
            np.where(free, width**2, drawn.noise_variance / np.where(free, 1.0, precision))
        )
    return np.concatenate(means, axis=2), np.concatenate(variances, axis=2)


def jump(
    problem: Problem,
    log_joint: LogJoint,
    A: np.ndarray,
    W: np.ndarray,
    anchors: Anchors,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One proposal for every chain: new A (c, R, D), W (c, R, N) and accepted (c,) bool."""
    c, K = A.shape[0], anchors.center.shape[0]
    now = log_labels(problem, anchors, A, W)
    # The largest of log r + Gumbel noise is at k with probability r_k.
    label = np.argmax(now + rng.gumbel(size=now.shape), axis=1)
    _, _, log_w = _path(problem, log_joint, A, W, label, anchors, rng, upwards=False)
    proposed = rng.integers(K, size=(c,))
    start = _draw_products(problem, anchors, proposed, A.shape[2], rng)
    new_A, new_W, new_log_w = _path(
        problem, log_joint, *start, proposed, anchors, rng, upwards=True
    )
    chains = np.arange(c)
    gained = new_log_w + log_labels(problem, anchors, new_A, new_W)[chains, proposed]
    gained -= log_w + now[chains, label]
    accepted = np.log1p(-rng.random(c)) < gained
    chosen = accepted[:, None, None]
    return np.where(chosen, new_A, A), np.where(chosen, new_W, W), accepted


def log_labels(problem: Problem, anchors: Anchors, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """log r_k of each chain's place, (c, K): q_k as a part of the sum over all."""
    labels = range(anchors.center.shape[0])
    each = [log_product(problem, anchors, np.full(A.shape[0], k), A, W) for k in labels]
    found: np.ndarray = log_softmax(np.stack(each, axis=1), axis=1)
    return found


def log_product(
    problem: Problem, anchors: Anchors, label: np.ndarray, A: np.ndarray, W: np.ndarray
) -> np.ndarray:
    """log q_k of each chain's place under its own label k (c,): (c,)."""
    drawn, D = _drawn(problem), A.shape[2]
    center, root = anchors.center[label], np.sqrt(anchors.precision[label])
    result = np.zeros(A.shape[0])
    for F, part, prior in ((A, slice(0, D), drawn.A), (W, slice(D, None), drawn.W)):
        m, s = center[:, :, part], root[:, :, part]
        inside = log_ndtr(m * s)
        if np.isfinite(prior.largest):
            # log(Φ(b) − Φ(a)) with the side chosen on which both are small.
            low, high = -m * s, (prior.largest - m) * s
            turned = low > 0
            low, high = np.where(turned, -high, low), np.where(turned, -low, high)
            inside = log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))
        logs = np.log(s) - 0.5 * ((F - m) * s) ** 2 - 0.5 * np.log(2 * np.pi) - inside
        result += logs.sum(axis=(1, 2))
    return result


def _path(
    problem: Problem,
    log_joint: LogJoint,
    A: np.ndarray,
    W: np.ndarray,
    label: np.ndarray,
    anchors: Anchors,
    rng: np.random.Generator,
    upwards: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up from q_k to the posterior, or down by the reversed sweeps: A, W and log w (c,)."""
    log_w = np.zeros(A.shape[0])

    def height(A: np.ndarray, W: np.ndarray) -> np.ndarray:
        return log_joint(A.transpose(0, 2, 1), W) - log_product(problem, anchors, label, A, W)

    powers = anchors.powers
    steps = range(1, powers.size) if upwards else range(powers.size - 1, 0, -1)
    for t in steps:
        rise = powers[t] - powers[t - 1]
        if upwards:
            log_w += rise * height(A, W)
        A, W = _sweep(problem, A, W, label, anchors, powers[t], rng, upwards)
        if not upwards:
            log_w += rise * height(A, W)
    return A, W, log_w


def _sweep(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    label: np.ndarray,
    anchors: Anchors,
    power: float,
    rng: np.random.Generator,
    upwards: bool,
) -> tuple[np.ndarray, np.ndarray]:
    drawn, D = _drawn(problem), A.shape[2]
    center, precision = anchors.center[label], anchors.precision[label]

    def redraw(F: np.ndarray, C: np.ndarray, other: np.ndarray, rows: bool) -> np.ndarray:
        part = slice(0, D) if rows else slice(D, None)
        prior = drawn.A if rows else drawn.W
        G = _column_grams(other, _seen(problem, rows), F.shape[2])
        of_anchor = (1 - power) * drawn.noise_variance * precision[:, :, part]
        return _draw_entries(
            F,
            power * C + of_anchor * center[:, :, part],
            power * G,
            of_anchor + power * prior.precision * drawn.noise_variance,
            drawn.noise_variance,
            EntryPrior(power * prior.rate, largest=prior.largest),
            rng,
            upwards,
        )

    if upwards:
        A = redraw(A, problem.times_rows(W), W, rows=True)
        return A, redraw(W, problem.times_columns(A), A, rows=False)
    W = redraw(W, problem.times_columns(A), A, rows=False)
    return redraw(A, problem.times_rows(W), W, rows=True), W


def _draw_products(
    problem: Problem, anchors: Anchors, label: np.ndarray, D: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A draw of q_k for every label k (c,): A (c, R, D), W (c, R, N)."""
    drawn = _drawn(problem)
    center, precision = anchors.center[label], anchors.precision[label]
    result = []
    for part, prior in ((slice(0, D), drawn.A), (slice(D, None), drawn.W)):
        m, h = center[:, :, part], precision[:, :, part]
        c, R, n = m.shape
        nothing = np.zeros((R, R, c * n))
        free = EntryPrior(largest=prior.largest)
        result.append(_draw_entries(np.zeros(m.shape), h * m, nothing, h, 1.0, free, rng, True))
    return result[0], result[1]


def _draw_entries(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    diagonal: np.ndarray,
    variance: float,
    prior: EntryPrior,
    rng: np.random.Generator,
    forwards: bool,
) -> np.ndarray:
    """Redraw F (c, R, n), one component after the other, the columns of all chains side by side.

    C (c, R, n) linear terms, G (R, R, c·n) Gram matrices of the columns, to which ``diagonal``
    (c, R, n) is added; both in units of 1/``variance``.
    """
    c, R, n = F.shape
    order = np.arange(R) if forwards else np.arange(R)[::-1]

    def side_by_side(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values.transpose(1, 0, 2)[order]).reshape(R, c * n)

    flat = side_by_side(F)
    G = G[np.ix_(order, order)]
    G[np.arange(R), np.arange(R)] += side_by_side(diagonal)
    uniform = 1.0 - rng.random(flat.shape)  # in (0, 1]
    # The prior's precision is on the diagonal of G already.
    linear, precision = np.full(flat.shape, -prior.rate), np.zeros(flat.shape)
    products = side_by_side(C)
    draw_factors_within(flat, products, G, 1 / variance, linear, precision, prior.largest, uniform)
    return np.ascontiguousarray(flat[order].reshape(R, c, n).transpose(1, 0, 2))


def _drawn(problem: Problem) -> Conditionals:
    return given(problem.model.conditionals)(problem.model_settings)


def _seen(problem: Problem, rows: bool) -> np.ndarray | None:
    """Where X was seen, the lines of the other factor first; None where all of it was."""
    seen = problem.seen
    return seen.T if rows and seen is not None else seen


def _column_grams(other: np.ndarray, seen: np.ndarray | None, n: int) -> np.ndarray:
    """The Gram matrix of the other factor (c, R, k) for each of n columns: (R, R, c·n)."""
    if seen is None:
        return np.repeat(gram(other).transpose(1, 2, 0), n, axis=2)
    parts = [G for one in other for _, G in seen_grams(one, seen)]
    return np.concatenate(parts, axis=2)
