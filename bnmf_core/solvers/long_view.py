"""Variable projection where X has many more columns than rows, or rows than columns.

The error as a function of the shorter factor alone, φ(F), is that of :mod:`projection`; what is
here is its quadratic where F has too many entries for a table of second derivatives. With X ≈ U V
(K rows in V) and B = (F; Uᵀ), a change d of F matters for the longer factor only by d Bᵀ, which are
R (R + K) numbers however long a row of F is:

    ∇²φ = (H Hᵀ) ⊗ I − (I ⊗ B)ᵀ S (I ⊗ B),

with S from the residual's coefficients v_j = (h_j; −v_j) in B and, for each column j, the inverse
of FFᵀ on the components that its weights are not 0 of. Columns with the same zeros go together, so
that S takes as many terms as there are sets of zeros, and systems with ∇²φ are solved by the
identity of Sherman, Morrison & Woodbury: no table is larger than R (R + K) square.

In a long X thousands of weights come to 0 or leave it in one step, so that the quadratic of both
factors holds only very near to where it was made, and conjugate gradients (``newton``) either take
many thousands of products or stop in a flat valley, far from its end: on Samson at R = 6, 5 % of
restarts converged in 10,000 iterations and now all do, in a quarter of the time; at R = 3, where 60
restarts that counted as converged lay in 6 modes, all come to one, in twice the time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bnmf_core.nouns.problem import Problem
from bnmf_core.solvers.nnls import improve_columns
from bnmf_core.solvers.reduced import EMPTY, TRIALS

# Columns for each row from which on this is worth it, as a round takes little longer with more of
# them, and the largest table S.
LONG, LARGEST = 50, 250
# Damping, at least: valleys are long here, and the quadratic is that of thousands of columns.
LEAST = 1e-8
# What is added to a Gram matrix so that rounding leaves it positive definite.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LongPoint:
    """A factorization whose longer factor is the best for the shorter one.

    F : (R, s), rows of length 1. H : (R, n). gram : FFᵀ (R, R). half : φ(F).
    """

    F: np.ndarray
    H: np.ndarray
    gram: np.ndarray
    half: float


@dataclass(frozen=True, eq=False)
class LongModel:
    """The quadratic of φ at a point.

    second : H Hᵀ (R, R). gradient : (R, s). B : (R + K, s). S : (R (R + K), R (R + K)).
    """

    second: np.ndarray
    gradient: np.ndarray
    B: np.ndarray
    S: np.ndarray

    def times(self, d: np.ndarray) -> np.ndarray:
        """∇²φ d, for d (R, s)."""
        taken = self.S @ (d @ self.B.T).ravel()
        return self.second @ d - taken.reshape(d.shape[0], -1) @ self.B


def suits(problem: Problem) -> bool:
    """Whether this is the way to take: X is whole, compressed and long, R is small, none held."""
    if problem.compression_rank is None or problem.seen is not None or problem.held is not None:
        return False
    shorter, longer = sorted((problem.dataset.D, problem.dataset.N))
    return longer >= LONG * shorter and table(problem) <= LARGEST


def table(problem: Problem) -> int:
    """R (R + K), the size of S."""
    return problem.rank * (problem.rank + (problem.compression_rank or 0))


@dataclass(frozen=True, eq=False)
class LongView:
    """X (s, n) with its shorter side first, by its products alone. U : (K, s), V : (K, n)."""

    problem: Problem
    U: np.ndarray
    V: np.ndarray
    turned: bool

    @classmethod
    def of(cls, problem: Problem) -> "LongView":
        """X of a problem, compressed as for the approach: second derivatives need not be exact."""
        turned = problem.dataset.D > problem.dataset.N
        packed = problem.compression
        shorter = np.asarray(packed.V if turned else packed.U, dtype=np.float64)
        # Valleys are so flat that single precision would have them rise.
        U = np.ascontiguousarray(np.linalg.qr(shorter)[0].T)
        forth = problem.times_rows if turned else problem.times_columns
        return cls(problem, U, forth(U[None])[0], turned)

    def factors(self, point: LongPoint) -> tuple[np.ndarray, np.ndarray]:
        """A (1, R, D), W (1, R, N)."""
        A, W = (point.H, point.F) if self.turned else (point.F, point.H)
        return A[None], W[None]

    @property
    def least(self) -> float:
        """Damping, at least."""
        return LEAST

    def again(self, F: np.ndarray, H: np.ndarray, half: float) -> LongPoint:
        """A point that was left at these factors."""
        return LongPoint(F, H, F @ F.T, half)

    def at(self, F: np.ndarray, H: np.ndarray) -> LongPoint:
        """The point with this shorter factor (R, s), found from H (R, n)."""
        length = np.sqrt(np.einsum("rs,rs->r", F, F))[:, None]
        F = np.divide(F, length, out=np.zeros_like(F), where=length > 0.0)
        gram = F @ F.T
        linear = self._times(F)
        weights = np.ascontiguousarray(H.T)
        inverses: list[np.ndarray] = []
        kind = np.empty(weights.shape[0], np.int64)
        for free, columns in _alike(H > 0.0):
            kind[columns] = len(inverses)
            inverses.append(_inverse(gram, free))
        target = np.ascontiguousarray(linear.T)
        improve_columns(gram, target, weights, np.array(inverses), kind)
        H = np.ascontiguousarray(weights.T)
        squared = self.problem.dataset.squared_norm - 2.0 * np.vdot(H, linear)
        squared += np.vdot(gram, H @ H.T)
        return LongPoint(F, H, gram, 0.5 * max(float(squared), 0.0))

    def model(self, point: LongPoint) -> LongModel:
        """The quadratic at a point; along F_r, where only lengths change, it has curvature."""
        F, H = point.F, point.H
        R = F.shape[0]
        B = np.vstack([F, self.U])
        J = B.shape[0]
        inverses, moments = [], []
        for free, columns in _alike(H > 0.0):
            v = np.vstack([H[:, columns], -self.V[:, columns]])
            moments.append((v @ v.T).ravel())
            inverses.append(_inverse(point.gram, free).ravel())
        # Σ_j G_j⁻¹[k, l] v_j[i] v_j[m], in (k, l, i, m).
        T = (np.array(inverses).T @ np.array(moments)).reshape(R, R, J, J)
        S = T.transpose(0, 2, 1, 3).copy()
        mixed = T[:, :, :R].transpose(2, 0, 1, 3)
        S[:, :R] += mixed
        S[:, :, :, :R] += mixed.transpose(2, 3, 0, 1)
        S[:, :R, :, :R] += T[:, :, :R, :R].transpose(2, 0, 3, 1)
        second = H @ H.T
        for r in range(R):
            S[r, r, r, r] -= second[r, r]
        back = self.problem.times_columns if self.turned else self.problem.times_rows
        return LongModel(second, second @ F - back(H[None])[0], B, S.reshape(R * J, R * J))

    def minimum(
        self, model: LongModel, F: np.ndarray, damping: float
    ) -> tuple[np.ndarray, float, bool]:
        """See :func:`bnmf_core.solvers.reduced.bounded_minimum`."""
        curvature = np.diag(model.second)[:, None]
        left = np.broadcast_to(curvature <= EMPTY * curvature.max(), F.shape)
        held = F * curvature <= model.gradient
        for _ in range(TRIALS):
            free = ~held & ~left
            d = np.where(held & ~left, -F, 0.0)
            moved = _solved(
                model, np.where(free, -model.gradient - model.times(d), 0.0), damping, free
            )
            if moved is None:
                return F.copy(), 0.0, False
            d = np.where(free, moved, d)
            slope = model.gradient + model.times(d) + damping * curvature * d
            now = np.where(left, held, np.where(held, slope > 0.0, F + d < 0.0))
            if np.array_equal(now, held):
                break
            held = now
        reached = np.maximum(F + d, 0.0)
        d = reached - F
        promised = -np.vdot(d, model.gradient + 0.5 * model.times(d))
        return reached, float(promised), True

    def _times(self, F: np.ndarray) -> np.ndarray:
        forth = self.problem.times_rows if self.turned else self.problem.times_columns
        return forth(F[None])[0]


def _solved(
    model: LongModel, right: np.ndarray, damping: float, free: np.ndarray
) -> np.ndarray | None:
    """(∇²φ + damping · its diagonal without S)⁻¹ on the free entries, of ``right`` (R, s).

    With P the part without S, P⁻¹ has a block for each column of F. K = B P⁻¹ Bᵀ = L Lᵀ, and the
    whole is positive definite where I − LᵀSL is; None where it is not.
    """
    R, B, S = right.shape[0], model.B, model.S
    J = B.shape[0]
    P = model.second + damping * np.diag(np.diag(model.second))
    blocks = np.empty((R, R, right.shape[1]))
    for some, columns in _alike(free):
        blocks[:, :, columns] = _inverse(P, some)[:, :, None]
    parts = np.empty((R, J, R, J))
    for r in range(R):
        for t in range(r + 1):
            parts[r, :, t] = parts[t, :, r] = (B * blocks[r, t]) @ B.T
    K = parts.reshape(R * J, R * J)
    K[np.diag_indices_from(K)] += ROUNDING * np.trace(K) / (R * J)
    try:
        L = np.linalg.cholesky(K)
        inner = linalg.cho_factor(np.eye(R * J) - L.T @ S @ L, lower=True)
    except np.linalg.LinAlgError:
        return None
    first = np.einsum("rti,ti->ri", blocks, right)
    z = S @ (first @ B.T).ravel()
    z += S @ (L @ linalg.cho_solve(inner, L.T @ z))
    return first + np.einsum("rti,ti->ri", blocks, z.reshape(R, J) @ B)


def _alike(flags: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each different column of flags (R, n), (R,), and which columns are like it."""
    # Sixteen bits hold any set of components of a table that suits, and are sorted fastest.
    code = ((1 << np.arange(flags.shape[0])) @ flags).astype(np.int16)
    order = np.argsort(code, kind="stable")
    for columns in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        yield flags[:, columns[0]], columns


def _inverse(G: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The inverse of G (R, R) on the free components, 0 elsewhere."""
    result = np.zeros_like(G)
    some = np.ix_(free, free)
    if free.any():
        result[some] = np.linalg.pinv(G[some], rcond=ROUNDING, hermitian=True)
    return result
