"""The particles of a run as files: every format that a run can be saved in."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from bnmf_core.analysis.named import Named
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import no_formula
from bnmf_core.core.particles import Particles, write_datatree
from bnmf_core.data.split import split
from bnmf_core.share import profiles
from bnmf_core.store.notes import Note
from bnmf_core.store.run_store import RunStore


@dataclass(frozen=True, eq=False)
class Exported:
    """What is written of a run.

    dataset : the observations that the run saw. named : what people have said of components and
    modes of these data.
    """

    particles: Particles
    dataset: Dataset
    named: Named


@dataclass(frozen=True)
class Format:
    """A kind of file: its name on screen, and what writes it."""

    label: str
    write: Callable[[Exported, BinaryIO], None]


def _netcdf(run: Exported, file: BinaryIO) -> None:
    """With notes as attributes, and beside each component what was said of it."""
    tree = run.particles.to_datatree(run.dataset)
    if notes := run.named.notes:
        A = tree["posterior"]["A"]
        components, modes = run.named.of_each(A.to_numpy().reshape(-1, *A.shape[2:]))
        of_each = np.array([[_said(note) for note in some] for some in components], dtype=object)
        near = np.array([_said(note) for note in modes], dtype=object)
        chain, draw, _, component = A.dims
        tree["posterior"] = (
            tree["posterior"]
            .to_dataset()
            .assign(
                component_note=((chain, draw, component), of_each.reshape(*A.shape[:2], -1)),
                mode_note=((chain, draw), near.reshape(A.shape[:2])),
            )
        )
        told = [{"kind": note.kind, "name": note.name, "text": note.text} for note in notes]
        tree.attrs["notes"] = json.dumps(told, ensure_ascii=False)
    write_datatree(tree, file)


def _scores(run: Exported, file: BinaryIO) -> None:
    """A row per particle, with what was said of its mode and of its components."""
    table = run.particles.scores()
    if run.named.notes:
        components, modes = run.named.of_each(np.asarray(run.particles.A))
        said = {"mode_note": modes}
        for r in range(run.particles.R):
            said[f"component_{r + 1}_note"] = [some[r] for some in components]
        for column, notes in said.items():
            if any(notes):
                table[column] = [no_formula(_said(note)) for note in notes]
    table.to_csv(file, index=False)


def _signatures(run: Exported, file: BinaryIO) -> None:
    """A of the factorization that fits best, in the layout of SigProfiler."""
    best = int(np.argmin(run.particles.error))
    A = np.asarray(run.particles.A[best], dtype=np.float64)
    file.write(profiles.written(profiles.signatures_table(run.dataset.features, A)))


def _activities(run: Exported, file: BinaryIO) -> None:
    """W of the factorization that fits best, in the layout of SigProfiler."""
    best, dataset = int(np.argmin(run.particles.error)), run.dataset
    A, W = (np.asarray(of[best], dtype=np.float64) for of in (run.particles.A, run.particles.W))
    table = profiles.activities_table(dataset.features, dataset.observations, A, W)
    file.write(profiles.written(table))


def _said(note: Note | None) -> str:
    return note.said if note else ""


# By the ending of the file's name.
FORMATS = {
    "npz": Format("NumPy (NPZ)", lambda run, file: run.particles.save(file)),
    "nc": Format("NetCDF (ArviZ)", _netcdf),
    "csv": Format("Scores (CSV)", _scores),
    "signatures.txt": Format("Signatures of the best (SigProfiler)", _signatures),
    "activities.txt": Format("Activities of the best (SigProfiler)", _activities),
}


def write(store: RunStore, run_id: str, ending: str, file: BinaryIO) -> int:
    """Write a run in a format; how many particles it has.

    Raises
    ------
    NotFoundError, StoreError
        When there is no such run, or it cannot be read.
    """
    record, particles = store.run(run_id), store.particles(run_id)
    dataset = store.dataset(record.dataset)
    if record.spec.holdout:
        dataset = dataset.columns(split(dataset, record.spec.holdout)[0])
    named = Named.on(dataset, store.notes.of(record.dataset))
    FORMATS[ending].write(Exported(particles, dataset, named), file)
    return particles.M
