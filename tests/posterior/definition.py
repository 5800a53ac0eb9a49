"""Stein kernels by their definition, pair by pair, with derivatives that are exact."""

from dataclasses import dataclass

import numpy as np

from bnmf_core import registry

SIGMA, RATE, EPSILON, C = 0.7, 1.3, 0.5, 2.0
MODEL_SETTINGS = {
    "gaussian": {"sigma": SIGMA, "rate": RATE},
    "gaussian_simplex": {"sigma": SIGMA, "rate": RATE},
    "silf": {"epsilon": EPSILON, "rate": RATE, "C": C},
}


@dataclass
class Twice:
    """A number with exact derivatives along two directions and both: value, a, b, ab."""

    value: float
    a: float = 0.0
    b: float = 0.0
    ab: float = 0.0

    def __add__(self, other):
        a, b, ab = self.a + other.a, self.b + other.b, self.ab + other.ab
        return Twice(self.value + other.value, a, b, ab)

    def __sub__(self, other):
        return self + Twice(-other.value, -other.a, -other.b, -other.ab)

    def __mul__(self, other):
        return Twice(
            self.value * other.value,
            self.a * other.value + self.value * other.a,
            self.b * other.value + self.value * other.b,
            self.ab * other.value + self.a * other.b + self.b * other.a + self.value * other.ab,
        )

    def power(self, p):
        first = p * self.value ** (p - 1)
        second = p * (p - 1) * self.value ** (p - 2)
        mixed = first * self.ab + second * self.a * self.b
        return Twice(self.value**p, first * self.a, first * self.b, mixed)


def naive_kernel(x, y, sizes, lengths, exponent):
    """Eq. 7 for lists of numbers; sizes: how many belong to each block."""
    total, start = Twice(0.0), 0
    for size, length in zip(sizes, lengths, strict=True):
        u = Twice(0.0)
        for one, other in zip(x[start : start + size], y[start : start + size], strict=True):
            u = u + (one - other) * (one - other)
        gamma = Twice(length**2).power(exponent)
        total = total + (u + Twice(length**2)).power(exponent) * Twice(0.5 / gamma.value)
        start += size
    return total


def naive_stein(x, y, score_x, score_y, sizes, lengths, exponent):
    """Eq. 3, with derivatives of the kernel that are exact by construction."""
    total = 0.0
    for i in range(x.size):
        moved_x = [Twice(value, a=float(i == j)) for j, value in enumerate(x)]
        moved_y = [Twice(value, b=float(i == j)) for j, value in enumerate(y)]
        k = naive_kernel(moved_x, moved_y, sizes, lengths, exponent)
        total += score_x[i] * score_y[i] * k.value + score_y[i] * k.a + score_x[i] * k.b + k.ab
    return total


def helmert(D):
    """(D − 1, D) orthonormal rows that sum to 0: a basis of the log-ratios."""
    rows = np.array([[1.0] * k + [-float(k)] + [0.0] * (D - k - 1) for k in range(1, D)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def naive_places(X, A, W, model, form):
    """Free coordinates of one particle and the score there by the complex step."""
    (D, R), N = A.shape, W.shape[1]
    simplex = registry.model(model).support_A == "simplex"
    basis = helmert(D)

    def factors(q):
        if form == "paper":
            return q[: D * R].reshape(D, R), q[D * R :].reshape(R, N)
        if simplex:
            x = np.exp(basis.T @ q[: (D - 1) * R].reshape(D - 1, R))
            return x / x.sum(axis=0), np.exp(q[(D - 1) * R :].reshape(R, N))
        return np.exp(q[: D * R].reshape(D, R)), np.exp(q[D * R :].reshape(R, N))

    def log_density(q):
        a, w = factors(q)
        f = ((X - a @ w) ** 2).sum()
        # For the threshold model: f is above (1 + β)ε in these tests.
        log_p = -C * (f - EPSILON) if model == "silf" else -f / (2 * SIGMA**2)
        log_p -= RATE * w.sum()
        if not simplex:
            log_p -= RATE * a.sum()
        if form == "interior":
            log_p += np.log(a).sum() + np.log(w).sum()
        return log_p

    if form == "paper":
        q = np.concatenate([A.ravel(), W.ravel()])
    elif simplex:
        q = np.concatenate([(basis @ np.log(A)).ravel(), np.log(W).ravel()])
    else:
        q = np.log(np.concatenate([A.ravel(), W.ravel()]))
    unit = 1e-30j * np.eye(q.size)
    score = np.array([log_density(q + step).imag / 1e-30 for step in unit])
    return q, score, (q.size - R * N, R * N)
