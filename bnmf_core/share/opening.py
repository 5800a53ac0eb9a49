"""Archives opened: what is whole goes into a store, what is not is left out with a sentence.

An archive may come from a stranger: names are looked at before anything is written, sizes are
counted while it is unpacked, every file is held against its sum, and arrays against the data.
"""

import hashlib
import json
import re
import secrets
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.core.particles import ARRAYS, Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.share.archive import ANALYSES, DATA, FORMAT, MANIFEST, NOTES, RUNS
from bnmf_core.store import folders, notes, records
from bnmf_core.store.datasets import read_dataset
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import RunStore

# What may be unpacked: bytes of one archive, and of its list of contents.
MOST, MOST_LISTED = 8 * 10**9, 10**8
NAME = re.compile(
    r"(dataset|notes|runs/[0-9a-f]{8}|analyses/[0-9a-f]{12})(/[A-Za-z0-9][\w.-]*)+\.(json|npy|npz)"
)
ENDED = ("complete", "cancelled", "interrupted", "failed")
# Names that become parts of file names.
PART = re.compile(r"\w[\w -]*")
BLOCK = 2**20
DAMAGED = "its files are missing or damaged"

Source: TypeAlias = str | Path | BinaryIO
# Its name and its bytes.
Member: TypeAlias = tuple[str, Iterator[bytes]]


@dataclass(frozen=True, eq=False)
class Archive:
    """What an archive holds, as far as it can be read.

    dataset : the data. runs : their entries, those whose files are whole. particles : by run id.
    said : a sentence for each thing that could not be read or is to be known."""

    dataset: Dataset
    runs: tuple[Mapping[str, Any], ...]
    particles: Mapping[str, Particles]
    said: tuple[str, ...]


@dataclass(frozen=True)
class Opened:
    """What of an archive is in the store now: ids of runs, and sentences about the rest."""

    run_ids: tuple[str, ...]
    said: tuple[str, ...]


def load_archive(source: Source) -> Archive:
    """Read an archive of runs without a store.

    Parameters
    ----------
    source : path of a ZIP file that the dashboard or ``bnmf archive`` wrote, or an open file.

    Raises
    ------
    StoreError
        When it is no archive, or its data are not whole.

    Examples
    --------
    >>> from bnmf_core import load_archive
    >>> try:
    ...     load_archive("elsewhere.zip")
    ... except ValueError as error:
    ...     print(error)
    There is no file 'elsewhere.zip'.
    """
    with tempfile.TemporaryDirectory() as aside:
        return _read(source, Path(aside))


def open_archive(store: RunStore, source: Source) -> Opened:
    """Bring an archive into a store; runs that are there already are not brought in twice.

    Raises
    ------
    StoreError
        When it is no archive, or its data are not whole.
    """
    with tempfile.TemporaryDirectory(dir=store.root) as aside:
        archive = _read(source, Path(aside))
        dataset_id = store.add_dataset(archive.dataset)
        taken, run_ids, fresh = store.made(), [], True
        for entry in archive.runs:
            particles = archive.particles[entry["id"]]
            run_id = entry["id"]
            if run_id in taken:
                fresh = False
                if _is_here(store, run_id, particles):
                    run_ids.append(run_id)
                    continue
                run_id = secrets.token_hex(4)
            folders.write_particles(store.run_folder(run_id), particles, final=True)
            record = _record(entry, run_id, store.owner, dataset_id, particles)
            records.insert(store.database, record)
            run_ids.append(run_id)
        _take_notes(store, dataset_id, Path(aside) / NOTES)
        for folder in sorted((Path(aside) / ANALYSES).glob("*")) if fresh else ():
            target = store.root / ANALYSES / folder.name
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                shutil.copytree(folder, target)
    return Opened(tuple(run_ids), archive.said)


def _take_notes(store: RunStore, dataset_id: str, folder: Path) -> None:
    """Bring in the names and notes on these data that are not here."""
    here = {note.id for note in store.notes.of(dataset_id)}
    for path in sorted(folder.glob("*.npz")):
        if path.stem not in here and notes.ID.fullmatch(path.stem):
            with suppress(StoreError):  # one that is none is left out
                note = notes.read(path)
                store.notes.keep(dataset_id, note.kind, note.A, note.name, note.text, note.id)


def _is_here(store: RunStore, run_id: str, particles: Particles) -> bool:
    try:
        return store.particles(run_id).digest == particles.digest
    except BNMFError:  # another owner's, or torn
        return False


def _record(
    entry: Mapping[str, Any], run_id: str, owner: str, dataset_id: str, particles: Particles
) -> RunRecord:
    return RunRecord(
        id=run_id,
        owner=owner,
        name=clean_name(entry.get("name", "")),
        dataset=dataset_id,
        launch=clean_name(entry.get("launch") or run_id),
        spec=particles.spec,
        status=entry["status"],
        message=clean_name(entry.get("message", ""), 1000),
        created=float(entry.get("created", 0.0)),
        seconds=float(entry.get("seconds", 0.0)),
        done=particles.M,
        fraction=1.0,
        remaining=None,
        token="",
        heartbeat=0.0,
        wish="",
        version=clean_name(entry.get("version", "")),
        launch_name=clean_name(entry.get("launch_name", "")),
        busy=float(entry.get("busy", 0.0)),
    )


def _read(source: Source, aside: Path) -> Archive:
    manifest, said = _unpack(source, aside)
    listed = manifest.get("runs")
    try:
        dataset = read_dataset(aside / DATA)
    except (BNMFError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            "The data in this archive are damaged or missing, and without them nothing of it can "
            "be opened. Save or download it anew."
        ) from error
    if dataset.hash != manifest.get("dataset"):
        raise StoreError("The data in this archive are not those that its list names.")
    runs, particles = [], {}
    for entry in listed if isinstance(listed, list) else []:
        try:
            particles[entry["id"]] = _particles(aside, entry, dataset)
        except (BNMFError, KeyError, TypeError, ValueError, AttributeError) as error:
            named = clean_name(entry.get("id", "?")) if isinstance(entry, dict) else "?"
            reason = str(error).rstrip(".")
            # Where it was unpacked says nothing to anybody.
            reason = DAMAGED if str(aside) in reason else reason
            said.append(f"Run {named} is left out: {reason}.")
            continue
        runs.append(entry)
    if not runs:
        said.append("No run in this archive could be read; its data are here.")
    return Archive(dataset, tuple(runs), particles, tuple(said))


def _particles(aside: Path, entry: Mapping[str, Any], dataset: Dataset) -> Particles:
    """The particles of one run, held against the data.

    Raises
    ------
    ValueError, KeyError, TypeError
        Saying what is wrong with them.
    """
    if not re.fullmatch(r"[0-9a-f]{8}", entry["id"]):
        raise StoreError("its name is none of ours")
    if entry["status"] not in ENDED:
        raise StoreError(f"it ended as {entry['status']!r}, which is not known here")
    folder = aside / RUNS / entry["id"]
    meta = json.loads((folder / folders.COMPLETE).read_text()) if folder.exists() else {}
    if not meta:
        raise StoreError(DAMAGED)
    for kind in ("diagnostics", "trace", "totals"):
        for name in meta.get(kind, ()):
            if not PART.fullmatch(name):
                raise StoreError(f"an array of it is called {clean_name(name)!r}")
    found = folders.read_particles(folder)
    if found.spec != RunSpec.from_dict(entry["spec"]):
        raise StoreError("its settings are told in two ways")
    A, W = np.array(found.A), np.array(found.W)
    if A.ndim != 3 or W.ndim != 3 or A.shape[1] != dataset.D or W.shape[2] > dataset.N:
        raise StoreError("its factorizations do not fit the data")
    if (A.shape[0], A.shape[2]) != W.shape[:2] or A.shape[2] != found.spec.rank:
        raise StoreError("its factorizations do not fit each other")
    if not (np.isfinite(A).all() and np.isfinite(W).all() and A.min() >= 0 and W.min() >= 0):
        raise StoreError("its factorizations have values that are negative or no numbers")
    whole = Particles.from_arrays(
        {name: np.array(getattr(found, name)) for name in ARRAYS},
        found.spec,
        {key: np.array(value) for key, value in found.diagnostics.items()},
        {key: np.array(value) for key, value in found.trace.items()},
        found.info,
        {key: np.array(value) for key, value in found.totals.items()},
    )
    if whole.digest != entry["digest"]:
        raise StoreError("its factorizations are not those that the list names")
    return whole


def _unpack(source: Source, aside: Path) -> tuple[dict[str, Any], list[str]]:
    """Write the members that are whole into a folder; the manifest, and sentences on the others."""
    if isinstance(source, str | Path) and not Path(source).is_file():
        raise StoreError(f"There is no file {str(source)!r}.")
    said: list[str] = []
    sums: Mapping[str, str] = {}
    manifest: dict[str, Any] | None = None
    damaged: set[str] = set()
    left = min(MOST, shutil.disk_usage(aside).free // 2)
    for name, blocks in _contents(source, said):
        if name == MANIFEST and manifest is None:
            manifest = _manifest(b"".join(_up_to(blocks, MOST_LISTED)))
            sums = manifest["sha256"]
            if manifest["format"] > FORMAT:
                said.append(
                    "This archive was written by a newer version of this program "
                    f"({clean_name(manifest.get('program', '?'))}); what this one understands is "
                    "opened."
                )
            continue
        if manifest is None:
            break
        if name not in sums or not NAME.fullmatch(name) or ".." in name:
            continue
        path, digest = aside / name, hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as file:
                for block in _up_to(blocks, left):
                    digest.update(block)
                    file.write(block)
                    left -= len(block)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            digest = hashlib.sha256(b"damaged")
        if digest.hexdigest() != sums[name]:
            path.unlink()
            damaged.add(name)
    if manifest is None:
        raise StoreError(
            "This is no archive of runs: its list of contents is missing. Choose a file that was "
            "saved here by “Archive”, or written by `bnmf archive`."
        )
    missing = {name for name in sums if NAME.fullmatch(name) and not (aside / name).exists()}
    computed = {name for name in missing if name.startswith(ANALYSES)}
    if computed:
        shutil.rmtree(aside / ANALYSES, ignore_errors=True)
        said.append("What was computed of the runs is damaged and will be computed again.")
    if damaged - computed:
        many = len(damaged - computed)
        files_are = "1 damaged file is" if many == 1 else f"{many} damaged files are"
        said.append(f"{files_are} left out.")
    return manifest, said


def _manifest(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
        if isinstance(found, dict) and isinstance(found["sha256"], dict):
            found["format"] = int(found["format"])
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise StoreError("This is no archive of runs: its list of contents cannot be read.")


def _contents(source: Source, said: list[str]) -> Iterator[Member]:
    """Members and their bytes, in order; of a file that was cut off, those before its end."""
    try:
        with zipfile.ZipFile(source) as archive:
            for info in archive.infolist():
                yield info.filename, _blocks(archive, info)
            return
    except zipfile.BadZipFile:
        pass
    except OSError as error:
        raise StoreError(f"The archive cannot be read: {error.strerror or error}.") from error
    said.append("This archive is cut off: what came before its end is opened.")
    if isinstance(source, str | Path):
        with Path(source).open("rb") as file:
            yield from _one_after_the_other(file)
    else:
        source.seek(0)
        yield from _one_after_the_other(source)


def _blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as member:
        while block := member.read(BLOCK):
            yield block


def _one_after_the_other(file: BinaryIO) -> Iterator[Member]:
    """Members by what stands before each, where the list at the end of the file is missing."""
    while len(head := file.read(30)) == 30 and head[:4] == b"PK\x03\x04":
        method, packed = struct.unpack_from("<H", head, 8)[0], struct.unpack_from("<L", head, 18)[0]
        name_length, extra_length = struct.unpack_from("<HH", head, 26)
        name = file.read(name_length).decode(errors="replace")
        file.seek(extra_length, 1)
        content = file.read(packed)
        if len(content) < packed:
            return
        yield name, iter(_inflated(content) if method == zipfile.ZIP_DEFLATED else [content])


def _inflated(content: bytes) -> Iterator[bytes]:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    while content and not inflate.eof:
        yield inflate.decompress(content, BLOCK)
        content = inflate.unconsumed_tail


def _up_to(blocks: Iterator[bytes], most: int) -> Iterator[bytes]:
    total = 0
    for block in blocks:
        total += len(block)
        if total > most:
            raise StoreError(
                "This archive would need more room than there is for one; nothing of it was kept."
            )
        yield block
