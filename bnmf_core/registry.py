"""Every algorithm there is. A new one is a file and a line here; forms, tests and docs follow."""

from bnmf_core.explorers import (
    all_modes,
    dsgd,
    nndsvdar,
    nvi,
    q_svgd,
    q_transform,
    random_restarts,
    rrt,
    single_mode,
    svgd,
)
from bnmf_core.models import MODELS
from bnmf_core.nouns.algorithm import Algorithm
from bnmf_core.nouns.errors import NotFoundError
from bnmf_core.nouns.model import Model
from bnmf_core.samplers import gibbs, hmc

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.key: algorithm
    for algorithm in (
        q_transform.ALGORITHM,
        random_restarts.ALGORITHM,
        nndsvdar.ALGORITHM,
        single_mode.ALGORITHM,
        all_modes.ALGORITHM,
        gibbs.ALGORITHM,
        hmc.ALGORITHM,
        svgd.ALGORITHM,
        q_svgd.ALGORITHM,
        dsgd.ALGORITHM,
        rrt.ALGORITHM,
        nvi.ALGORITHM,
    )
}


def algorithms() -> list[str]:
    """Keys of all algorithms, in the order in which they are offered."""
    return list(ALGORITHMS)


def models() -> list[str]:
    """Keys of all models."""
    return list(MODELS)


def algorithm(key: str) -> Algorithm:
    """The algorithm with this key, or a sentence that lists the keys there are."""
    return _find(ALGORITHMS, key, "algorithm")


def model(key: str) -> Model:
    """The model with this key, or a sentence that lists the keys there are."""
    return _find(MODELS, key, "model")


def _find(entries: dict, key: str, kind: str):
    if key not in entries:
        raise NotFoundError(f"There is no {kind} {key!r}; there are {', '.join(entries)}.")
    return entries[key]
