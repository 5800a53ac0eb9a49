"""Parallel chains: how a run's chains and draws are divided into shards, and thinning.

The chains of one shard share every product with X. There are two shards at least, to keep two
cores busy, and more where the chains are many, so that a cluster can share them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bnmf_core.core.algorithm import Batch, Shard
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting

FEWEST_SHARDS = 2
MOST_TOGETHER = 8


def chains_setting(default: int) -> int:
    """The declared setting "chains", the same for every sampler but for its default."""
    return setting(
        default,
        "Chains",
        "Number of independent chains; the draws are divided among them.",
        minimum=1,
        maximum=64,
    )


def warm_up_setting(default: int) -> int:
    """The declared setting "warm_up" of samplers that sweep."""
    return setting(
        default,
        "Warm-up sweeps",
        "Sweeps discarded before the first stored draw.",
        minimum=0,
        maximum=1_000_000,
    )


def thinning_setting(default: int) -> int:
    """The declared setting "thinning" of samplers that sweep."""
    return setting(
        default, "Sweeps per kept draw", "One draw in this many is kept.", minimum=1, maximum=10_000
    )


def shard_sizes(settings: Any, particles: int) -> list[int]:
    """The draws of each group of chains; the first chains take the remainder."""
    chains = min(settings.chains, particles)
    each, rest = divmod(particles, chains)
    draws = each + (np.arange(chains) < rest)
    ends = np.cumsum(_groups(chains))[:-1]
    return [int(part.sum()) for part in np.split(draws, ends)]


def chains_of(settings: Any, shard: Shard) -> tuple[int, np.ndarray]:
    """Number of the shard's first chain, and of the particles of each of its chains."""
    groups = _groups(settings.chains)
    if shard.size < groups[shard.index]:  # fewer particles than chains: each chain makes one
        return shard.start, np.ones(shard.size, dtype=int)
    count = int(groups[shard.index])
    each, rest = divmod(shard.size, count)
    return int(groups[: shard.index].sum()), each + (np.arange(count) < rest)


def _groups(chains: int) -> np.ndarray:
    """Number of chains in each shard."""
    shards = min(chains, max(FEWEST_SHARDS, -(-chains // MOST_TOGETHER)))
    each, rest = divmod(chains, shards)
    return each + (np.arange(shards) < rest)


def fraction(state: Any, settings: Any) -> float:
    """Part of a shard's sweeps, or other updates, that are done."""
    return float(state.sweeps / state.total)


def recorded(
    state: Any,
    draw: int,
    A: np.ndarray,
    W: np.ndarray,
    diagnostics: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> Batch:
    """States of the chains at their draw of this number, which is 0 or below in the warm-up.

    A chain that has made its draws goes on beside the others, unrecorded.

    Parameters
    ----------
    state : with ``draws`` (c,), the particles of each chain, and ``first``, the number of the first
        chain in the run.
    A : (c, R, D), W : (c, R, N), and diagnostics (c,), of all chains.
    """
    chosen = np.flatnonzero(state.draws >= draw)
    return Batch(
        A[chosen].transpose(0, 2, 1),
        W[chosen],
        {key: values[chosen] for key, values in diagnostics.items()},
        chain=state.first + chosen,
        warm_up=np.full(chosen.size, draw <= 0),
    )


def joined(problem: Problem, parts: list[Batch]) -> Batch:
    """The batches in their order as one; an empty one where there is none."""
    if not parts:
        return Batch.empty(problem)
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
