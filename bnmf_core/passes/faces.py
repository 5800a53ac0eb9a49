"""Newton steps of the squared error over blocks, by Gauss and Newton.

As a function of A alone, F(A) = min over W ≥ 0 of ‖X − AW‖² has about the Hessian
V ↦ 2 Σ_n P_n V w_n w_nᵀ, where P_n takes away what lies in the span of the components that
observation n uses (Kaufman 1975). Observations that use the same ones share a face f, and with
K_f = (A_fᵀA_f)⁻¹ the sum is

    V ↦ 2 (V WWᵀ − A Σ_f K_f AᵀV W_fW_fᵀ),

of which one pass adds up the R² × R² numbers that do not depend on V. What residuals add to the
Hessian is left out, so a step tells where to go, but not surely how much is left.
"""

from dataclasses import dataclass

import numba
import numpy as np

from bnmf_core.passes.certificate import NewtonStep
from bnmf_core.solvers.second_order import SURE, SURE_PRODUCTS, newton_direction

# Maximum number of components: more have too many faces.
MOST_COMPONENTS = 16
# A part of the diagonal that is added to A_fᵀA_f, whose components may be alike.
RIDGE = 1e-10


@dataclass(frozen=True, eq=False)
class Bases:
    """F as a function of flat bases (1, D·R), near A (D, R); see :func:`newton_direction`.

    curvature : WWᵀ (R, R). shared : (R², R²), see :func:`on_faces`.
    """

    A: np.ndarray
    curvature: np.ndarray
    shared: np.ndarray

    @property
    def movable(self) -> np.ndarray:
        """All entries."""
        return np.ones((1, self.A.size), dtype=bool)

    def of(self, index: np.ndarray) -> "Bases":
        """The same object, as it has one particle."""
        return self

    def hessian_times(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """(1, D·R)."""
        V = d.reshape(self.A.shape)
        removed = (self.shared @ (self.A.T @ V).ravel()).reshape(self.curvature.shape)
        return (2.0 * (V @ self.curvature - self.A @ removed)).reshape(1, -1)

    def off_scales(
        self, x: np.ndarray, free: np.ndarray, r: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """r/c; along the scales of components this Hessian is 0, and so is r."""
        return r / c


def on_faces(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Σ over faces of K_f ⊗ W_fW_fᵀ, (R², R²), of A (R, D) and the best weights W (R, n)."""
    R = len(W)
    codes, face = np.unique((1 << np.arange(R)) @ (W > 0), return_inverse=True)
    inside = (codes[:, None] >> np.arange(R)) & 1 == 1
    both = inside[:, :, None] & inside[:, None, :]
    gram, eye = A @ A.T, np.eye(R)
    inverse = np.linalg.inv(np.where(both, gram * (1.0 + RIDGE * eye), eye)) * both
    weights = _outer_products(W, face, len(codes))
    each = inverse.reshape(len(codes), -1).T @ weights.reshape(len(codes), -1)
    # Rows laid end to end, T ↦ K T M is the matrix K ⊗ M, as M is symmetric.
    found = each.reshape(R, R, R, R).transpose(0, 2, 1, 3).reshape(R * R, R * R)
    return np.ascontiguousarray(found)


@numba.njit(cache=True, nogil=True)
def _outer_products(W: np.ndarray, face: np.ndarray, count: int) -> np.ndarray:
    R, n = W.shape
    found = np.zeros((count, R, R))
    for k in range(n):
        for r in range(R):
            if W[r, k] > 0.0:
                for s in range(R):
                    found[face[k], r, s] += W[r, k] * W[s, k]
    return found


def step_on_faces(
    A: np.ndarray, slope: np.ndarray, curvature: np.ndarray, shared: np.ndarray, radius: float
) -> NewtonStep:
    """A Newton step from A (R, D).

    slope : (R, D), half the derivative of the loss. curvature, shared : see :class:`Bases`.
    radius : the longest step in the norm of the curvatures.
    """
    R, D = A.shape
    view = Bases(A.T.copy(), curvature, shared)
    bend = np.maximum(np.diag(curvature), np.finfo(float).eps * np.trace(curvature))
    x, g, c = view.A.reshape(1, -1), 2.0 * slope.T.reshape(1, -1), np.tile(2.0 * bend, D)[None]
    found = newton_direction(view, x, g, c, np.full(1, radius), SURE, np.array([SURE_PRODUCTS]))
    after = np.maximum(x + found.d, 0.0).reshape(D, R).T
    promised, length = float(found.promised[0]), float(found.length[0])
    return NewtonStep(np.ascontiguousarray(after), promised, length, bool(found.solved[0]))
