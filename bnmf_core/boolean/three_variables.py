"""Three numbers between no and yes, seen through their products (paper 4, §4.1.2).

    log p(x, y, z) = −½ [(xy − a)² + (xz − b)² + (yz − c)²] + log priors on [0, 1]

is small enough to be shown whole, and has what a table of tiles has: terms that are products of
entries, and observations a, b, c that may contradict each other. In the paper's (4.1) and (4.2) the
second and the third square are subtracted, which rewards a poor fit.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from bnmf_core.boolean.model import NEAREST, PRIORS
from bnmf_core.core.errors import SettingsError
from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")

# Nodes of Gauss–Legendre quadrature along each variable: its error is far below 1e-6.
NODES = 40
STARTS = (0.1, 0.5, 0.9)
# Of two maxima, how near their heights are, and how far apart their places.
SAME_HEIGHT, SAME_PLACE = 1e-8, 1e-2
# x, y and z for yes and no.
CORNERS = np.array(list(product((0.0, 1.0), repeat=3)))


@dataclass(frozen=True)
class ThreeVariables:
    """x, y and z given observations of their products.

    a, b, c : what is observed of xy, xz and yz, 0 to 1. prior : of every variable, a key of
        :data:`bnmf_core.boolean.model.PRIORS`. printed : with the signs of the paper.

    Raises
    ------
    SettingsError
        When an observation is not between 0 and 1, or there is no such prior.

    Examples
    --------
    >>> from bnmf_core.boolean.three_variables import ThreeVariables
    >>> contradiction = ThreeVariables(0, 1, 1)
    >>> contradiction.maxima.round(4)
    array([[0.6823, 0.6823, 1.    ]])
    >>> contradiction.means.round(4)
    array([0.5153, 0.5153, 0.555 ])
    """

    a: float
    b: float
    c: float
    prior: str = "flat"
    printed: bool = False

    def __post_init__(self) -> None:
        if not all(0.0 <= value <= 1.0 for value in (self.a, self.b, self.c)):
            raise SettingsError(
                f"The observations were {self.a:g}, {self.b:g} and {self.c:g}; 0 (no) to 1 (yes) "
                "is allowed."
            )
        if self.prior not in PRIORS:
            raise SettingsError(f"There is no prior {self.prior!r}; there are {', '.join(PRIORS)}.")

    @property
    def bounded(self) -> bool:
        """Whether the density has a maximum; that of Beta(½, ½) grows without bound at 0 and 1."""
        return PRIORS[self.prior] is not None

    def misfit(self, point: np.ndarray) -> np.ndarray:
        """(xy − a)² + (xz − b)² + (yz − c)² at points (3, …)."""
        return np.asarray((self._misses(point) ** 2).sum(axis=0))

    def log_density(self, point: np.ndarray) -> np.ndarray:
        """The log density at points (3, …), up to a constant."""
        prior = PRIORS[self.prior]
        if prior is None:
            inside = np.clip(point, NEAREST, 1.0 - NEAREST)
            of_prior = -0.5 * (np.log(inside) + np.log1p(-inside))
        else:
            of_prior = -prior.rate * point - 0.5 * prior.precision * point**2
        return self._fit(point) + np.asarray(of_prior.sum(axis=0))

    @cached_property
    def height(self) -> float:
        """The largest log density on [0, 1]³.

        Raises
        ------
        SettingsError
            When there is none, see :attr:`bounded`.
        """
        return float(self.log_density(self.maxima[0]))

    @cached_property
    def maxima(self) -> np.ndarray:
        """(k, 3) where the density is largest, the highest first; of a ridge, some of its places.

        Raises
        ------
        SettingsError
            When there is no maximum, see :attr:`bounded`.
        """
        if not self.bounded:
            raise SettingsError(
                "Under a Beta(½, ½) prior the density is unbounded at 0 and 1, so it has no "
                "maximum. Choose another prior, or use the means."
            )
        found = [
            optimize.minimize(
                self._descent,
                np.array(start),
                jac=True,
                bounds=[(0.0, 1.0)] * 3,
                method="L-BFGS-B",
                options={"ftol": 1e-16, "gtol": 1e-12},
            )
            for start in product(STARTS, repeat=3)
        ]
        found.sort(key=lambda one: float(one.fun))
        places: list[np.ndarray] = []
        for one in found:
            apart = all(np.abs(one.x - place).max() > SAME_PLACE for place in places)
            if one.fun <= found[0].fun + SAME_HEIGHT and apart:
                places.append(one.x)
        return np.array(places)

    @cached_property
    def means(self) -> np.ndarray:
        """(3,) posterior means of x, y and z."""
        points, weights = _nodes(self.prior)
        grid = np.stack(np.meshgrid(*[points] * 3, indexing="ij"))
        # Without a bound the density is that of the fit, over nodes that lie as the prior does.
        density = np.exp(self.log_density(grid) if self.bounded else self._fit(grid))
        density *= np.einsum("i,j,k->ijk", weights, weights, weights)
        return np.asarray((grid * density).sum(axis=(1, 2, 3)) / density.sum())

    @cached_property
    def best_corners(self) -> np.ndarray:
        """(k, 3) the choices of 0 and 1 that fit best: those of least misfit."""
        misfit = self.misfit(CORNERS.T)
        return CORNERS[misfit <= misfit.min() + 1e-12]

    @property
    def _signs(self) -> np.ndarray:
        others = -1.0 if self.printed else 1.0
        return np.array([1.0, others, others])

    def _misses(self, point: np.ndarray) -> np.ndarray:
        x, y, z = point
        return np.stack([x * y - self.a, x * z - self.b, y * z - self.c])

    def _fit(self, point: np.ndarray) -> np.ndarray:
        return np.asarray(-0.5 * np.tensordot(self._signs, self._misses(point) ** 2, axes=1))

    def _descent(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log density at a point (3,), and its gradient."""
        x, y, z = point
        xy, xz, yz = self._signs * self._misses(point)
        slope = np.array([xy * y + xz * z, xy * x + yz * z, xz * x + yz * y])
        prior = PRIORS[self.prior]
        assert prior is not None
        return -float(self.log_density(point)), slope + prior.rate + prior.precision * point


def _nodes(prior: str) -> tuple[np.ndarray, np.ndarray]:
    """Nodes on [0, 1] and their weights; for Beta(½, ½), spread as that is by x = sin²(πu/2)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    along = 0.5 * (nodes + 1.0)
    return (np.sin(0.5 * np.pi * along) ** 2 if PRIORS[prior] is None else along), weights
