"""Positions of particles, and gradients of the log density there, for Stein kernels.

Two forms:

- ``paper``: A and W as they are, with the gradient of the log joint (paper 3). Stein's identity
  does not hold in it, because the density does not vanish where an entry is 0.
- ``interior``: coordinates that run over all real numbers, with the density's Jacobian, where the
  identity holds, see :mod:`bnmf_core.core.interior`. Of a column on the simplex they are
  centred log-ratios, a hyperplane of D − 1 dimensions, so no feature is singled out.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core import registry
from bnmf_core.core import interior
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.model import Model, Support, required
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.data.split import split

FORMS = ("interior", "paper")
# In the interior form an entry counts as at least this part of its factor's mean entry: solvers
# leave exact zeros, which have no logarithm. A draw from a density is as good as never this small.
LIFT = 1e-12
# Entries of the factors (64 MB) whose scores are computed together.
SCORE_ENTRIES = 2**23


@dataclass(frozen=True)
class Block:
    """One factor of all particles.

    position : (M, n) coordinates. score : (M, n) gradient of the log density in them; None where
    it is not needed. dimension : of the space they move in, at most n.
    """

    position: np.ndarray
    score: np.ndarray | None
    dimension: int


def problem_of(particles: Particles, dataset: Dataset) -> Problem:
    """The problem that a run solved, with the model settings it used.

    ``dataset`` is the whole dataset of the run, or the part of it that the run saw.

    Raises
    ------
    DataError
        When the dataset cannot be the one.
    """
    spec, D, seen = particles.spec, particles.A.shape[1], particles.W.shape[2]
    if spec.holdout and dataset.N != seen:
        dataset = dataset.columns(split(dataset, spec.holdout)[0])
    if (dataset.D, dataset.N) != (D, seen):
        raise DataError(
            f"The factorizations are of a {D}×{seen} matrix, but what their run would see of "
            f"{dataset.name!r} is {dataset.D}×{dataset.N}; give the dataset that was factorized."
        )
    model, chosen = registry.model_of(particles)
    return Problem.prepare(dataset, model, chosen, particles.R)


def positions(particles: Particles, form: str, lift: float = LIFT) -> tuple[Block, Block]:
    """A and W of the particles in the coordinates of the form, without scores.

    Raises
    ------
    SettingsError
        When there is no such form, or an entry has no logarithm.
    """
    model = registry.model(particles.spec.model)
    A, W = _factors(particles, model, form, lift)
    if form == "paper":
        return _block(A), _block(W)
    return _interior_block(A, model.support_A), _interior_block(W, model.support_W)


def blocks(
    problem: Problem, particles: Particles, form: str, lift: float = LIFT
) -> tuple[Block, Block]:
    """:func:`positions` with the scores there: two ``Block``s.

    Raises
    ------
    SettingsError
        As :func:`positions`.
    DataError
        When a score is not finite; names the particles.
    """
    model = registry.model(particles.spec.model)
    A, W = _factors(particles, model, form, lift)
    by_A, by_W = np.empty(A.shape), np.empty(W.shape)
    size = max(1, SCORE_ENTRIES // (A[0].size + W[0].size))
    for first in range(0, particles.M, size):
        part = slice(first, first + size)
        with np.errstate(all="ignore"):  # what is not finite is named below
            by_A[part], by_W[part] = required(problem.model.score)(problem, A[part], W[part])
            if form == "interior":
                interior.to_slopes(by_A[part], A[part], model.support_A, axis=1)
                interior.to_slopes(by_W[part], W[part], model.support_W, axis=1)
    fine = np.isfinite(by_A).all(axis=(1, 2)) & np.isfinite(by_W).all(axis=(1, 2))
    wrong = np.logical_not(fine)
    if wrong.any():
        raise DataError(
            "The model's slope is not finite everywhere: "
            f"{_named(particles, wrong)} entries where it is not; leave these factorizations out."
        )
    if form == "paper":
        return _block(A, by_A), _block(W, by_W)
    return (
        _interior_block(A, model.support_A, by_A),
        _interior_block(W, model.support_W, by_W),
    )


def _factors(
    particles: Particles, model: Model, form: str, lift: float
) -> tuple[np.ndarray, np.ndarray]:
    if form not in FORMS:
        raise SettingsError(f"There is no form {form!r}; choose one of {', '.join(FORMS)}.")
    A, W = (np.asarray(factor, dtype=np.float64) for factor in (particles.A, particles.W))
    if form == "paper":
        return A, W
    A, W = _lifted(A, model.support_A, lift), _lifted(W, model.support_W, lift)
    empty = np.logical_or((A <= 0).any(axis=(1, 2)), (W <= 0).any(axis=(1, 2)))
    if empty.any():
        raise SettingsError(
            f"An entry of 0 has no logarithm, and {_named(particles, empty)} such entries; lift "
            "them by a number above 0, or choose the form 'paper'."
        )
    return A, W


def _lifted(F: np.ndarray, support: Support, lift: float) -> np.ndarray:
    """The factor (M, rows, columns) with every entry off the support's borders."""
    F = np.maximum(F, lift * F.mean(axis=(1, 2), keepdims=True))
    if support is Support.SIMPLEX:
        F /= F.sum(axis=1, keepdims=True)
    if support is Support.UNIT_INTERVAL:
        F = np.minimum(F, 1.0 - LIFT)
    return F


def _interior_block(F: np.ndarray, support: Support, score: np.ndarray | None = None) -> Block:
    block = _block(interior.coordinates(F, support, axis=1), score)
    return replace(block, dimension=interior.dimension(F.shape[1], F.shape[2], support))


def _block(F: np.ndarray, score: np.ndarray | None = None) -> Block:
    M, rows, columns = F.shape
    return Block(F.reshape(M, -1), None if score is None else score.reshape(M, -1), rows * columns)


def _named(particles: Particles, chosen: np.ndarray) -> str:
    ids = np.asarray(particles.ids)[chosen]
    more = f" and {ids.size - 5} more" if ids.size > 5 else ""
    noun, verb = ("factorization", "has") if ids.size == 1 else ("factorizations", "have")
    return f"{noun} {', '.join(map(str, ids[:5]))}{more} {verb}"
