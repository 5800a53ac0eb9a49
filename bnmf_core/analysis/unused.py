"""Stored results that nothing uses any more: comparisons of deleted runs, datasets without runs.

Comparisons can be computed again, so removing them loses nothing; a dataset has to be imported
again.
"""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bnmf_core.analysis import by_hand, ranks
from bnmf_core.analysis.comparison import ABOUT, comparison_key
from bnmf_core.analysis.stages import STAGES
from bnmf_core.compare.distances import suited
from bnmf_core.core.errors import BNMFError
from bnmf_core.registry import label_of
from bnmf_core.store import files
from bnmf_core.store.lost import is_lost
from bnmf_core.store.run_store import RunStore

COMPARISON, DATASET, LEFTOVER, COMPUTED = "comparison", "dataset", "leftover", "computed"
# Folder → description of the parts of a store.
PARTS = {"datasets": "data", "runs": "runs", "analyses": "comparisons"}
OTHERS = "studies and others"


@dataclass(frozen=True)
class Unused:
    """Something that may be removed.

    Attributes
    ----------
    kind : "comparison", "dataset", "leftover" (of something that was deleted or interrupted), or
        "computed" (a comparison that can be opened, and would be computed again).
    key : the dataset's id, or the folder's name. label : what it is, in words.
    bytes : its size on disk. folders : where it is.
    """

    kind: str
    key: str
    label: str
    bytes: int
    folders: tuple[Path, ...]


def disk_usage(store: RunStore) -> dict[str, int]:
    """Contents of a store, in words → bytes on the disk."""
    sizes = {words: files.size_of(store.root / folder) for folder, words in PARTS.items()}
    return sizes | {OTHERS: max(files.size_of(store.root) - sum(sizes.values()), 0)}


def find_computed(store: RunStore) -> list[Unused]:
    """Comparisons that can be opened; without them they are computed again when they are."""
    names, made = {run.id: run for run in store.runs()}, store.made()
    found = []
    for folder in _folders(store.root / "analyses"):
        if _is_current(folder, made):
            runs = [names[one] for one in files.read_json(folder / ABOUT)["runs"] if one in names]
            of = ", ".join(run.name or label_of(run.spec.algorithm) for run in runs)
            found.append(_unused(COMPUTED, folder.name, f"Comparison of {of}", folder))
    return found


def find_unused(store: RunStore) -> list[Unused]:
    """Removable parts of a store: the owner's datasets, and parts without an owner."""
    return [*_comparisons(store), *_leftovers(store), *_datasets(store)]


def remove_unused(store: RunStore, chosen: Iterable[Unused]) -> int:
    """Remove these, if nothing has come to use them meanwhile; returns the bytes that are free."""
    freed = 0
    for one in chosen:
        if one.kind == DATASET and not store.remove_dataset(one.key):
            continue
        for folder in one.folders:
            shutil.rmtree(folder, ignore_errors=True)
        freed += one.bytes
    return freed


def _comparisons(store: RunStore) -> list[Unused]:
    found, current = (
        [],
        {stage.name(suited(unit)) for stage in STAGES.values() for unit in (False, True)}
        | {by_hand.FOLDER},
    )
    made = store.made()
    for folder in _folders(store.root / "analyses"):
        if _is_current(folder, made):
            outdated = [part for part in _folders(folder) if part.name not in current]
            if outdated:
                label = "Parts of a comparison that another version made"
                found.append(_unused(COMPARISON, folder.name, label, *outdated))
        else:
            label = "A comparison of runs that are gone, have gone on, or of another version"
            found.append(_unused(COMPARISON, folder.name, label, folder))
    return found


def _is_current(folder: Path, made: dict[str, int]) -> bool:
    """Whether a comparison on screen would be read from here; ``made`` is how far each run is."""
    with suppress(BNMFError, KeyError, TypeError):
        about = files.read_json(folder / ABOUT)
        parts = list(zip(about["runs"], about["particles"], strict=True))
        same = all(made.get(run_id) == count for run_id, count in parts)
        return same and folder.name == comparison_key(parts)
    return False


def _leftovers(store: RunStore) -> list[Unused]:
    known = store.made()
    return [
        _unused(LEFTOVER, folder.name, "Files of a run that was deleted", folder)
        for folder in _folders(store.root / "runs")
        if folder.name not in known and not is_lost(folder)
    ]


def _datasets(store: RunStore) -> list[Unused]:
    used = store.datasets_in_use()
    found = []
    for entry in store.dataset_entries():
        if entry.id not in used:
            label = f"Data without runs: {entry.name} ({entry.D:,} × {entry.N:,})"
            # Another owner may have the same data: then only the entry is removed.
            shared = store.dataset_is_shared(entry.id)
            places = ("datasets", ranks.FOLDER)
            folders = () if shared else tuple(store.root / place / entry.id for place in places)
            found.append(_unused(DATASET, entry.id, label, *folders))
    return found


def _unused(kind: str, key: str, label: str, *folders: Path) -> Unused:
    return Unused(kind, key, label, sum(map(files.size_of, folders)), folders)


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("*") if path.is_dir())
