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
many thousands of products or stop in a flat valley, far from its end: on Samson at R = 6, none of
eight restarts converged in 10,000 iterations, and now all do, in a seventh of the time; at R = 3,
where 60 restarts that counted as converged lay in 6 modes, all come to one, in 1.3 times the time.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from bnmf_core.core.problem import Problem
from bnmf_core.solvers.nnls import improve_columns
from bnmf_core.solvers.reduced import EMPTY, TRIALS, inverses, moments

# Columns for each row from which on this is worth it, as a round takes little longer with more of
# them, and the largest table S.
LONG, LARGEST = 50, 600
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
    least: ClassVar[float] = LEAST

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

    def again(self, F: np.ndarray, H: np.ndarray, half: float) -> LongPoint:
        """A point that was left at these factors."""
        return LongPoint(F, H, F @ F.T, half)

    def at(self, F: np.ndarray, H: np.ndarray) -> LongPoint:
        """The point with this shorter factor (R, s), found from H (R, n)."""
        length = np.sqrt(np.einsum("rs,rs->r", F, F))[:, None]
        F = np.divide(F, length, out=np.zeros_like(F), where=length > 0.0)
        gram = F @ F.T
        forth = self.problem.times_rows if self.turned else self.problem.times_columns
        linear = forth(F[None])[0]
        weights = np.ascontiguousarray(H.T)
        sets, kind = _alike(H > 0.0)
        target = np.ascontiguousarray(linear.T)
        improve_columns(gram, target, weights, inverses(gram, sets, ROUNDING), kind)
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
        sets, kind = _alike(H > 0.0)
        weighed = inverses(point.gram, sets, ROUNDING).reshape(-1, R * R)
        # Columns of one kind side by side: one product for each.
        order = np.argsort(kind, kind="stable")
        v = np.vstack([H[:, order], -self.V[:, order]])
        ends = np.cumsum(np.bincount(kind))[:-1]
        squares = np.array([part @ part.T for part in np.split(v, ends, axis=1)])
        # Σ_j G_j⁻¹[k, l] v_j[i] v_j[m], in (k, l, i, m).
        T = (weighed.T @ squares.reshape(-1, J * J)).reshape(R, R, J, J)
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
    sets, kind = _alike(free)
    blocks = inverses(P, sets, ROUNDING)
    # Σ_i P_i⁻¹[r, t] b_i[j] b_i[k], in (r, j, t, k).
    taken = blocks.reshape(-1, R * R).T @ moments(B, kind, len(sets)).reshape(-1, J * J)
    K = taken.reshape(R, R, J, J).transpose(0, 2, 1, 3).reshape(R * J, R * J)
    each = blocks[kind]
    K[np.diag_indices_from(K)] += ROUNDING * np.trace(K) / (R * J)
    try:
        L = np.linalg.cholesky(K)
        inner = linalg.cho_factor(np.eye(R * J) - L.T @ S @ L, lower=True)
    except np.linalg.LinAlgError:
        return None
    first = np.einsum("irt,ti->ri", each, right)
    z = S @ (first @ B.T).ravel()
    z += S @ (L @ linalg.cho_solve(inner, L.T @ z))
    return first + np.einsum("irt,ti->ri", each, z.reshape(R, J) @ B)


def _alike(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different columns of flags (R, n), one in each row of (k, R), and each one's row (n,)."""
    # Sixteen bits hold any set of components of a table that suits, and are sorted fastest.
    code = ((1 << np.arange(flags.shape[0])) @ flags).astype(np.int16)
    _, first, kind = np.unique(code, return_index=True, return_inverse=True)
    return flags[:, first].T.copy(), kind
