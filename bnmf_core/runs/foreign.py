"""Store factorizations of other programs as runs."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bnmf_core import registry
from bnmf_core.compare.distances.invariants import invariants
from bnmf_core.core import settings
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import USUAL_MODEL, RunSpec
from bnmf_core.data.foreign import Foreign
from bnmf_core.store import folders
from bnmf_core.store.run_store import RunStore
from bnmf_core.version import VERSION

# In the place of an algorithm's key.
ALGORITHM = registry.FOREIGN
LABEL = registry.label_of(ALGORITHM)


def foreign_particles(dataset: Dataset, found: Sequence[Foreign]) -> Particles:
    """Factorizations of one rank with their errors and log joint densities under the usual model.

    Draws have their chains and a trace; every other factorization is a separate chain.

    Raises
    ------
    RunError
        When a density cannot be computed, or the rank does not fit the data.
    """
    A = np.stack([item.A for item in found])
    W = np.stack([item.W for item in found])
    M, R = len(found), A.shape[2]
    chosen = registry.model(USUAL_MODEL)
    open_settings: object = settings.build(chosen.Settings, {}, chosen.label)
    problem = Problem.prepare(dataset, chosen, open_settings, R)
    f = problem.loss.values(problem, A, W)
    log_joint = chosen.log_joint(problem, A, W, f)
    if not np.isfinite(log_joint).all():
        raise RunError(
            f"The model “{chosen.label}” gives no density to "
            f"{found[int(np.argmin(np.isfinite(log_joint)))].name!r}."
        )
    numbers = np.arange(M)
    drawn = all(item.chain is not None for item in found)
    chain = np.array([item.chain for item in found]) if drawn else numbers
    draw = np.array([item.draw for item in found]) if drawn else np.zeros(M, dtype=np.int64)
    error = problem.loss.measured(dataset, f)
    trace = {
        "chain": chain,
        "sweep": draw,
        "warm_up": np.zeros(M, dtype=bool),
        "log_joint": log_joint,
        "error": error,
        **invariants(A, W),
    }
    arrays = {
        "A": A,
        "W": W,
        "ids": numbers,
        "chain": chain,
        "draw": draw,
        "weights": np.full(M, 1.0 / M),
        "log_joint": log_joint,
        "error": error,
        "seconds": np.zeros(M),
    }
    notes = list(dict.fromkeys(item.note for item in found if item.note))
    spec = RunSpec(ALGORITHM, R, USUAL_MODEL, M)
    return Particles.from_arrays(
        arrays,
        spec,
        {},
        trace if drawn else {},
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


def bring(store: RunStore, dataset: Dataset, found: Sequence[Foreign], name: str = "") -> list[str]:
    """Store factorizations as complete runs, see :func:`as_runs`, and return their ids.

    Raises
    ------
    RunError
        When they do not fit the data.
    """
    every = as_runs(dataset, found, name)
    dataset_id = store.add_dataset(dataset)
    return [keep(store, dataset_id, particles, called) for particles, called in every]


def as_runs(
    dataset: Dataset, found: Sequence[Foreign], name: str = ""
) -> list[tuple[Particles, str]]:
    """Group factorizations into runs with names.

    There is one run for each number of components, and for draws one for each file. ``name`` : of
    the runs; "" to name them after their sources.

    Raises
    ------
    RunError
        When they do not fit the data.
    """
    groups: dict[tuple[int, str], list[Foreign]] = defaultdict(list)
    for item in found:
        file = "" if item.chain is None else f"{item.source} {item.name}"
        groups[item.A.shape[1], file].append(item)
    return [
        (foreign_particles(dataset, groups[key]), name or _named(groups[key]))
        for key in sorted(groups)
    ]


def keep(store: RunStore, dataset_id: str, particles: Particles, name: str) -> str:
    """Store particles as a complete run and return its id."""
    claim = store.life.enter(dataset_id, particles.spec, name)
    store.life.begin(claim)
    folders.write_particles(store.run_folder(claim.run_id), particles, final=True)
    message = " ".join(particles.info.get("notes", ()))
    store.life.end(claim, "complete", message, done=particles.M, fraction=1.0)
    return claim.run_id


def _named(found: Sequence[Foreign]) -> str:
    """The sources of a run, the first of many."""
    first, *others = dict.fromkeys(item.source for item in found)
    return f"{first} and {len(others)} more" if others else first
