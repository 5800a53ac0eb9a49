"""Where particles lie, and the slopes of the model's log density there, for Stein kernels.

Two forms:

- ``paper``: A and W as they are, with the gradient of the log joint (paper 3). Stein's identity
  does not hold in it, because the density does not vanish where an entry is 0.
- ``interior``: coordinates that run over all real numbers, with the density's Jacobian, where the
  identity holds. Positive entries: z = log F. A column x on the simplex: isometric log-ratio
  coordinates (Egozcue et al. 2003); distances and inner products in them are those of the
  centred log-ratios log x − mean(log x), a hyperplane of D − 1 dimensions, so no basis is needed
  and no feature is singled out.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core import registry
from bnmf_core.data.split import split
from bnmf_core.nouns import settings
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import DataError, SettingsError
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.problem import Problem

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
    model = registry.model(spec.model)
    values = particles.info.get("model_settings", spec.model_settings)
    chosen = settings.build(model.Settings, values, model.label)
    return Problem.prepare(dataset, model, chosen, particles.R)


def positions(particles: Particles, form: str, lift: float = LIFT) -> tuple[Block, Block]:
    """A and W of the particles in the coordinates of the form, without scores.

    Raises
    ------
    SettingsError
        When there is no such form, or an entry has no logarithm.
    """
    A, W, simplex = _factors(particles, form, lift)
    if form == "paper":
        return _block(A), _block(W)
    return _block(_logarithms(A, simplex), simplex), _block(np.log(W))


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
    A, W, simplex = _factors(particles, form, lift)
    by_A, by_W = np.empty(A.shape), np.empty(W.shape)
    size = max(1, SCORE_ENTRIES // (A[0].size + W[0].size))
    for first in range(0, particles.M, size):
        part = slice(first, first + size)
        with np.errstate(all="ignore"):  # what is not finite is named below
            by_A[part], by_W[part] = problem.model.score(problem, A[part], W[part])
            if form == "interior":
                _to_interior(by_A[part], A[part], simplex)
                _to_interior(by_W[part], W[part], False)
    _check_finite(particles, by_A, by_W)
    if form == "paper":
        return _block(A, score=by_A), _block(W, score=by_W)
    return _block(_logarithms(A, simplex), simplex, by_A), _block(np.log(W), score=by_W)


def _factors(particles: Particles, form: str, lift: float) -> tuple[np.ndarray, np.ndarray, bool]:
    # A, W, and whether the columns of A are on the simplex.
    if form not in FORMS:
        raise SettingsError(f"There is no form {form!r}; choose one of {', '.join(FORMS)}.")
    A, W = (np.asarray(factor, dtype=np.float64) for factor in (particles.A, particles.W))
    simplex = registry.model(particles.spec.model).support == "simplex"
    if form == "paper":
        return A, W, simplex
    A, W = (np.maximum(F, lift * F.mean(axis=(1, 2), keepdims=True)) for F in (A, W))
    if simplex:
        A /= A.sum(axis=1, keepdims=True)
    empty = (A <= 0).any(axis=(1, 2)) | (W <= 0).any(axis=(1, 2))
    if empty.any():
        raise SettingsError(
            f"An entry of 0 has no logarithm, and {_named(particles, empty)} such entries; lift "
            "them by a number above 0, or choose the form 'paper'."
        )
    return A, W, simplex


def _logarithms(F: np.ndarray, centred: bool) -> np.ndarray:
    logarithms = np.log(F)
    if centred:
        logarithms -= logarithms.mean(axis=1, keepdims=True)
    return logarithms


def _to_interior(gradient: np.ndarray, F: np.ndarray, simplex: bool) -> None:
    # In place. The density of log F gains ∏F and that of the log-ratios ∏x: with
    # h = F ∘ gradient + 1, the score is h, and h − x Σh along a column on the simplex.
    gradient *= F
    gradient += 1.0
    if simplex:
        gradient -= F * gradient.sum(axis=1, keepdims=True)


def _block(F: np.ndarray, simplex: bool = False, score: np.ndarray | None = None) -> Block:
    M, rows, columns = F.shape
    dimension = (rows - 1) * columns if simplex else rows * columns
    return Block(F.reshape(M, -1), None if score is None else score.reshape(M, -1), dimension)


def _check_finite(particles: Particles, by_A: np.ndarray, by_W: np.ndarray) -> None:
    wrong = ~(np.isfinite(by_A).all(axis=(1, 2)) & np.isfinite(by_W).all(axis=(1, 2)))
    if wrong.any():
        raise DataError(
            "The model's slope is not finite everywhere: "
            f"{_named(particles, wrong)} entries where it is not; leave these factorizations out."
        )


def _named(particles: Particles, chosen: np.ndarray) -> str:
    ids = np.asarray(particles.ids)[chosen]
    more = f" and {ids.size - 5} more" if ids.size > 5 else ""
    noun, verb = ("factorization", "has") if ids.size == 1 else ("factorizations", "have")
    return f"{noun} {', '.join(map(str, ids[:5]))}{more} {verb}"
