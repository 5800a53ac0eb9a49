"""Q-Transform: starts that transfer what NMF does to an SVD from small data to this data.

Paper 3, algorithms 1, 3 and 4.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers import from_starts, library
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.explorers.transforms import SETS_IN_PAPER, Recipe, TransformLibrary, learn

# Libraries that depend on the data live as long as the problem they were learned for.
_of_problem: WeakKeyDictionary[Problem, dict[tuple[Recipe, int], TransformLibrary]]
_of_problem = WeakKeyDictionary()


@dataclass(frozen=True)
class TransferSettings:
    """Which transforms are applied, and how their starts are brought to the rank."""

    transfer_rank: int = setting(
        3,
        "Transfer rank",
        "Number of singular vectors that the transforms act on (R_T = R_SVD in the paper). A run "
        "of at most this rank has the same starts for every seed, because the transforms are "
        "always the same.",
        minimum=1,
        maximum=10,
    )
    process: str = setting(
        "gaussian",
        "Source of the transforms",
        "Source of the transforms: products of small random factors (gaussian, uniform, "
        "dirichlet), small random matrices (uniform_data), or parts of these data (sub_sample, "
        "column_projection). The first three gave the best starts in the paper. The result for "
        "the last depends on its stopping rule and on how the projection is read.",
        choices=tuple(PROCESSES),
    )
    source_size: int = setting(
        12,
        "Source size",
        "Rows and columns of the small matrices; at least the transfer rank.",
        minimum=2,
        maximum=200,
        advanced=True,
    )
    source_rank: int | None = setting(
        None,
        "Source rank",
        "Rank of the small matrices. Empty: the transfer rank.",
        minimum=1,
        maximum=200,
        advanced=True,
    )
    source_noise: float = setting(
        0.1,
        "Source noise",
        "Standard deviation of the noise on such a product, relative to the size of its terms.",
        minimum=0,
        maximum=100,
        advanced=True,
    )
    restarts: int = setting(
        5,
        "Restarts per source",
        "Pairs of transforms learned on each small matrix; 20 matrices make 100 pairs in the "
        "paper.",
        minimum=1,
        maximum=100,
        advanced=True,
    )
    library: str | None = setting(
        None,
        "Library of transforms",
        "Key of a library that was imported on the Starts page, 16 digits and letters; it "
        "replaces the settings above. Empty: transforms are learned with the settings above.",
        pattern="[0-9a-f]{16}",
        advanced=True,
    )
    padding: float = setting(
        0.01,
        "Size of the padding",
        "Components beyond the transfer rank start with random entries of at most this share of "
        "√(mean(X)/R), so that they hardly change the product.",
        minimum=1e-8,
        maximum=1,
        advanced=True,
    )

    def recipe(self, dataset: Dataset) -> Recipe:
        """How transforms for this dataset are learned."""
        rank = min(self.transfer_rank, dataset.D, dataset.N)
        return Recipe(
            rank, self.process, self.source_size, self.source_rank, self.source_noise, self.restarts
        )


@dataclass(frozen=True)
class Settings(TransferSettings, from_starts.SolverSettings):
    """Transforms and padding, beside the solver's settings."""


def check(problem: Problem, settings: TransferSettings) -> None:
    """Raise a BNMFError, in a sentence, where no transforms can be had."""
    if settings.library is None:
        settings.recipe(problem.dataset)
    else:
        _check_given(library.given(settings.library), problem.dataset)


def transforms_for(problem: Problem, settings: TransferSettings, count: int) -> TransformLibrary:
    """At least ``count`` pairs; the first ones do not depend on ``count``."""
    if settings.library is not None:
        found = library.given(settings.library)
        _check_given(found, problem.dataset)
        if count > found.count:
            raise RunError(
                f"The library {settings.library!r} has {found.count} pairs of transforms, so at "
                f"most {found.count} factorizations can start from it; {count} were asked for."
            )
        return found
    recipe = settings.recipe(problem.dataset)
    # Sets beyond the paper's twenty come in whole twenties, so that few libraries are made.
    sets = SETS_IN_PAPER * -(-count // (SETS_IN_PAPER * recipe.restarts))
    if not PROCESSES[recipe.process].needs_target:
        return library.learned(recipe, sets)
    cached = _of_problem.setdefault(problem, {})
    if (recipe, sets) not in cached:
        cached[recipe, sets] = learn(recipe, sets, problem.completed)
    return cached[recipe, sets]


def starts(
    problem: Problem, settings: TransferSettings, shard: Shard
) -> tuple[np.ndarray, np.ndarray]:
    """Apply the shard's own transforms to the SVD of X, then algorithm 4."""
    found = transforms_for(problem, settings, shard.start + shard.size)
    return applied(found, problem, settings.padding, shard)


def applied(
    found: TransformLibrary, problem: Problem, padding: float, shard: Shard
) -> tuple[np.ndarray, np.ndarray]:
    """The shard's starts by the transforms of a library: A (m, D, R), W (m, R, N)."""
    A_svd, W_svd = problem.svd(found.svd_rank)
    pairs = []
    for i in range(shard.size):
        A = np.abs(A_svd @ found.Q_A[shard.start + i])
        W = np.abs(found.Q_W[shard.start + i] @ W_svd)
        pairs.append(fit_rank(A, W, problem, padding, shard.particle_generator(i)))
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def fit_rank(
    A: np.ndarray, W: np.ndarray, problem: Problem, padding: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Cut to the first R components, or pad with small random ones (algorithm 4)."""
    missing = problem.rank - A.shape[1]
    if missing <= 0:
        return A[:, : problem.rank], W[: problem.rank]
    data = problem.dataset
    size = padding * np.sqrt(data.mean / problem.rank)
    return (
        np.hstack([A, size * rng.uniform(size=(data.D, missing))]),
        np.vstack([W, size * rng.uniform(size=(missing, data.N))]),
    )


def _check_given(found: TransformLibrary, dataset: Dataset) -> None:
    if found.svd_rank > min(dataset.D, dataset.N):
        raise RunError(
            f"The library {found.key!r} acts on {found.svd_rank} singular directions, and the run "
            f"sees {dataset.D} features and {dataset.N} observations; choose another library, or "
            "leave the setting empty."
        )


ALGORITHM = from_starts.explorer(
    key="q_transform",
    label="Q-Transform",
    Settings=Settings,
    starts=starts,
    check=check,
    color="#2270AC",
    symbol="diamond",
    summary="Start from the singular vectors of X, changed by transforms that were learned on "
    "small synthetic data, then solve. Gives good and diverse factorizations.",
    reference="paper 3, algorithms 1–4",
)
