"""Everything that belongs to one owner, and its removal."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from bnmf_core.core import events
from bnmf_core.core.errors import StoreError
from bnmf_core.core.names import listed
from bnmf_core.store import disk, quota
from bnmf_core.store.home import EVERYBODY, KEY, OWNERS, SHARES, owners_in, store_of
from bnmf_core.store.run_store import RunStore
from bnmf_core.store.shares import Shares

# In the folder of a server, names that are not part of its own store.
OF_OTHERS = (OWNERS, SHARES, KEY)
# Suffix of folders that are being removed.
GONE = ".gone"


@dataclass(frozen=True)
class Theirs:
    """Numbers of runs, active runs, datasets, names, links and bytes of an owner."""

    owner: str
    runs: int
    active: int
    data: int
    names: int
    links: int
    bytes: int

    @property
    def counts(self) -> str:
        """The numbers in words."""
        numbers = (
            (self.runs, "run", "runs"),
            (self.data, "dataset", "datasets"),
            (self.names, "name or note", "names and notes"),
            (self.links, "link shown to others", "links shown to others"),
        )
        return listed(f"{count:,} {one if count == 1 else many}" for count, one, many in numbers)


def owners(home: Path) -> list[str]:
    """Everybody who has something under this folder."""
    own = [EVERYBODY] if any((home / name).is_dir() for name in quota.ALLOWED_BEFORE) else []
    return own + [folder.name for folder in owners_in(home)]


def theirs(home: Path, store: RunStore) -> Theirs:
    """Count what belongs to the owner of this store."""
    owner = EVERYBODY if store.root == home else store.root.name
    runs, parts = store.runs(), parts_of(home, owner)
    return Theirs(
        owner,
        len(runs) + len(store.unreadable()),
        sum(run.active for run in runs),
        len(store.datasets()),
        sum(path.is_file() for path in (store.root / "notes").rglob("*")),
        len(Shares(home / SHARES).of(owner)),
        sum(quota.size_of(part) if part.is_dir() else part.stat().st_size for part in parts),
    )


def forget(home: Path, owner: str) -> None:
    """Remove everything that belongs to an owner, whose runs must have ended.

    Raises
    ------
    StoreError
        When something of it cannot be removed.
    """
    remove(owner, take_away(home, owner))


def take_away(home: Path, owner: str) -> list[Path]:
    """Revoke an owner's links and rename the files to be removed; return their paths.

    Raises
    ------
    StoreError
        When it cannot be.
    """
    shares, gone = Shares(home / SHARES), []
    try:
        for share in shares.of(owner):
            shares.take_back(owner, share.token)
        for part in parts_of(home, owner):
            # A process that still uses the folder no longer writes into it.
            aside = part.with_name(f".{part.name}.{secrets.token_hex(4)}{GONE}")
            gone.append(part if part.name.endswith(GONE) else part.rename(aside))
    except OSError as error:
        raise _not_removed(owner, error) from error
    return gone


def remove(owner: str, gone: list[Path]) -> None:
    """Remove what :func:`take_away` has renamed."""
    try:
        for part in gone:
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part)
            else:
                part.unlink()
    except OSError as error:
        raise _not_removed(owner, error) from error
    events.tell("owner removed", owner=owner)


def _not_removed(owner: str, error: OSError) -> StoreError:
    return StoreError(
        f"What is kept of {owner!r} cannot be removed: {disk.reason(error)}; make its folder "
        "writable and try again."
    )


def parts_of(home: Path, owner: str) -> list[Path]:
    """The folders of an owner; for a server itself, everything that is nobody else's."""
    if owner != EVERYBODY:
        folder = store_of(home, owner)
        left = folder.parent.glob(f".{owner}.*{GONE}")  # by a removal that was broken off
        return [path for path in (*left, folder) if path.is_dir()]
    shared = (*OF_OTHERS, "transforms") if owners_in(home) else OF_OTHERS
    return sorted(path for path in home.iterdir() if path.name not in shared)
