"""Factorizations that other programs made, kept as runs that every page analyses."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bnmf_core import registry
from bnmf_core.data.foreign import Foreign
from bnmf_core.nouns import settings
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import RunError
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.store import folders
from bnmf_core.store.run_store import RunStore
from bnmf_core.version import VERSION

# In the place of an algorithm's key.
ALGORITHM = "foreign"
LABEL = "Brought from elsewhere"


def foreign_particles(dataset: Dataset, found: Sequence[Foreign], model: str) -> Particles:
    """Factorizations of one rank with their errors and log joint densities under the model.

    Raises
    ------
    RunError
        When a density cannot be computed, or the rank does not fit the data.
    """
    A, W = np.stack([one.A for one in found]), np.stack([one.W for one in found])
    M, R = len(found), A.shape[2]
    chosen = registry.model(model)
    open_settings: object = settings.build(chosen.Settings, {}, chosen.label)
    problem = Problem.prepare(dataset, chosen, open_settings, R)
    squared = squared_errors(dataset.X, A, W, dataset.mask)
    log_joint = chosen.log_joint(problem, A, W, squared)
    if not np.isfinite(log_joint).all():
        raise RunError(
            f"The model “{chosen.label}” gives no density to "
            f"{found[int(np.argmin(np.isfinite(log_joint)))].name!r}."
        )
    numbers = np.arange(M)
    arrays = {
        "A": A,
        "W": W,
        "ids": numbers,
        "chain": numbers,
        "draw": np.zeros(M, dtype=np.int64),
        "weights": np.full(M, 1.0 / M),
        "log_joint": log_joint,
        "error": np.sqrt(squared / dataset.squared_norm),
        "seconds": np.zeros(M),
    }
    notes = list(dict.fromkeys(one.note for one in found if one.note))
    spec = RunSpec(ALGORITHM, R, model, M)
    return Particles.from_arrays(
        arrays,
        spec,
        {},
        {},
        {
            "version": VERSION,
            "dataset": dataset.name,
            "algorithm_label": LABEL,
            "settings": {},
            "model_settings": settings.values_of(problem.model_settings),
            "stop_reason": "complete",
            "run_seconds": 0.0,
            "failed_chains": [],
            "notes": notes,
        },
    )


def bring(
    store: RunStore,
    dataset: Dataset,
    found: Sequence[Foreign],
    name: str = "",
    model: str = "gaussian",
) -> list[str]:
    """Keep factorizations as complete runs, one for each number of components; their ids.

    Raises
    ------
    RunError
        When they do not fit the data.
    """
    by_rank: dict[int, list[Foreign]] = defaultdict(list)
    for one in found:
        by_rank[one.A.shape[1]].append(one)
    every = [foreign_particles(dataset, by_rank[rank], model) for rank in sorted(by_rank)]
    dataset_id = store.add_dataset(dataset)
    run_ids: list[str] = []
    for particles in every:
        claim = store.life.enter(dataset_id, particles.spec, name)
        store.life.begin(claim)
        folders.write_particles(store.run_folder(claim.run_id), particles, final=True)
        message = " ".join(particles.info["notes"])
        store.life.end(claim, "complete", message, done=particles.M, fraction=1.0)
        run_ids.append(claim.run_id)
    return run_ids
