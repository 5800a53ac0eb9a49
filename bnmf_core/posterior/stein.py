"""Kernel Stein discrepancy of weighted particles from a model's posterior (paper 3, §3 and §6.1).

The base kernel is the mean over the blocks A and W of inverse multiquadrics, each 1 at distance 0:
k = ½ Σ_b (1 + ‖x_b − y_b‖²/c_b²)^β (eq. 7). With s the slopes of the log density,

    K_p = (s_x·s_y) k + s_x·∇_y k + s_y·∇_x k + Σ_i ∂²k/∂x_i∂y_i   (eq. 3),

and the discrepancy of weights w is wᵀKw (eq. 4). Everything comes from matrices of inner products.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.explorers.stein_direction import PUBLISHED_LENGTHS
from bnmf_core.posterior.places import LIFT, Block, blocks, problem_of

# Paper 3, §6.1.
LENGTH_A, LENGTH_W = PUBLISHED_LENGTHS
EXPONENT = -0.5
# ‖x‖² + ‖y‖² − 2x·y leaves about 1e-16 of ‖x‖² + ‖y‖² as error. Pairs that are nearer than this
# part of it are measured again from a centre of their own.
CLOSE = 1e-4
# Median kernel values, of a block, beyond which the kernel hardly tells particles apart.
SATURATED, VANISHED = 0.99, 0.01


@dataclass(frozen=True, eq=False)
class Products:
    """Products for all Stein kernels of M particles, independent of lengths and exponent.

    Attributes
    ----------
    scores : (M, M) s_i·s_j over the whole of (A, W); None where no scores were requested.
    squared : (2, M, M) ‖x_i − x_j‖² of A and of W. across : (2, M, M) (s_j − s_i)·(x_i − x_j).
    dimensions : (2,) of the spaces that A and W move in.
    """

    scores: np.ndarray | None
    squared: np.ndarray
    across: np.ndarray
    dimensions: np.ndarray

    @classmethod
    def of(cls, parts: Sequence[Block]) -> "Products":
        """Matrices of inner products, from the blocks of coordinates and scores."""
        scores = [part.score @ part.score.T for part in parts if part.score is not None]
        differences = [_differences(part.position, part.score) for part in parts]
        return cls(
            scores=sum(scores[1:], scores[0]) if len(scores) == len(parts) else None,
            squared=np.stack([squared for squared, _ in differences]),
            across=np.stack([across for _, across in differences]),
            dimensions=np.array([part.dimension for part in parts]),
        )

    def kernel(self, *lengths: float, exponent: float = EXPONENT) -> np.ndarray:
        """K_p (M, M), eq. 3, for a length c of each block.

        With v = ‖δ‖²/c², δ = x − y, of one block and B blocks: k = (1 + v)^β/B,
        ∇_x k = −∇_y k = 2β δ (1 + v)^(β−1)/(B c²) and
        Σ ∂²k/∂x_i∂y_i = −2β dim (1 + v)^(β−1)/(B c²) − 4β(β − 1) v (1 + v)^(β−2)/(B c²).
        """
        kernel, rest = np.zeros_like(self.scores), np.zeros_like(self.scores)
        blocks_ = zip(self._bases(lengths), self.across, self.dimensions, lengths, strict=True)
        for base, across, dimension, length in blocks_:
            kernel += base**exponent
            steep = base ** (exponent - 1.0)
            rest += (
                (2.0 * exponent / length**2)
                * steep
                * (across - dimension - 2.0 * (exponent - 1.0) * (1.0 - 1.0 / base))
            )
        return (self.scores * kernel + rest) / len(lengths)

    def at_rest(self, *lengths: float, exponent: float = EXPONENT) -> float:
        """The discrepancy :func:`ksd` of one particle without slope: K_p(x, x) with s = 0.

        A weighted sample that is much farther from the posterior than that describes none.
        """
        pairs = zip(self.dimensions, lengths, strict=True)
        total = sum(-2.0 * exponent * dimension / length**2 for dimension, length in pairs)
        return float(total / len(lengths))

    def similarities(self, *lengths: float, exponent: float = EXPONENT) -> np.ndarray:
        """The base kernel of each block, (2, M, M) in (0, 1]; their mean is k of eq. 7."""
        return self._bases(lengths) ** exponent

    def median_lengths(self) -> tuple[float, float]:
        """Median distances between particles that differ, for each block; 1 where none do."""
        upper = np.triu_indices(self.squared.shape[1], 1)
        of_A, of_W = (_median_above_zero(np.sqrt(squared[upper])) for squared in self.squared)
        return of_A, of_W

    def sentence(self, length_A: float, length_W: float, exponent: float = EXPONENT) -> str:
        """Whether the kernel tells the particles apart, and which lengths would.

        A block saturates where its kernel is near 1 for most pairs (all count as the same), and
        vanishes where it is near 0 (none has anything to do with another).
        """
        M = self.squared.shape[1]
        if M < 2:
            return (
                "One factorization has no distances, so nothing can be said of the length scales."
            )
        wrong = []
        similarities = self.similarities(length_A, length_W, exponent=exponent)
        lengths = (("A", length_A), ("W", length_W))
        for (name, length), values in zip(lengths, similarities, strict=True):
            typical = float(np.median(values[np.triu_indices(M, 1)]))
            if typical > SATURATED:
                wrong.append(f"c_{name} = {length:g} saturates (typical similarity {typical:.3f})")
            elif typical < VANISHED:
                wrong.append(f"c_{name} = {length:g} vanishes (typical similarity {typical:.2g})")
        if not wrong:
            return "Both length scales distinguish the factorizations."
        suggested = self.median_lengths()
        return (
            f"{' and '.join(wrong)}: the kernel hardly tells these factorizations apart there. The "
            f"median distances are {suggested[0]:.3g} for A and {suggested[1]:.3g} for W."
        )

    def _bases(self, lengths: Sequence[float]) -> np.ndarray:
        return 1.0 + self.squared / np.square(lengths)[:, None, None]


def products(
    particles: Particles, dataset: Dataset, form: str = "interior", lift: float = LIFT
) -> Products:
    """Products for Stein kernels of these particles, under their own run's posterior.

    For kernels of many lengths; :func:`kernel_matrix` makes one, and says what the arguments are.

    Raises
    ------
    SettingsError
        Where X is in blocks: slopes are of all of it.
    """
    if not_all := dataset.why_not_all("Stein weights"):
        raise SettingsError(not_all)
    return Products.of(blocks(problem_of(particles, dataset), particles, form, lift))


def kernel_matrix(
    particles: Particles,
    dataset: Dataset,
    form: str = "interior",
    length_A: float = LENGTH_A,
    length_W: float = LENGTH_W,
    exponent: float = EXPONENT,
    lift: float = LIFT,
) -> np.ndarray:
    """Stein kernel between all pairs of particles, under the posterior of their own run.

    Parameters
    ----------
    particles : M factorizations with the spec and the model settings of their run.
    dataset : what the run factorized.
    form : "interior" (log coordinates, with the Jacobian: the discrepancy is 0 for the posterior
        itself) or "paper" (A and W as they are, as published: it is not 0 there, because the
        density does not vanish at the boundary).
    length_A, length_W : c of the two blocks, in the unit of the form's coordinates. The defaults
        are the paper's, which were chosen for its form and data; see :meth:`Products.sentence`.
        Discrepancies are comparable only at equal lengths.
    exponent : of the inverse multiquadric, between −1 and 0.
    lift : in the interior form, an entry counts as at least this part of its factor's mean entry.

    Returns
    -------
    (M, M) float64, symmetric and positive semidefinite to rounding.

    Raises
    ------
    SettingsError, DataError
        When a parameter is out of range, the dataset is not the run's, an entry has no logarithm
        or a slope is not finite (naming the particles).

    Examples
    --------
    >>> from bnmf_core import RunSpec, kernel_matrix, laurberg, run
    >>> data = laurberg("two", noise=0.01)
    >>> particles = run(data, RunSpec("gibbs", rank=3, particles=6))
    >>> kernel_matrix(particles, data, form="interior").shape
    (6, 6)
    """
    check_lengths(length_A, length_W, exponent)
    return products(particles, dataset, form, lift).kernel(length_A, length_W, exponent=exponent)


def ksd(K: np.ndarray, weights: np.ndarray) -> float:
    """The Stein discrepancy wᵀKw of weights (M,), K (M, M) (paper 3, eq. 4).

    Elsewhere its root is called the kernel Stein discrepancy.
    """
    weights = np.asarray(weights, dtype=np.float64)
    return float(weights @ K @ weights)


def check_lengths(length_A: float, length_W: float, exponent: float = EXPONENT) -> None:
    """Raise a SettingsError, in a sentence, where a kernel cannot have these parameters."""
    for name, length in (("A", length_A), ("W", length_W)):
        if not (np.isfinite(length) and length > 0):
            raise SettingsError(
                f"The length scale of {name} was {length!r}; a finite number above 0 is needed."
            )
    if not -1.0 < exponent < 0.0:
        raise SettingsError(
            f"The exponent was {exponent!r}; between −1 and 0 the kernel tells posteriors apart."
        )


def _median_above_zero(values: np.ndarray) -> float:
    values = values[values > 0]
    return float(np.median(values)) if values.size else 1.0


def _differences(x: np.ndarray, s: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """‖x_i − x_j‖² and (s_j − s_i)·(x_i − x_j) of all pairs, (M, M): x, s (M, n)."""
    centred = x - x.mean(axis=0)
    squared, across = _from_products(centred, s)
    norms = np.vecdot(centred, centred)
    near = squared < CLOSE * (norms[:, None] + norms)
    np.fill_diagonal(near, False)
    if not near.any():
        return squared, across
    # Near pairs are measured again about their own centre, where less cancels.
    count, group = csgraph.connected_components(near, directed=False)
    for number in range(count if count > 1 else 0):
        members = np.flatnonzero(group == number)
        if members.size > 1:
            place = np.ix_(members, members)
            inner = None if s is None else s[members]
            squared[place], across[place] = _differences(x[members], inner)
    if count == 1:  # a chain of near pairs that is long as a whole: one row after the other
        for i in np.flatnonzero(np.triu(near).any(axis=1)):
            others = i + 1 + np.flatnonzero(near[i, i + 1 :])
            apart = x[i] - x[others]
            squared[i, others] = squared[others, i] = np.vecdot(apart, apart)
            if s is not None:
                across[i, others] = across[others, i] = np.vecdot(s[others] - s[i], apart)
    return squared, across


def _from_products(x: np.ndarray, s: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    products = x @ x.T
    norms = np.diagonal(products)
    squared = np.maximum(norms[:, None] + norms - 2.0 * products, 0.0)
    np.fill_diagonal(squared, 0.0)
    across = np.zeros_like(squared)
    if s is not None:
        mixed = s @ x.T
        own = np.diagonal(mixed)
        across = mixed + mixed.T - (own[:, None] + own)
        np.fill_diagonal(across, 0.0)
    return squared, across
