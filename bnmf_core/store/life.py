"""The life cycle of a run: its states, its claims and its transitions.

    queued → running → complete, cancelled, interrupted or failed
      ↑  ↘ cancelled, interrupted                    │
      └──────────── resume ──────────────────────────┘  (not of a complete one)

A process that queues a run claims it with a token and renews the claim (``beat``) for as long as it
lives; a claim that is not renewed lapses, and the run counts as interrupted. Every transition is a
compare-and-swap: the row changes only if state and claim are unchanged since they were read, so of
two processes that change the same run, one fails.
"""

import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from bnmf_core.core.errors import RunError, StoreError
from bnmf_core.core.plain import Value
from bnmf_core.core.spec import RunSpec
from bnmf_core.store import records
from bnmf_core.store.database import Database
from bnmf_core.store.records import RunRecord, this_process
from bnmf_core.version import VERSION

RESUMABLE = ("cancelled", "interrupted", "failed")
ENDED = ("complete", *RESUMABLE)
CANCEL = "cancel"
# Attempts at a transition while others change the same run.
MOST_TRIES = 100


class Claim(NamedTuple):
    """A claimed run and the token of the claim."""

    run_id: str
    token: str


class Life:
    """Moves runs of one owner from state to state.

    Parameters
    ----------
    database : the index. owner : whose runs.
    clock : seconds since 1970, the same for all processes. process : names this process.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Callable[[], float] = time.time,
        process: Callable[[], str] = this_process,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._process = process

    # For the process that requests a run

    def enter(
        self,
        dataset_id: str,
        spec: RunSpec,
        name: str = "",
        launch: str | None = None,
        launch_name: str = "",
        scheduler: str = "",
    ) -> Claim:
        """Enter a new run as queued, claimed by this process.

        ``launch`` is shared by runs that belong together, None for one that stands alone;
        ``scheduler`` : address of the scheduler whose workers make it, "" for this machine.
        """
        now, claim = self._clock(), Claim(secrets.token_hex(4), self._new_token())
        record = records.begun(
            claim.run_id,
            self._owner,
            dataset_id,
            spec,
            now,
            name=name,
            launch=launch or claim.run_id,
            token=claim.token,
            launch_name=launch_name,
            scheduler=scheduler,
        )
        records.insert(self._database, record)
        return claim

    def resume(self, run_id: str, scheduler: str = "") -> Claim:
        """Queue a run that was cancelled, interrupted or failed, claimed by this process.

        ``scheduler`` : as of :meth:`enter`, wherever it was begun.

        Raises
        ------
        RunError
            When another process resumed it first, or it is complete.
        """
        claim = Claim(run_id, self._new_token())

        def queue(seen: RunRecord) -> dict[str, Value]:
            if seen.status not in RESUMABLE:
                raise RunError(f"Run {run_id} is {seen.status}; there is nothing to resume.")
            known = [part for part in seen.version.split(", ") if part]
            versions = ", ".join(dict.fromkeys([*known, VERSION]))
            return {
                "status": "queued",
                "message": "",
                "token": claim.token,
                "wish": "",
                "heartbeat": self._clock(),
                "version": versions,
                "scheduler": scheduler,
            }

        self._move(run_id, queue)
        return claim

    def cancel(self, run_id: str) -> None:
        """Cancel a run: at once while it is queued, after its current step while it runs."""

        def stop(seen: RunRecord) -> dict[str, Value]:
            if seen.status == "queued":
                return {"status": "cancelled", "message": "Cancelled before it began."}
            return {"wish": CANCEL} if seen.status == "running" else {}

        self._move(run_id, stop)

    def delete(self, run_id: str) -> None:
        """Remove the entry of a run that is not active.

        Raises
        ------
        StoreError
            When it is active.
        """
        if run_id in records.select(self._database, self._owner, "AND id = ?", (run_id,))[1]:
            records.remove_unreadable(self._database, self._owner, run_id)
            return
        for _ in range(MOST_TRIES):
            seen = self._read(run_id)
            if seen.as_of(self._clock()).active:
                raise StoreError(f"Run {run_id} is still running; cancel it before deleting it.")
            if records.remove(self._database, seen):
                return
        raise StoreError(f"Run {run_id} is being changed by others; try again.")

    # For the process that has claimed a run

    def begin(self, claim: Claim) -> bool:
        """Start a claimed run; False if it is no longer queued under this claim."""
        now = self._clock()
        values: dict[str, Value] = {"status": "running", "message": "Preparing", "heartbeat": now}
        return self._move_own(claim, ("queued",), values)

    def report(self, claim: Claim, **progress: Value) -> bool:
        """Write progress and renew the claim; False if the claim was lost."""
        return self._move_own(claim, ("running",), progress | {"heartbeat": self._clock()})

    def end(self, claim: Claim, status: str, message: str = "", **last: Value) -> bool:
        """Set the final status; False if the claim was lost."""
        if status not in ENDED:
            raise StoreError(f"A run cannot end as {status!r}; it ends as one of {ENDED}.")
        values: dict[str, Value] = {
            "status": status,
            "message": message,
            "remaining": None,
            "wish": "",
        }
        return self._move_own(claim, records.ACTIVE, values | last)

    def withdraw(self, claim: Claim, message: str) -> bool:
        """Give up a claimed run that has not begun; it can be resumed."""
        values: dict[str, Value] = {"status": "interrupted", "message": message}
        return self._move_own(claim, ("queued",), values)

    def beat(self, claim: Claim) -> str:
        """Renew a claim and return "" (continue), "cancel" or "lost"."""
        if not self._move_own(claim, records.ACTIVE, {"heartbeat": self._clock()}):
            return "lost"
        seen = self._read(claim.run_id)
        return seen.wish if seen.token == claim.token else "lost"

    # Transitions

    def _move(self, run_id: str, decide: Callable[[RunRecord], dict[str, Value]]) -> None:
        """Apply the changes that ``decide`` returns for the present state; {} for none."""
        for _ in range(MOST_TRIES):
            seen = self._read(run_id)
            values = decide(seen.as_of(self._clock()))
            if not values or records.swap(self._database, seen, **values):
                return
        raise RunError(f"Run {run_id} is being changed by others; try again.")

    def _move_own(self, claim: Claim, states: tuple[str, ...], values: dict[str, Value]) -> bool:
        """Change a run only if it still has this claim."""
        return records.swap_held(self._database, self._owner, *claim, states, values)

    def _read(self, run_id: str) -> RunRecord:
        return records.find(self._database, self._owner, run_id)

    def _new_token(self) -> str:
        return f"{self._process()}:{secrets.token_hex(4)}"
