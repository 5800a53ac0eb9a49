"""Every algorithm there is. A new one is a file and a line here; forms, tests and docs follow.

Packages add theirs through the entry points ``bnmf.algorithms`` and ``bnmf.models``.
"""

from bnmf_core.core import settings
from bnmf_core.core.algorithm import Algorithm, AnyAlgorithm
from bnmf_core.core.model import Model
from bnmf_core.core.particles import Particles
from bnmf_core.core.registry import Registry
from bnmf_core.explorers import (
    all_modes,
    dsgd,
    nndsvdar,
    q_svgd,
    q_transform,
    random_restarts,
    single_mode,
    svgd,
)
from bnmf_core.likelihoods import MODELS
from bnmf_core.samplers import gibbs_on_blocks, hmc, langevin, metropolis, mode_jumps, tempered_smc

ALGORITHMS = Registry(
    "algorithm",
    Algorithm,
    (
        q_transform.ALGORITHM,
        random_restarts.ALGORITHM,
        nndsvdar.ALGORITHM,
        single_mode.ALGORITHM,
        all_modes.ALGORITHM,
        gibbs_on_blocks.ALGORITHM,
        hmc.ALGORITHM,
        tempered_smc.ALGORITHM,
        mode_jumps.ALGORITHM,
        svgd.ALGORITHM,
        q_svgd.ALGORITHM,
        dsgd.ALGORITHM,
        metropolis.ALGORITHM,
        langevin.ALGORITHM,
    ),
    "bnmf.algorithms",
)


def algorithms() -> list[str]:
    """Keys of all algorithms, in the order in which they are offered.

    Examples
    --------
    >>> from bnmf_core import algorithms
    >>> "gibbs" in algorithms()
    True
    """
    return list(ALGORITHMS)


def model_for(kind: str) -> Model | None:
    """The first model that suits numbers of a kind; None where none says so."""
    return next((model for model in MODELS.values() if kind in model.suits), None)


def models() -> list[str]:
    """Keys of all models.

    Examples
    --------
    >>> from bnmf_core import models
    >>> "poisson" in models()
    True
    """
    return list(MODELS)


def algorithm(key: str) -> AnyAlgorithm:
    """The algorithm with this key, or a sentence that lists the keys there are."""
    return ALGORITHMS[key]


def model(key: str) -> Model:
    """The model with this key, or a sentence that lists the keys there are."""
    return MODELS[key]


# In the place of an algorithm's key: another program made the run.
FOREIGN = "foreign"


def label_of(key: str) -> str:
    """An algorithm's name on screen, also when it is no longer there."""
    if key == FOREIGN:
        return "Imported"
    return ALGORITHMS[key].label if key in ALGORITHMS else key


def members_of(*keys: str) -> str:
    """What algorithms make together, in one word, also when they are no longer there."""
    made = {ALGORITHMS[key].members if key in ALGORITHMS else "factorizations" for key in keys}
    return made.pop() if len(made) == 1 else "factorizations"


def model_of(particles: Particles) -> tuple[Model, object]:
    """The model of the run that made the particles, and its settings as the run took them.

    Raises
    ------
    NotFoundError, SettingsError
        When there is no such model any more, or a setting of it.
    """
    chosen = model(particles.spec.model)
    values = particles.info.get("model_settings", particles.spec.model_settings)
    return chosen, settings.build(chosen.Settings, values, chosen.label)
