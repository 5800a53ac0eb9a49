"""What people show to others: runs behind a link that nobody can guess, until it is taken back."""

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
    """Runs of an owner, which whoever has the token may look at.

    created : seconds since 1970.
    """

    token: str
    owner: str
    run_ids: tuple[str, ...]
    name: str
    created: float


class Shares:
    """All that is shown to others, one file each.

    Parameters
    ----------
    folder : where they lie; made when the first one is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, owner: str, run_ids: Sequence[str], name: str = "") -> Share:
        """Show these runs; the same ones have one link, which is there already the second time."""
        for share in self.of(owner):
            if set(share.run_ids) == set(run_ids):
                return share
        share = Share(secrets.token_urlsafe(16), owner, tuple(run_ids), name, time.time())
        files.write_json(self._path(share.token), asdict(share))
        return share

    def find(self, token: str) -> Share:
        """What a link shows.

        Raises
        ------
        NotFoundError
            When there is no such link, or it was taken back.
        """
        if not TOKEN.fullmatch(token) or not (path := self._path(token)).is_file():
            raise NotFoundError(UNKNOWN)
        return _read(path)

    def of(self, owner: str) -> list[Share]:
        """What an owner shows, the newest first; a link that is damaged is left out."""
        found = []
        for path in self._folder.glob("*.json"):
            with suppress(StoreError):
                found.append(_read(path))
        return sorted((s for s in found if s.owner == owner), key=lambda s: -s.created)

    def take_back(self, owner: str, token: str) -> None:
        """Show it to nobody any more.

        Raises
        ------
        NotFoundError
            When the owner shows no such thing.
        """
        if self.find(token).owner != owner:
            raise NotFoundError(UNKNOWN)
        files.remove(self._path(token))

    def _path(self, token: str) -> Path:
        # Whoever sees the names of files does not know the links.
        return self._folder / f"{hashlib.sha256(token.encode()).hexdigest()[:32]}.json"


def _read(path: Path) -> Share:
    told = files.read_json(path)
    try:
        return Share(**told | {"run_ids": tuple(told["run_ids"])})
    except (KeyError, TypeError) as error:
        raise StoreError(f"The link in {path.name} cannot be read: {error}.") from error
