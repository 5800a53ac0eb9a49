"""Converged random restarts of one rank, and one start for each mode among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.compare.alignment import component_stability
from bnmf_core.compare.distances import find_distance
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.compare.modes import find_modes
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.evidence.parts import Work
from bnmf_core.explorers import random_restarts
from bnmf_core.numerics.threads import one_blas_thread

METRIC = "max_angle"
# Number of restarts that are solved together.
BLOCK = 10


@dataclass(frozen=True, eq=False)
class Restarts:
    """Random restarts of one rank.

    Attributes
    ----------
    A : (M, D, R). W : (M, R, N). f : (M,) their losses.
    converged : how many of those that were made have converged. Only these are here, or all where
        there are none.
    made : how many there were.
    """

    A: np.ndarray
    W: np.ndarray
    f: np.ndarray
    converged: int
    made: int

    @classmethod
    def of(cls, problem: Problem, blocks: Sequence["Solved"]) -> "Restarts":
        """The converged factorizations of all blocks."""
        A, W, converged = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        selected = converged if converged.any() else np.ones_like(converged)
        f = problem.loss.values(problem, A[selected], W[selected])
        return cls(A[selected], W[selected], f, int(converged.sum()), converged.size)

    def arrays(self) -> dict[str, np.ndarray]:
        """All fields as named arrays, for storage."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def read(cls, arrays: Mapping[str, np.ndarray]) -> "Restarts":
        """The inverse of :meth:`arrays`."""
        A, W, f = (arrays[name] for name in ("A", "W", "f"))
        return cls(A, W, f, int(arrays["converged"]), int(arrays["made"]))

    @property
    def few(self) -> bool:
        """Whether fewer than half have converged, so that they do not speak for the others."""
        return 2 * self.converged < self.made

    def mode_count(self, threshold: float) -> float:
        """How many modes they are, see :meth:`modes`; NaN where they are too :attr:`few`."""
        return np.nan if self.few else float(self.modes(threshold).max()) + 1

    @property
    def best(self) -> int:
        """The restart with the smallest loss."""
        return int(self.f.argmin())

    def stability(self) -> float:
        """Mean angle, in degrees, between components of the best and their partners elsewhere.

        NaN where there is one restart only, or too :attr:`few`.
        """
        others = np.delete(self.A, self.best, axis=0)
        if not others.size or self.few:
            return np.nan
        return float(component_stability(others, self.A[self.best])["mean_angle"].mean())

    def modes(self, threshold: float) -> np.ndarray:
        """The mode of every restart, (M,), any two of one at most ``threshold`` degrees apart."""
        apart = pairwise(self.A, self.W, find_distance(METRIC))
        return find_modes(apart, threshold).labels


Solved = tuple[np.ndarray, np.ndarray, np.ndarray]


def solve_block(problem: Problem, shard: Shard, stopped: Stopped = never) -> Solved:
    """A (m, D, R), W (m, R, N) of a block of random restarts, and which have converged, (m,).

    Raises
    ------
    Cancelled
        When ``stopped()`` returned True.
    """
    explorer, settings = random_restarts.ALGORITHM, random_restarts.Settings()
    rng, made = shard.generator(), []
    with one_blas_thread():
        state = explorer.init(problem, settings, shard, rng)
        while state.active.size:
            raise_if_cancelled(stopped, "the restarts")
            state, batch = explorer.step(problem, state, settings, rng)
            made.append((batch.A, batch.W, batch.diagnostics.get("converged", np.zeros(0, bool))))
    A, W, converged = (np.concatenate(parts) for parts in zip(*made, strict=True))
    return A, W, converged


def made_of(problem: Problem, blocks: Sequence[Shard], work: Work) -> dict[str, np.ndarray]:
    """The restarts of these blocks, as named arrays."""
    solved = work.make(1.0, solve_block, [(problem, block) for block in blocks])
    return Restarts.of(problem, solved).arrays()


def shards(restarts: int, seed: int) -> list[Shard]:
    """The blocks of so many restarts."""
    return [
        Shard(i, start, min(BLOCK, restarts - start), seed)
        for i, start in enumerate(range(0, restarts, BLOCK))
    ]


def highest_of_each(labels: np.ndarray, log_joint: np.ndarray, most: int) -> np.ndarray:
    """The restart with the largest log joint of each mode; the best ``most`` of these."""
    order = np.argsort(-log_joint, kind="stable")
    first = np.unique(labels[order], return_index=True)[1]
    return order[np.sort(first)][:most]
