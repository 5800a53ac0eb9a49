"""Distance of a factorization from a stationary point of its squared error."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.problem import Problem


@dataclass(frozen=True, eq=False)
class Slopes:
    """½‖X − AW‖² over the seen entries of X, and its derivatives, of m factorizations.

    Attributes
    ----------
    squared_error : (m,) ‖X − AW‖², twice that. A : (m, R, D), W : (m, R, N) gradients.
    curvature_A, curvature_W : second derivatives by each entry, (m, R, D or 1), (m, R, N or 1).
    gram_A, gram_W : (m, R, R), A Aᵀ and W Wᵀ; with gaps times the seen part of the entries.
    residual : (m, D, N), S ∘ (AW) − X, S = 1 where X was seen; (m, 0, 0) without gaps.
    """

    squared_error: np.ndarray
    A: np.ndarray
    W: np.ndarray
    curvature_A: np.ndarray
    curvature_W: np.ndarray
    gram_A: np.ndarray
    gram_W: np.ndarray
    residual: np.ndarray


def slopes(
    problem: Problem, A: np.ndarray, W: np.ndarray, linear_W: np.ndarray | None = None
) -> Slopes:
    """Derivatives at A (m, R, D), W (m, R, N); ``linear_W`` is AᵀX (m, R, N) where known.

    Held components of A have neither slope nor curvature.
    """
    found = _slopes(problem, A, W, linear_W)
    if problem.held is not None:
        held = np.flatnonzero(problem.held)
        found.A[:, held] = 0.0
        found.curvature_A[:, held] = 0.0
        found.gram_W[:, held, held] = 0.0
    return found


def _slopes(problem: Problem, A: np.ndarray, W: np.ndarray, linear_W: np.ndarray | None) -> Slopes:
    gram_A, gram_W = A @ A.transpose(0, 2, 1), W @ W.transpose(0, 2, 1)
    seen = problem.seen
    if seen is not None:
        residual = np.asarray(A.transpose(0, 2, 1) @ W)
        residual *= seen
        residual -= problem.dataset.X
        part = seen.mean()
        return Slopes(
            squared_error=np.einsum("mdn,mdn->m", residual, residual),
            A=W @ residual.transpose(0, 2, 1),
            W=A @ residual,
            curvature_A=W**2 @ seen.T,
            curvature_W=A**2 @ seen,
            gram_A=gram_A * part,
            gram_W=gram_W * part,
            residual=residual,
        )
    linear_W = problem.times_columns(A) if linear_W is None else linear_W
    overlap = np.einsum("mrn,mrn->m", W, linear_W)
    squared_error = problem.dataset.squared_norm - 2 * overlap
    squared_error += np.einsum("mrs,mrs->m", gram_A, gram_W)
    return Slopes(
        squared_error=np.maximum(squared_error, 0.0),
        A=gram_W @ A - problem.times_rows(W),
        W=gram_A @ W - linear_W,
        curvature_A=np.einsum("mrr->mr", gram_W)[:, :, None].copy(),
        curvature_W=np.einsum("mrr->mr", gram_A)[:, :, None],
        gram_A=gram_A,
        gram_W=gram_W,
        residual=np.empty((A.shape[0], 0, 0)),
    )


def kkt_residuals(A: np.ndarray, W: np.ndarray, found: Slopes) -> np.ndarray:
    """KKT residual of each factorization: (m,), ≥ 0.

    min(F, ∇F) is 0 where a factor F satisfies them: an entry above 0 has gradient 0, one at 0 a
    gradient that is not negative. The gradient is divided by the second derivative, so that it
    has the units of F and min(F, ∇F/∇²F) is how far each entry is from its own minimiser, the
    others held. With d_r and e_r these distances of column a_r and row w_r, and lengths balanced
    (a component counts by ‖a_r‖‖w_r‖, however that is split), the residual is

        √( Σ_r ‖d_r‖²‖w_r‖² + ‖a_r‖²‖e_r‖² ) / √( 2 Σ_r ‖a_r‖²‖w_r‖² ):

    the part of the components that these distances make up. It depends neither on the units of X
    nor on the components' scale or order. Parameters: A (m, R, D), W (m, R, N).
    """
    distances = [
        np.minimum(F, np.divide(slope, curvature, out=np.zeros_like(F), where=curvature > 0))
        for F, slope, curvature in (
            (A, found.A, found.curvature_A),
            (W, found.W, found.curvature_W),
        )
    ]
    return kkt_distance(A, W, *distances)


def kkt_distance(
    A: np.ndarray, W: np.ndarray, distance_A: np.ndarray, distance_W: np.ndarray
) -> np.ndarray:
    """The KKT residual (m,) of factors (m, R, D), (m, R, N), given how far each entry is off."""
    squares = [np.einsum("mrn,mrn->mr", F, F) for F in (A, W, distance_A, distance_W)]
    size_A, size_W, far_A, far_W = squares
    far = (far_A * size_W + size_A * far_W).sum(axis=1)
    whole = 2 * (size_A * size_W).sum(axis=1)
    # A product AW of zero is judged by X: an entry that wants to grow is all of it.
    return np.sqrt(np.divide(far, whole, out=(far > 0).astype(float), where=whole > 0))


def turned(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Largest angle in degrees between a component before and after: (m, R, D) twice → (m,).

    A component that is empty on one side only has turned by 90°.
    """
    unit = []
    for F in (before, after):
        length = np.sqrt(np.einsum("mrd,mrd->mr", F, F))[:, :, None]
        unit.append(np.divide(F, length, out=np.zeros_like(F), where=length > 0))
    chord = np.sqrt(((unit[0] - unit[1]) ** 2).sum(axis=2))
    angle = np.degrees(2 * np.arcsin(np.minimum(chord / 2, 1.0)))
    empty = [~F.any(axis=2) for F in unit]
    return np.where(empty[0] != empty[1], 90.0, angle).max(axis=1)


def balanced(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rescale each component to column and row of equal length; empty ones stay."""
    size_A, size_W = (np.sqrt(np.einsum("mrn,mrn->mr", F, F)) for F in (A, W))
    full = (size_A > 0) & (size_W > 0)
    factor = np.sqrt(np.divide(size_W, size_A, out=np.ones_like(size_A), where=full))[:, :, None]
    return A * factor, W / factor
