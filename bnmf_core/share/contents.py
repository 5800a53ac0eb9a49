"""Read and validate the contents of an archive: data, runs and notes.

An archive may come from a stranger: checksums of files, types of entries and shapes of arrays are
checked.
"""

import hmac
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bnmf_core import registry
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.core.particles import ARRAYS, Particles, check_shapes
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.split import split
from bnmf_core.likelihoods import MODELS
from bnmf_core.numerics.matrix import is_sparse
from bnmf_core.runs.examples import FINISHED
from bnmf_core.share import schema
from bnmf_core.share.archive import ANALYSES, DATA, NOTES, RUNS, signature
from bnmf_core.share.schema import Entry
from bnmf_core.share.unpacking import ANEW, REMEDY, Source, reason_of, unpack
from bnmf_core.store import files, folders, notes, records
from bnmf_core.store.datasets import META, TEXTS, read_dataset
from bnmf_core.store.notes import Note
from bnmf_core.store.records import RunRecord

# Integer arrays of particles; the others are floating point.
COUNTED = ("ids", "chain", "draw")
# Columns that every sampler's trace has.
OF_STATES = ("chain", "sweep", "warm_up")
AGAIN = (
    "This archive was not written by this store, which cannot know whether the results in it are "
    "right: they are computed again when they are asked for."
)


@dataclass(frozen=True, eq=False)
class Archive:
    """The contents of an archive.

    dataset : the data. runs : their entries. particles : by run id. notes : names and notes on the
    data. notices : sentences on parts that could not be read, and warnings. trusted : whether this
    store signed the results.
    """

    dataset: Dataset
    runs: tuple[Mapping[str, Any], ...]
    particles: Mapping[str, Particles]
    notes: tuple[Note, ...]
    notices: tuple[str, ...]
    trusted: bool


def read(source: Source, aside: Path, root: Path | None, salvage: bool) -> Archive:
    """Unpack an archive into ``aside`` and validate it; results only if the store signed them.

    ``root`` : folder of the store, None for no results. ``salvage`` : leave out runs and
    notes that are damaged, rather than refuse the archive.

    Raises
    ------
    StoreError
        When it is no archive, or is not whole.
    """
    example = isinstance(source, str | Path) and Path(source).resolve().parent == FINISHED.resolve()

    def trust(listing: bytes, signed: bytes) -> bool:
        if root is None:
            return False
        return example or (bool(signed) and hmac.compare_digest(signature(root, listing), signed))

    unpacked = unpack(source, aside, trust, salvage)
    notices = list(unpacked.notices)
    manifest = unpacked.manifest
    what = "The data of this archive cannot be opened, and without them nothing of it"
    with _as_error(what, aside, REMEDY):
        dataset = _dataset(aside / DATA)
        if dataset.hash != manifest.dataset:
            raise StoreError("they are not those that its list names")

    @contextmanager
    def part(what: str) -> Iterator[None]:
        """Leave out a damaged part when salvaging; otherwise raise."""
        try:
            with _as_error(f"{what} {'is left out' if salvage else 'cannot be opened'}", aside):
                yield
        except StoreError as error:
            if not salvage:
                raise
            notices.append(str(error).removesuffix(f" {ANEW}"))

    entries: dict[str, Mapping[str, Any]] = {}
    particles = {}
    for number, raw in enumerate(manifest.runs, start=1):
        with part(f"Run {number} of this archive"):
            entry = schema.decoded(raw, Entry, "its entry")
            if entry.id in entries:
                raise StoreError(f"its id {entry.id} is that of another one")
            particles[entry.id] = _particles(aside / RUNS / entry.id, entry, dataset)
            entries[entry.id] = schema.clean(msgspec.to_builtins(entry))
    if not entries:
        notices.append("No run in this archive could be read; its data are here.")
    annotations = []
    for path in sorted((aside / NOTES).glob("*")):
        with part(f"The note {path.stem} of this archive"):
            annotations.append(_note(path, dataset.D))
    if (
        root is not None
        and not unpacked.trusted
        and any(name.startswith(ANALYSES) for name in manifest.sha256)
    ):
        notices.append(AGAIN)
    return Archive(
        dataset,
        tuple(entries.values()),
        particles,
        tuple(annotations),
        tuple(notices),
        unpacked.trusted,
    )


@contextmanager
def _as_error(what: str, aside: Path, remedy: str = ANEW) -> Iterator[None]:
    """Turn any exception while reading files into a StoreError."""
    try:
        yield
    except Exception as error:  # a damaged file can raise almost anything
        reason = reason_of(error)
        # The temporary path would mean nothing to the user.
        reason = "its files are missing" if str(aside) in reason else reason
        raise StoreError(f"{what}: {reason[:1].lower()}{reason[1:]}. {remedy}") from error


def _dataset(folder: Path) -> Dataset:
    """Rebuild the dataset from a folder; the caller compares its hash."""
    _check_stored(folder / "arrays.npz")
    meta = schema.converted(files.read_json(folder / META), schema.Data, META)
    if meta.texts:
        _check_stored(folder / TEXTS)
    if meta.whole is not None:  # a path of somebody else is never opened
        plain = files.read_json(folder / META)
        files.write_json(folder / META, plain | {"whole": plain["whole"] | {"path": ""}})
    found = read_dataset(folder)
    if is_sparse(found.X):
        found.X.check_format(full_check=True)
    for truth in found.truth:
        # Refuse known factorizations that do not fit the data.
        A, W = truth.A, truth.W
        whole = A.dtype == W.dtype == np.float64 and A.ndim == W.ndim == 2
        if not whole or (A.shape[0], W.shape) != (found.D, (A.shape[1], found.N)):
            raise StoreError("their known factorizations do not fit them")
        _check_factors(A, W)
    made = Dataset.from_array(
        found.X,
        features=found.features,
        observations=found.observations,
        labels=found.labels,
        mask=found.mask,
        image_shape=found.image_shape,
        map_shape=found.map_shape,
        name=found.name,
        unit=found.unit,
        source=clean_name(found.source, schema.LONGEST),
        truth=found.truth,
        features_are=found.features_are,
        descriptions=found.descriptions,
        texts=found.texts,
    )
    if found.hidden is not None:
        hidden = np.asarray(found.hidden)
        if (
            hidden.shape != (made.missing,)
            or hidden.dtype != np.float64
            or (hidden < 0).any()
            or np.isinf(hidden).any()
        ):
            raise StoreError("their held-out entries do not fit them")
        made = replace(made, hidden=hidden)
    if found.whole is not None:
        places = found.whole.sample
        fits = places.shape == (made.N,) and np.issubdtype(places.dtype, np.integer)
        if not fits or (np.diff(places) <= 0).any() or found.whole.blocks.D != made.D:
            raise StoreError("their sample does not fit the data that it is one of")
        made = replace(made, whole=found.whole)
    # Encoding fails for text that no file or page could hold.
    words_of = (*made.labels.values(), *made.descriptions.values())
    repr(made.source).join(str(x) for words in words_of for x in words.tolist()).encode()
    "".join(
        (*made.labels, *made.descriptions, made.unit, *(truth.name for truth in made.truth))
    ).encode()
    return made


def _check_factors(A: np.ndarray, W: np.ndarray) -> None:
    if not (np.isfinite(A).all() and np.isfinite(W).all() and A.min() >= 0 and W.min() >= 0):
        raise StoreError("factorizations have values that are negative or no numbers")


def _check_stored(path: Path) -> None:
    """Refuse compressed arrays, which might grow when they are read."""
    with zipfile.ZipFile(path) as arrays:
        if any(info.compress_type != zipfile.ZIP_STORED for info in arrays.infolist()):
            raise StoreError(f"the file {path.name} is packed")


def _note(path: Path, D: int) -> Note:
    """Read a name or note on data with D features."""
    _check_stored(path)
    arrays = files.read_arrays(path)
    schema.decoded(str(arrays["told"]).encode(), schema.NoteText, "what it says")
    if arrays["A"].dtype != np.float64 or len(arrays["A"]) != D:
        raise StoreError("it is on nothing of these data")
    return notes.read(path)


def _particles(folder: Path, entry: Entry, dataset: Dataset) -> Particles:
    """The particles of one run, checked against its entry and the data.

    Raises
    ------
    ValueError
        Saying what is wrong with them.
    """
    if not (folder / folders.COMPLETE).exists():
        raise StoreError("its files are missing")
    meta = files.read_json(folder / folders.COMPLETE)
    made = schema.converted(meta, schema.Made, folders.COMPLETE)
    if made.spec != entry.spec:
        raise StoreError("its settings in the list are not those beside its arrays")
    found = folders.read_particles(folder)
    spec = RunSpec.from_dict(schema.clean(msgspec.to_builtins(made.spec)))
    whole = Particles.from_arrays(
        {name: np.array(getattr(found, name)) for name in ARRAYS},
        spec,
        {key: np.array(value) for key, value in found.diagnostics.items()},
        {key: np.array(value) for key, value in found.trace.items()},
        schema.clean(meta["info"]),
        {key: np.array(value) for key, value in found.totals.items()},
    )
    files_there = {path.stem for path in (folder / "particles").iterdir()}
    if files_there != whole.arrays.keys():
        raise StoreError("it has files that it does not name")
    _check_arrays(whole, dataset)
    if whole.digest != entry.digest:
        raise StoreError("its factorizations are not those that the list names")
    # Refuse runs with an invalid setting of the model or a missing measure.
    if whole.spec.model in MODELS:
        registry.model_of(whole)
    record = entered(msgspec.to_builtins(entry), entry.id, "", dataset.hash, whole)
    shown = Comparison(entry.id, folder, (record,), (whole,), dataset)
    if len(shown.members) == 0 or not shown.losses:
        raise StoreError("nothing of it can be shown")
    return whole


def _check_arrays(particles: Particles, dataset: Dataset) -> None:
    """Refuse arrays with wrong types, shapes or values."""
    arrays = particles.arrays
    for name, array in arrays.items():
        kinds = "iu" if name in COUNTED else "f" if name in ARRAYS else "biuf"
        fits = array.dtype.kind in kinds and array.dtype.isnative
        if not fits or (name in ARRAYS and array.dtype.itemsize != 8):
            raise StoreError(f"its array {name} is of the type {array.dtype}")
    A, W = particles.A, particles.W
    if A.ndim != 3 or W.ndim != 3 or not A.size:
        raise StoreError("its factorizations are empty")
    check_shapes(arrays, particles.diagnostics, particles.trace)
    seen = split(dataset, particles.spec.holdout)[0].size if particles.spec.holdout else dataset.N
    if (A.shape[1], A.shape[2], W.shape[2]) != (dataset.D, particles.spec.rank, seen):
        raise StoreError("its factorizations do not fit the data")
    _check_factors(A, W)
    weights, error, seconds = particles.weights, particles.error, particles.seconds
    if not (weights.min() >= 0 and abs(weights.sum() - 1) < 1e-6):
        raise StoreError("its weights do not sum to 1")
    if not (error.min() >= 0 and seconds.min() >= 0 and np.isfinite(seconds).all()):
        raise StoreError("its errors or times are negative or no numbers")
    if np.isnan(particles.log_joint).any() or (particles.log_joint == np.inf).any():
        raise StoreError("its log joint densities are no numbers")
    counted = [getattr(particles, name) for name in COUNTED]
    if min(numbers.min() for numbers in counted) < 0 or len(np.unique(counted[0])) < particles.M:
        raise StoreError("the numbers of its factorizations are negative or there twice")
    if particles.trace and not set(OF_STATES) <= set(particles.trace):
        raise StoreError("its trace does not say of which chains and states it is")


def entered(
    entry: Mapping[str, Any], run_id: str, owner: str, dataset_id: str, particles: Particles
) -> RunRecord:
    """The record of an archived run for a store."""
    begun = records.begun(
        run_id,
        owner,
        dataset_id,
        particles.spec,
        entry["created"],
        **{name: entry[name] for name in ("name", "launch", "launch_name", "version", "message")},
    )
    further = {name: entry[name] for name in ("status", "seconds", "busy")}
    return replace(begun, done=particles.M, fraction=1.0, heartbeat=0.0, **further)
