"""Weights of particles that bring them nearest to the posterior (paper 3, algorithm 5)."""

import warnings

import numpy as np

from bnmf_core.core.errors import DataError, RunError, SettingsError
from bnmf_core.lazy import lazy

cvxpy = lazy("cvxpy")

# Solvers: the fastest and most exact; the cross-check; the paper's.
SOLVERS = ("HIGHS", "CLARABEL", "SCS")
# By default HIGHS adds 1e-7 to the diagonal, and the others stop early.
OPTIONS = {
    "HIGHS": {
        "qp_regularization_value": 1e-12,
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
        "time_limit": 5.0,  # it may go round in circles where many particles are nearly alike
    },
    "CLARABEL": {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12},
    "SCS": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 100_000},
}
# A Gram matrix has no eigenvalue below 0 but for rounding, relative to its trace.
ROUNDING = 1e-10
# Maximum distance of a solution from the simplex.
OFF_SIMPLEX = 1e-5
# A KKT residual above this is lowered by one linear solve.
PRECISE = 1e-9


def stein_weights(K: np.ndarray, solver: str = "HIGHS") -> np.ndarray:
    """argmin wᵀKw over w ≥ 0, Σw = 1: (M,), for a Stein kernel matrix K (M, M).

    Weights of a part of the particles come from the same part of K. The kernels of poor particles
    may be many orders larger than those of good ones: w_i = z_i/√K_ii is solved for z, so that
    every particle has kernel 1 with itself.

    Raises
    ------
    DataError
        When K is not a kernel matrix: not square, not symmetric, not finite, or with an
        eigenvalue clearly below 0 (named).
    SettingsError
        When there is no such solver; lists the ones there are.
    RunError
        When the solver finds no answer.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import stein_weights
    >>> stein_weights(np.diag([1.0, 1.0, 2.0])).round(2)
    array([0.4, 0.4, 0.2])
    """
    if solver not in SOLVERS:
        raise SettingsError(f"There is no solver {solver!r}; choose one of {', '.join(SOLVERS)}.")
    K = check_kernel(K)
    diagonal = np.diagonal(K)
    nothing = diagonal <= 0.0
    if nothing.any():  # no row of a semidefinite matrix is smaller: these alone reach 0
        return nothing / nothing.sum()
    if K.shape[0] == 1:
        return np.ones(1)
    scale = np.sqrt(diagonal.min() / diagonal)
    unit = K * (scale[:, None] * scale) / diagonal.min()
    unit = 0.5 * (unit + unit.T)
    weights = _solve(unit, scale, solver) * scale
    if not np.isfinite(weights).all() or weights.min() < -OFF_SIMPLEX:
        raise _no_answer(solver, "an answer off the simplex")
    weights = np.maximum(weights, 0.0)
    if abs(weights.sum() - 1.0) > OFF_SIMPLEX:
        raise _no_answer(solver, "an answer off the simplex")
    weights /= weights.sum()
    return weights if kkt_residual(K, weights) <= PRECISE else _polished(K, weights, unit, scale)


def kkt_residual(K: np.ndarray, weights: np.ndarray) -> float:
    """Distance of weights (M,) from the optimum: 0 at the optimum only.

    At the optimum (Kw)_i ≥ wᵀKw for all i, with equality where w_i > 0. The largest of
    (wᵀKw − min Kw)/wᵀKw, which covers both since it is Σ w_i ((Kw)_i − min Kw), of |Σw − 1| and
    of −min w. wᵀKw exceeds the optimum by at most twice the first part of itself.
    """
    weights = np.asarray(weights, dtype=np.float64)
    slopes = K @ weights
    value = float(weights @ slopes)
    smallest = max(ROUNDING * float(np.diagonal(K).min()), np.finfo(np.float64).tiny)
    gap = (value - float(slopes.min())) / max(value, smallest)
    return max(gap, abs(float(weights.sum()) - 1.0), -float(weights.min()))


def check_kernel(K: np.ndarray) -> np.ndarray:
    """K (M, M) as float64, if it is symmetric and positive semidefinite to rounding.

    Raises
    ------
    DataError
        Saying what it is instead.
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise DataError(f"A kernel matrix is square; this one is {'×'.join(map(str, K.shape))}.")
    if not np.isfinite(K).all():
        raise DataError("The kernel matrix holds entries that are not finite numbers.")
    if np.abs(K - K.T).max() > ROUNDING * np.abs(K).max():
        raise DataError("The kernel matrix is not symmetric.")
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < -ROUNDING * max(float(np.trace(K)), 0.0):
        raise DataError(
            f"The kernel matrix has the eigenvalue {lowest:.3g}, and a kernel has none below 0; "
            "its entries do not come from one set of factorizations and slopes."
        )
    return K


def _solve(unit: np.ndarray, scale: np.ndarray, solver: str) -> np.ndarray:
    z = cvxpy.Variable(scale.size, nonneg=True)
    # Without psd_wrap, cvxpy's own test of K fails where K is nearly singular.
    energy = cvxpy.quad_form(z, cvxpy.psd_wrap(unit))
    problem = cvxpy.Problem(cvxpy.Minimize(energy), [scale @ z == 1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an inaccurate answer is judged below
            problem.solve(solver=solver, **OPTIONS[solver])
    except cvxpy.error.SolverError as error:
        raise _no_answer(solver, "no answer") from error
    if problem.status not in ("optimal", "optimal_inaccurate") or z.value is None:
        raise _no_answer(solver, f"no answer ({problem.status})")
    return z.value


def _polished(
    K: np.ndarray, weights: np.ndarray, unit: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """The optimum over the particles that have weight, where it is nearer to that over all."""
    some = np.flatnonzero(weights)
    z = np.linalg.lstsq(unit[np.ix_(some, some)], scale[some], rcond=None)[0]
    found = scale[some] * z
    if found.min() < 0.0 or not found.sum() > 0.0:
        return weights
    polished = np.zeros_like(weights)
    polished[some] = found / found.sum()
    return min(weights, polished, key=lambda w: kkt_residual(K, w))


def _no_answer(solver: str, what: str) -> RunError:
    others = " or ".join(other for other in SOLVERS if other != solver)
    return RunError(f"The solver {solver} found {what} to the weights; choose {others} instead.")
