"""Starts from column projection, whose quality depends on choices that the paper does not name.

X_S = P X[:, columns] has nearly rank one where entries of P are |N(0, 1)|, and a solver goes on for
long: the transforms depend on when it stops. Read otherwise, entries of P keep their signs, and
entries of X_S below 0 become 0.
"""

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import q_transform, transforms
from bnmf_core.explorers.processes import PROCESSES, Source
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import random_start

ABSOLUTE, SIGNED = "projection_absolute", "projection_signed"
LABELS = {ABSOLUTE: "P as |N(0, 1)|", SIGNED: "P as N(0, 1), then entries below 0 as 0"}
# Most iterations of the solver on the small matrices; the program's default is 500.
ITERATIONS = (20, 100, 500, 20_000)
TOLERANCE = 1e-5


def starts(
    problem: Problem, column: str, iterations: int, size: int, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Q-Transform's starts, transforms learned by so many iterations: A (count, D, R), W."""
    recipe = transforms.Recipe(q_transform.Settings().transfer_rank, "column_projection", size)
    found = []
    for index in range(-(-count // recipe.restarts)):
        rng = np.random.default_rng([transforms.LIBRARY_SEED, recipe.rank, index])
        X = _signed(problem, size, rng) if column == SIGNED else _absolute(problem, recipe, rng)
        source = Problem.without_model(Dataset.from_array(X), recipe.rank)
        begun = [random_start(source.dataset, recipe.rank, rng) for _ in range(recipe.restarts)]
        A, W = (np.stack(factors) for factors in zip(*begun, strict=True))
        solved = hals.solve(source, A, W, iterations, TOLERANCE)
        found.append(transforms.least_squares(X, *transforms.equal_norms(*solved)))
    library = transforms.TransformLibrary(*map(np.concatenate, zip(*found, strict=True)))
    padding = q_transform.Settings().padding
    return q_transform.applied(library, problem, padding, Shard(0, 0, count, seed))


def _absolute(problem: Problem, recipe: transforms.Recipe, rng: np.random.Generator) -> np.ndarray:
    source = Source(recipe.size, recipe.rank, recipe.noise)
    return PROCESSES[recipe.process].make(source, problem.dataset.X, rng)


def _signed(problem: Problem, size: int, rng: np.random.Generator) -> np.ndarray:
    X = problem.dataset.X
    columns = rng.choice(X.shape[1], min(size, X.shape[1]), replace=False)
    return np.maximum(rng.standard_normal((size, X.shape[0])) @ X[:, columns], 0.0)
