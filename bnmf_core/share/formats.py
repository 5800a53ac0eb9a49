"""The particles of a run as files: every format that a run can be saved in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from bnmf_core.data.split import split
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.particles import Particles
from bnmf_core.store.run_store import RunStore


@dataclass(frozen=True)
class Format:
    """A kind of file: its name on screen, and ``(particles, dataset, file)`` that writes it.

    The dataset holds the observations that the run saw.
    """

    label: str
    write: Callable[[Particles, Dataset, BinaryIO], None]


# By the ending of the file's name.
FORMATS = {
    "npz": Format("NumPy (NPZ)", lambda particles, dataset, file: particles.save(file)),
    "nc": Format(
        "NetCDF (ArviZ)",
        lambda particles, dataset, file: particles.to_netcdf(file, dataset),
    ),
    "csv": Format(
        "Scores (CSV)",
        lambda particles, dataset, file: particles.scores().to_csv(file, index=False),
    ),
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
    FORMATS[ending].write(particles, dataset, file)
    return particles.M
