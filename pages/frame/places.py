"""Where the runs of one owner are, and what works on them; those used lately are at hand."""

import shutil
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bnmf_core.core import events
from bnmf_core.core.limits import Limits
from bnmf_core.lazy import lazy
from bnmf_core.runs.background import Background
from bnmf_core.store.guest import GuestStore
from bnmf_core.store.home import OWNERS
from bnmf_core.store.run_store import RunStore
from bnmf_core.store.shares import Shares
from pages.frame.owners import EVERYBODY

if TYPE_CHECKING:
    from bnmf_core import JobRunner
    from bnmf_core.runs.hall import Hall
    from studies.background import StudyRunner

# The engine, which the first page does without.
executors = lazy("bnmf_core.runs.executors")
halls = lazy("bnmf_core.runs.hall")
jobs = lazy("bnmf_core.runs.jobs")

SHARES, SEEN = "shares", "seen"
# Seconds after which a place that nobody has looked at is put away, if nothing is made there.
IDLE = 900.0
# Seconds between two looks for such places, and for owners who have not come again.
EVERY = 60.0
DAY = 24 * 3600.0


class Place:
    """What is one owner's.

    Parameters
    ----------
    store : his runs. hall : asked for when the first run is looked at. host : the place of whoever
        shows them, where they are somebody else's.

    Attributes
    ----------
    used : when it was last asked for, in seconds that only go forward.
    """

    def __init__(
        self, store: RunStore, hall: Callable[[], "Hall"], host: "Place | None" = None
    ) -> None:
        self.store, self._hall, self._host = store, hall, host
        self.used = time.monotonic()
        self._hands: dict[str, Background] = {}
        self._lock = threading.Lock()
        self._runner: JobRunner | None = None

    @property
    def runner(self) -> "JobRunner":
        """The job runner; its threads live as long as the place."""
        with self._lock:
            if self._runner is None:
                # What is computed for one is there for the other.
                analyses = None if self._host is None else self._host.runner.analyses
                self._runner = jobs.JobRunner(self.store, self._hall(), analyses)
            return self._runner

    @cached_property
    def studies(self) -> "StudyRunner":
        """The runner of studies."""
        from studies.background import StudyRunner  # noqa: PLC0415  (slow to import)

        return StudyRunner(self.store.root / "studies")

    def hand(self, kind: str) -> Background:
        """What makes works of one kind, one at a time."""
        with self._lock:
            return self._hands.setdefault(kind, Background())

    @property
    def busy(self) -> bool:
        """Whether something is being made here."""
        working = any(hand.working for hand in self._hands.values())
        studying = "studies" in self.__dict__ and self.studies.working
        return working or studying or any(run.active for run in self.store.runs())

    def close(self) -> None:
        """Stop after the current steps; unfinished runs can be resumed."""
        if self._runner is not None:
            self._runner.close()


class Places:
    """The places of all owners under one folder.

    Parameters
    ----------
    home : the folder of the owner of a server that nobody shares, and of those of all others.
    limits : what one owner may take.
    """

    def __init__(self, home: Path, limits: Limits) -> None:
        self.home, self.limits = home, limits
        self.shares = Shares(home / SHARES)
        self._places: dict[str, Place] = {}
        self._lock = threading.Lock()
        self._hall: Hall | None = None
        self._looked = time.monotonic()

    def hall(self) -> "Hall":
        """What all places share."""
        with self._lock:
            if self._hall is None:
                allowed = executors.allowed_schedulers
                self._hall = halls.Hall(schedulers=allowed, limits=self.limits)
            return self._hall

    def of(self, owner: str) -> Place:
        """The place of an owner, made if he is new."""
        return self._at_hand(owner, lambda: Place(self._store(owner), self.hall))

    def shown(self, token: str) -> Place:
        """What a link shows.

        Raises
        ------
        NotFoundError
            When there is no such link, or it was taken back.
        """
        share = self.shares.find(token)
        host, folder = self.of(share.owner), self._folder(share.owner)
        return self._at_hand(
            f"shown {token}", lambda: Place(GuestStore(folder, share.run_ids), self.hall, host)
        )

    def close(self) -> None:
        """Stop everything after the current steps."""
        for place in self._places.values():
            place.close()
        if self._hall is not None:
            self._hall.close()

    def _at_hand(self, key: str, make: Callable[[], Place]) -> Place:
        with self._lock:
            if key not in self._places:
                self._places[key] = make()
            place = self._places[key]
            place.used = time.monotonic()
        self._put_away()
        return place

    def _folder(self, owner: str) -> Path:
        return self.home if owner == EVERYBODY else self.home / OWNERS / owner

    def _store(self, owner: str) -> RunStore:
        folder = self._folder(owner)
        store = RunStore(folder, most=round(self.limits.disk * 1e9))
        if owner != EVERYBODY:
            (folder / SEEN).touch()
        return store

    def _put_away(self) -> None:
        """Now and then, close what nobody uses, and remove those who have not come again."""
        now = time.monotonic()
        with self._lock:
            if now - self._looked < EVERY:
                return
            self._looked = now
            idle = [key for key, place in self._places.items() if now - place.used > IDLE]
        for key in idle:
            if not self._places[key].busy:
                with self._lock:
                    place = self._places.pop(key)
                place.close()
        if self.limits.keep_days:
            self._remove_old(time.time() - self.limits.keep_days * DAY)

    def _remove_old(self, before: float) -> None:
        """Remove the owners who were last here before this time, in seconds since 1970."""
        for seen in self.home.glob(f"{OWNERS}/*/{SEEN}"):
            folder = seen.parent
            gone = folder.with_name(f".{folder.name}")
            with self._lock:  # who comes at this moment is kept, or begins anew
                if folder.name in self._places or seen.stat().st_mtime >= before:
                    continue
                folder.rename(gone)
            for share in self.shares.of(folder.name):
                self.shares.take_back(folder.name, share.token)
            shutil.rmtree(gone, ignore_errors=True)
            events.tell("owner removed", owner=folder.name)
