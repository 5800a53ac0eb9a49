"""Runs shared with others through a secret link until it is revoked."""

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.store import files

TOKEN = re.compile(r"[\w-]{22}")
UNKNOWN = (
    "What this link shows is not there: it was taken back, or the link is not whole. Ask whoever "
    "gave it to you for a new one."
)


@dataclass(frozen=True)
class Share:
    """Runs of an owner that everyone with the token may view.

    created : seconds since 1970.
    """

    token: str
    owner: str
    run_ids: tuple[str, ...]
    name: str
    created: float


class Shares:
    """All shared links, one file each.

    Parameters
    ----------
    folder : of the files; created with the first link.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, owner: str, run_ids: Sequence[str], name: str = "") -> Share:
        """Share these runs; the same runs always have the same link."""
        for share in self.of(owner):
            if set(share.run_ids) == set(run_ids):
                return share
        share = Share(secrets.token_urlsafe(16), owner, tuple(run_ids), name, time.time())
        files.write_json(self._path(share.token), asdict(share))
        return share

    def find(self, token: str) -> Share:
        """The runs behind a link.

        Raises
        ------
        NotFoundError
            When there is no such link or it was revoked.
        """
        if not TOKEN.fullmatch(token) or not (path := self._path(token)).is_file():
            raise NotFoundError(UNKNOWN)
        return _read(path)

    def of(self, owner: str) -> list[Share]:
        """Links of an owner, newest first, without damaged ones."""
        found = []
        for path in self._folder.glob("*.json"):
            with suppress(StoreError):
                found.append(_read(path))
        return sorted((s for s in found if s.owner == owner), key=lambda s: -s.created)

    def take_back(self, owner: str, token: str) -> None:
        """Revoke a link.

        Raises
        ------
        NotFoundError
            When the owner has no such link.
        """
        if self.find(token).owner != owner:
            raise NotFoundError(UNKNOWN)
        files.remove(self._path(token))

    def _path(self, token: str) -> Path:
        # Hashed, so that file names do not reveal links.
        return self._folder / f"{hashlib.sha256(token.encode()).hexdigest()[:32]}.json"


def _read(path: Path) -> Share:
    fields = files.read_json(path)
    try:
        return Share(**fields | {"run_ids": tuple(fields["run_ids"])})
    except (KeyError, TypeError) as error:
        raise StoreError(f"The link in {path.name} cannot be read: {error}.") from error
