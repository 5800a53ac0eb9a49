"""How well fifty restarts fit 1,797 digits: where a threshold comes from (paper 3, §6.1)."""

import numpy as np

from bnmf_core import RunSpec, load_sample, run

SAMPLE, RANK, RESTARTS, SEED = "digits", 10, 50, 0


def make() -> dict[str, object]:
    """The squared Frobenius errors of the restarts, and the noise that a Gaussian model takes."""
    data = load_sample(SAMPLE)
    found = run(data, RunSpec("random_restarts", RANK, "gaussian", RESTARTS, SEED))
    squared = np.square(found.error) * data.squared_norm
    return {
        "name": data.name,
        "rank": RANK,
        "objective": np.sort(squared).round(1).tolist(),
        "sigma": round(float(found.info["model_settings"]["sigma"]), 4),
    }
