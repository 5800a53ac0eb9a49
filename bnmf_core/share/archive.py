"""Write archives: the runs of a comparison with their data and results in one ZIP file.

The first member, ``manifest.json``, lists the contents with their SHA-256; its signature,
the data, the runs, their analyses, a report and the program that repeats the runs follow. A store
recognizes its own results by the signature.
"""

import hashlib
import hmac
import json
import secrets
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from bnmf_core.findings.answer import Answer
from bnmf_core.share import code, report
from bnmf_core.store import files, folders, notes
from bnmf_core.store.datasets import write_dataset
from bnmf_core.version import VERSION

# Increased when older programs cannot read the new format.
FORMAT = 1
MANIFEST, DATA, RUNS, ANALYSES = "manifest.json", "dataset", "runs", "analyses"
NOTES, SIGNATURE = "notes", "signature.txt"
# A store's secret key for signing its archives.
KEY = "archive.key"
REPORT, PROGRAM = "report.html", "repeat.py"
# Fields of a run's record that an archive holds.
RUN_FIELDS = (
    "id",
    "name",
    "launch",
    "launch_name",
    "status",
    "message",
    "created",
    "seconds",
    "done",
    "version",
    "busy",
)


def write(path: Path, answer: Answer, readable: bool = True) -> None:
    """Write the archive of a comparison to a path, in full or not at all.

    ``readable`` : include the report and the program; opening the archive does not need them.

    Raises
    ------
    StoreError
        When the file cannot be written.
    """
    files.hand_over(path, "archive", lambda file: write_to(file, answer, readable))


def write_to(file: BinaryIO, answer: Answer, readable: bool = True) -> None:
    """Write the archive of a comparison into an open file; see :func:`write`."""
    comparison = answer.comparison
    with tempfile.TemporaryDirectory() as aside:
        members = dict(_members(answer, Path(aside)))
        texts = {}
        if readable:
            texts[REPORT] = report.report(answer)
            texts[PROGRAM] = code.script(comparison, f"bnmf-{comparison.key}.zip").encode()
        sums = {name: _sum(path.read_bytes()) for name, path in members.items()}
        manifest = {
            "format": FORMAT,
            "program": VERSION,
            "created": time.time(),
            "dataset": comparison.dataset.hash,
            "comparison": comparison.key,
            "runs": [
                {name: getattr(run, name) for name in RUN_FIELDS}
                | {"spec": run.spec.to_dict(), "digest": particles.digest}
                for run, particles in zip(comparison.runs, comparison.particles, strict=True)
            ],
            "sha256": sums | {name: _sum(text) for name, text in texts.items()},
        }
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            listing = json.dumps(manifest, indent=1).encode()
            archive.writestr(MANIFEST, listing)
            archive.writestr(SIGNATURE, signature(comparison.root, listing))
            for name, path in members.items():
                archive.write(path, name)
            for name, text in texts.items():
                archive.writestr(name, text)


def signature(root: Path, listing: bytes) -> bytes:
    """Sign a list of contents with the key of the store in this folder; empty if that fails.

    The key is created on first use.
    """
    path = root / KEY
    with suppress(OSError):
        if not path.exists():
            files.write(path, lambda file: file.write(secrets.token_bytes(32)))
            path.chmod(0o600)
        return hmac.new(path.read_bytes(), listing, hashlib.sha256).hexdigest().encode()
    return b""


def _members(answer: Answer, aside: Path) -> Iterator[tuple[str, Path]]:
    """Names in the archive and their files: data first, results last."""
    comparison = answer.comparison
    write_dataset(aside / DATA, comparison.dataset)
    yield from _files(aside / DATA, DATA)
    for run, particles in zip(comparison.runs, comparison.particles, strict=True):
        folder = aside / RUNS / run.id
        folders.write_particles(folder, particles, final=False)
        yield from _files(folder, f"{RUNS}/{run.id}")
    for note in answer.named.notes:
        notes.write(aside / NOTES / f"{note.id}.npz", note)
    yield from _files(aside / NOTES, NOTES)
    yield from _files(comparison.folder, f"{ANALYSES}/{comparison.key}")


def _files(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".part":
            yield f"{name}/{path.relative_to(folder).as_posix()}", path


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
