"""Range of the contribution of one component, within an allowed rise of the loss.

The contribution of component r is its share of the total, c_r = Σ_d a_dr Σ_n w_rn / Σ_dn (AW)_dn,
where the total stays that of the factorization that is displaced.
It is made as small and as large as the loss allows, as MCR-BANDS does (Tauler 2001; Jaumot & Tauler
2010), and the two factorizations at the ends are the extreme shapes of the component. Everything is
solved for again, so bands hold the freedom of rotation and that of the noise together.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.compare.bands import BY_BOUND, Base, Search, find_ends, standing
from bnmf_core.compare.displacement import POLISHED
from bnmf_core.compare.distances.scaling import component_shares
from bnmf_core.core.errors import SettingsError, raise_if_cancelled
from bnmf_core.core.objective import MaximumLikelihood
from bnmf_core.core.problem import Problem
from bnmf_core.solvers.second_order import solver

# A contribution below this fraction of an even one counts as 0.
NONE = 1e-6
# Targets are tried so far outside of 0 to 1: the stiffer the data, the farther they have to draw.
OUTSIDE = 1e6


@dataclass(frozen=True, eq=False)
class Contributions:
    """Bands of K components.

    Attributes
    ----------
    components : (K,) their numbers, from 0. value : (K,) contributions in the factorization.
    lower, upper : (K,) the smallest and the largest that were reached within the allowed error.
    ended : (K, 2) what ended the band there, see ``bands``.
    A : (K, 2, D, R), W : (K, 2, R, N) the factorizations at both ends.
    """

    components: np.ndarray
    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ended: np.ndarray
    A: np.ndarray
    W: np.ndarray


@dataclass(frozen=True)
class _NearContribution:
    """The loss of each of m factorizations, plus ½ κ (its component's contribution − target)².

    component, target, weight : (m,) r, the target and κ. total : of AW, which contributions are
    shares of; it stays that of the base, as any factorization that fits has nearly the same.
    """

    problem: Problem
    component: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    total: float
    without_scales = True

    def of(self, index: np.ndarray) -> "_NearContribution":
        component, target, weight = self.component[index], self.target[index], self.weight[index]
        return _NearContribution(self.problem, component, target, weight, self.total)

    def _sums(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of the component's column of A and row of W, (m,), over the root of the total."""
        every, root = np.arange(len(A)), np.sqrt(self.total)
        return (
            A[every, :, self.component].sum(axis=1) / root,
            W[every, self.component].sum(axis=1) / root,
        )

    def _put(
        self, by_A: np.ndarray, by_W: np.ndarray, of_A: np.ndarray, of_W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the loss with these (m,) added for every entry of the component."""
        by_A, by_W, every = by_A.copy(), by_W.copy(), np.arange(len(by_A))
        root = np.sqrt(self.total)
        by_A[every, :, self.component] += (of_A / root)[:, None]
        by_W[every, self.component] += (of_W / root)[:, None]
        return by_A, by_W

    def values(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        a, w = self._sums(A, W)
        off = a * w - self.target
        return np.asarray(self.problem.loss.values(self.problem, A, W) + 0.5 * self.weight * off**2)

    def values_and_gradients(
        self, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        f, by_A, by_W = self.problem.loss.values_and_gradients(self.problem, A, W)
        a, w = self._sums(A, W)
        off = a * w - self.target
        pull = self.weight * off
        return (f + 0.5 * pull * off, *self._put(by_A, by_W, pull * w, pull * a))

    def gradients_along(
        self, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        along = self.problem.loss.gradients_along(self.problem, A, W, moved_A, moved_W)
        (a, w), (da, dw) = self._sums(A, W), self._sums(moved_A, moved_W)
        off, moved = a * w - self.target, a * dw + w * da
        return self._put(
            *along, self.weight * (moved * w + off * dw), self.weight * (moved * a + off * da)
        )

    def curvatures(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, w = self._sums(A, W)
        root = np.sqrt(self.total)
        of = self.problem.loss.curvatures(self.problem, A, W)
        return self._put(*of, self.weight * w**2 / root, self.weight * a**2 / root)

    def nats(self, values: np.ndarray) -> np.ndarray:
        return MaximumLikelihood(self.problem).nats(values)


class _Pushed(Search):
    """An end of the band of a component's contribution; its share is the target it is drawn to."""

    def learn(self, tried: float, f: float, same: bool, A: np.ndarray, W: np.ndarray) -> None:
        r = self.base.component
        gone = component_shares(A[None], W[None])[0, r] < NONE / A.shape[1]
        super().learn(tried, f, same or bool(gone), A, W)
        if gone and self.beyond is None and self.pending is None:
            self.over, self.ended = True, BY_BOUND


def displace_contributions(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    components: np.ndarray,
    allowed: float,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Contributions:
    """The smallest and the largest contribution of some components within an allowed error.

    Each end is followed in steps from the factorization, and may lie farther out than what was
    reached. It ends where the component is no longer the same one, as of
    :func:`bnmf_core.compare.displacement.displace`.

    Parameters
    ----------
    A : (D, R), W : (R, N) an optimum, see :func:`bnmf_core.compare.displacement.polished`.
    components : (K,) their numbers, from 0. allowed : measure of fit, above that of (A, W).
    on_progress : called with the fraction done, 0 to 1. cancel : checked between rounds.

    Raises
    ------
    SettingsError
        When the allowed error is below that of (A, W), or R is 1. Cancelled: when ``cancel()``
        returned True.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import laurberg
    >>> from bnmf_core.compare.contribution import displace_contributions
    >>> from bnmf_core.core.problem import Problem
    >>> data = laurberg("unique")
    >>> A, W = data.truth[0].A, data.truth[0].W
    >>> found = displace_contributions(Problem.without_model(data, 3), A, W, np.arange(3), 0.01)
    >>> bool(((found.lower < found.value) & (found.value < found.upper)).all())
    True
    """
    if A.shape[1] < 2:
        raise SettingsError("One component accounts for everything; there is nothing to move.")
    components = np.asarray(components, dtype=np.int64)
    total = float((A.sum(axis=0) * W.sum(axis=1)).sum())
    value = component_shares(A[None], W[None])[0]
    even = 1.0 / A.shape[1]
    bases = [Base(problem, A, W, int(r), allowed) for r in components]
    down, up = (
        [_Pushed(base, value[base.component], side, bound, even) for base in bases]
        for side, bound in ((-1.0, -OUTSIDE), (1.0, 1.0 + OUTSIDE))
    )

    def solve(going: list[_Pushed], tried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r = np.array([search.base.component for search in going])
        # So that a first step, if the data resist, costs about the rise that is allowed.
        rise = np.array([search.base.rise for search in going])
        weight = 2.0 * rise / np.array([search.step for search in going]) ** 2
        held = solver(
            lambda problem: _NearContribution(problem, r, tried, weight, total),
            key="contribution",
            label="Contribution held",
            reference="Tauler 2001",
        )
        state = held.start(problem, *standing(going))
        while state.active.any():
            raise_if_cancelled(cancel, "moving contributions")
            state = held.advance(problem, state, POLISHED)
        return state.particles

    find_ends([*down, *up], solve, on_progress)
    ends = (down, up)
    # (K, 2, …): lower and upper ends.
    A, W = (np.stack(side, axis=1) for side in zip(standing(down), standing(up), strict=True))
    amounts = A.sum(axis=2) * W.sum(axis=3) / total
    reached = np.take_along_axis(amounts, components[:, None, None], axis=2)[:, :, 0]
    return Contributions(
        components=components,
        value=value[components],
        lower=reached[:, 0],
        upper=reached[:, 1],
        ended=np.array([[one.ended for one in side] for side in ends]).T.reshape(-1, 2),
        A=A,
        W=W,
    )
