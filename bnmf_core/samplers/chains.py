"""Chains that walk side by side: how a run's chains and draws are shared out, and what is kept.

The chains of one shard share every product with X. There are two shards at least, to keep two
cores busy, and more where the chains are many, so that a cluster can share them.
"""

from typing import Any, Protocol

import numpy as np

from bnmf_core.nouns.algorithm import Batch, Shard
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.settings import setting

FEWEST_SHARDS = 2
MOST_TOGETHER = 8


class ChainSettings(Protocol):
    """Settings with a number of chains among them."""

    @property
    def chains(self) -> int:
        """How many there are."""


def chains_setting(default: int) -> Any:
    """The declared setting "chains", the same for every sampler but for its default."""
    return setting(
        default,
        "Chains",
        "Independent chains; the draws are shared out among them.",
        minimum=1,
        maximum=64,
    )


def shard_sizes(settings: ChainSettings, particles: int) -> list[int]:
    """The draws of each group of chains; the first chains take the remainder."""
    chains = min(settings.chains, particles)
    each, rest = divmod(particles, chains)
    draws = each + (np.arange(chains) < rest)
    ends = np.cumsum(_groups(chains))[:-1]
    return [int(part.sum()) for part in np.split(draws, ends)]


def chains_of(settings: ChainSettings, shard: Shard) -> tuple[int, np.ndarray]:
    """The number of the shard's first chain, and the particles asked of each of its chains."""
    groups = _groups(settings.chains)
    if shard.size < groups[shard.index]:  # fewer particles than chains: each chain makes one
        return shard.start, np.ones(shard.size, dtype=int)
    count = int(groups[shard.index])
    each, rest = divmod(shard.size, count)
    return int(groups[: shard.index].sum()), each + (np.arange(count) < rest)


def _groups(chains: int) -> np.ndarray:
    """How many chains go together, for each shard."""
    shards = min(chains, max(FEWEST_SHARDS, -(-chains // MOST_TOGETHER)))
    each, rest = divmod(chains, shards)
    return each + (np.arange(shards) < rest)


def joined(problem: Problem, parts: list[Batch]) -> Batch:
    """The batches in their order as one; an empty one where there is none."""
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    if not parts:
        return Batch(np.empty((0, D, R)), np.empty((0, R, N)))
    return Batch(
        np.concatenate([part.A for part in parts]),
        np.concatenate([part.W for part in parts]),
        {
            key: np.concatenate([part.diagnostics[key] for part in parts])
            for key in parts[0].diagnostics
        },
        chain=np.concatenate([part.chain for part in parts]),
        warm_up=np.concatenate([part.warm_up for part in parts]),
    )
