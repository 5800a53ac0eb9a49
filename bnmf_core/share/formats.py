"""File formats in which a run can be saved."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pandas as pd

from bnmf_core.analysis.named import Named
from bnmf_core.compare.topics import RELEVANCE
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.names import no_formula, numbered
from bnmf_core.core.particles import Particles, write_datatree
from bnmf_core.data.split import split
from bnmf_core.passes.weights import weights_of_all
from bnmf_core.registry import model_of
from bnmf_core.share import profiles
from bnmf_core.share.anndata_file import write_anndata
from bnmf_core.share.gene_lists import gene_lists, gmt
from bnmf_core.store.notes import Note
from bnmf_core.store.run_store import RunStore
from bnmf_core.version import VERSION

# Features of each component in a list.
LISTED = 50


@dataclass(frozen=True, eq=False)
class Exported:
    """Input of an export.

    dataset : the observations that the run saw. whole : all stored observations. named : names and
    notes on components and modes of these data.
    """

    particles: Particles
    dataset: Dataset
    whole: Dataset
    named: Named

    @property
    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """A (D, R) and W (R, N) of the factorization that fits best, in double precision."""
        i = int(np.argmin(self.particles.error))
        A, W = (np.asarray(F[i], dtype=float) for F in (self.particles.A, self.particles.W))
        return A, W


@dataclass(frozen=True)
class Format:
    """A file format: its label, its writer, and whether it holds only the best fit."""

    label: str
    write: Callable[[Exported, BinaryIO], None]
    of_best: bool = True


def _netcdf(run: Exported, file: BinaryIO) -> None:
    """NetCDF with all notes as an attribute, and the note on each component and mode."""
    tree = run.particles.to_datatree(run.dataset)
    if notes := run.named.notes:
        A = tree["posterior"]["A"]
        components, modes = run.named.of_each(A.to_numpy().reshape(-1, *A.shape[2:]))
        of_each = np.array([[_caption(note) for note in some] for some in components], dtype=object)
        near = np.array([_caption(note) for note in modes], dtype=object)
        chain, draw, _, component = A.dims
        tree["posterior"] = (
            tree["posterior"]
            .to_dataset()
            .assign(
                component_note=((chain, draw, component), of_each.reshape(*A.shape[:2], -1)),
                mode_note=((chain, draw), near.reshape(A.shape[:2])),
            )
        )
        entries = [{"kind": note.kind, "name": note.name, "text": note.text} for note in notes]
        tree.attrs["notes"] = json.dumps(entries, ensure_ascii=False)
    write_datatree(tree, file)


def _scores(run: Exported, file: BinaryIO) -> None:
    """A row per particle, with the notes on its mode and its components."""
    table = run.particles.scores()
    if run.named.notes:
        components, modes = run.named.of_each(np.asarray(run.particles.A))
        columns = {"mode_note": modes}
        for r in range(run.particles.R):
            columns[f"component_{r + 1}_note"] = [some[r] for some in components]
        for column, notes in columns.items():
            if any(notes):
                table[column] = [no_formula(_caption(note)) for note in notes]
    table.to_csv(file, index=False)


def _signatures(run: Exported, file: BinaryIO) -> None:
    """A of the factorization that fits best, in the layout of SigProfiler."""
    file.write(profiles.written(profiles.signatures_table(run.dataset.features, run.best[0])))


def _activities(run: Exported, file: BinaryIO) -> None:
    """W of the factorization that fits best, in the layout of SigProfiler."""
    names = run.dataset.features, run.dataset.observations
    table = profiles.activities_table(*names, *run.best)
    file.write(profiles.written(table))


def _gmt(run: Exported, file: BinaryIO) -> None:
    """The strongest features of each component of the factorization that fits best."""
    A = run.best[0]
    names = numbered([], A.shape[1])
    lists = gene_lists(run.dataset, A[None], ["best fit"], names, LISTED, RELEVANCE)
    file.write(gmt(lists, run.dataset.name))


def _h5ad(run: Exported, file: BinaryIO) -> None:
    """The data with the factorization that fits best."""
    particles = run.particles
    facts = {
        "program": f"bnmf {particles.info.get('version', VERSION)}",
        "data_hash": run.dataset.hash,
        "run": json.dumps(particles.spec.to_dict()),
        "error": float(particles.error.min()),
    }
    write_anndata(file, run.dataset, *run.best, facts)


def _spectra(run: Exported, file: BinaryIO) -> None:
    """A of the factorization that fits best, in the layout of cNMF: a row for each component."""
    A = run.best[0]
    file.write(cnmf_table(A.T, range(1, A.shape[1] + 1), run.dataset.features))


def _usages(run: Exported, file: BinaryIO) -> None:
    """W of the factorization that fits best, in the layout of cNMF: a row for each observation."""
    W = run.best[1]
    file.write(cnmf_table(W.T, run.dataset.observations, range(1, len(W) + 1)))


def _all_weights(run: Exported, file: BinaryIO) -> None:
    """W of the factorization that fits best, transposed (N, R): of all observations in blocks."""
    (A, W), particles = run.best, run.particles
    if run.whole.whole is None:
        np.save(file, W.T)
        return
    if particles.trace:
        raise SettingsError(
            "The weights of draws are kept of the sample only; take the weights of an optimum, "
            "such as that of random restarts."
        )
    model, chosen = model_of(particles)
    shape = run.whole.whole.blocks.N, particles.R
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for W in weights_of_all(run.whole, A, model.loss(chosen)):
        file.write(np.ascontiguousarray(W.T).data)


def cnmf_table(values: np.ndarray, rows: Sequence[object], columns: Sequence[object]) -> bytes:
    """Tab-separated text with an empty heading above the row names, as cNMF writes it.

    >>> cnmf_table(np.array([[0.5, 2.0]]), [1], ["MYC", "TP53"])
    b'\\tMYC\\tTP53\\n1\\t0.5\\t2.0\\n'
    """
    index, heads = ([no_formula(str(name)) for name in names] for names in (rows, columns))
    table = pd.DataFrame(values, index, heads)
    return table.to_csv(sep="\t", lineterminator="\n").encode()


def _caption(note: Note | None) -> str:
    return note.caption if note else ""


# By file extension.
FORMATS = {
    "npz": Format("NumPy (NPZ)", lambda run, file: run.particles.save(file), False),
    "nc": Format("NetCDF (ArviZ)", _netcdf, False),
    "csv": Format("Scores (CSV)", _scores, False),
    "signatures.txt": Format("Signatures of the best (SigProfiler)", _signatures),
    "gmt": Format("Strongest features of the best (GMT)", _gmt),
    "h5ad": Format("Data and the best (AnnData)", _h5ad),
    "spectra.txt": Format("Spectra of the best (cNMF)", _spectra),
    "usages.txt": Format("Usages of the best (cNMF)", _usages),
    "weights.npy": Format("All weights of the best (NPY)", _all_weights),
    "activities.txt": Format("Activities of the best (SigProfiler)", _activities),
}


def write(store: RunStore, run_id: str, ending: str, file: BinaryIO) -> int:
    """Write a run in a format and return the number of particles in it.

    Raises
    ------
    NotFoundError, StoreError
        When there is no such run, or it cannot be read.
    """
    record, particles = store.run(run_id), store.particles(run_id)
    dataset = whole = store.dataset(record.dataset)
    if record.spec.holdout:
        dataset = dataset.columns(split(dataset, record.spec.holdout)[0])
    named = Named.on(dataset, store.notes.of(record.dataset))
    FORMATS[ending].write(Exported(particles, dataset, whole, named), file)
    return 1 if FORMATS[ending].of_best else particles.M
