"""A model for each algorithm, and data that the model takes."""

from dataclasses import replace

import numpy as np

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.numerics.matrix import stored

USUAL = ("gaussian", "boolean")
# Settings of those that take long for their first particles.
BRIEF = {
    "tempered_smc": {"population": 12, "sweeps": 1, "effective": 0.5},
    "mode_jumps": {"restarts": 4, "pilot": 30, "bridge": 6, "warm_up": 3},
    "iasg": {"calibration": 60, "warm_up": 20, "thinning": 3},
    "metropolis": {"warm_up": 400, "thinning": 20},
    "langevin": {"warm_up": 400, "thinning": 20},
    "hmc": {"warm_up": 40, "leapfrog_steps": 15},
    "nvi": {"iterations": 60, "restarts": 2, "polish": 500},
    "box_restarts": {"max_iterations": 2000},
    "panpal": {"max_iterations": 300},
}


def model_of(key: str) -> str:
    """The first of the usual models that the algorithm works with."""
    algorithm = registry.algorithm(key)
    return next(model for model in USUAL if algorithm.works_with(registry.model(model)))


def suited(dataset: Dataset, model: str) -> Dataset:
    """The dataset; a model of yes and no sees which entries lie above the middle one."""
    if not registry.model(model).unfit(dataset):
        return dataset
    values = stored(dataset.X)
    threshold = min(np.median(values), 0.999 * values.max())
    return replace(dataset, X=(dataset.X > threshold).astype(float))


# What the loop does to a run depends on what the state is: one algorithm for each kind of state.
OF_EACH_STATE = list({one.State: one for one in reversed([*registry.ALGORITHMS.values()])}.values())
