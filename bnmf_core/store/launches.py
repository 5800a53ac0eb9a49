"""Runs that were started together, as one launch."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnmf_core.store.life import RESUMABLE
from bnmf_core.store.records import RunRecord


@dataclass(frozen=True)
class Launch:
    """A launch.

    id : shared by its runs. runs : those that still exist, in the order of their start.
    """

    id: str
    runs: tuple[RunRecord, ...]

    @property
    def name(self) -> str:
        """Its name, "" without one."""
        return self.runs[0].launch_name

    @property
    def dataset(self) -> str:
        """Id of its data."""
        return self.runs[0].dataset

    @property
    def rank(self) -> int:
        """The number of components of its first run."""
        return self.runs[0].spec.rank

    @property
    def created(self) -> float:
        """When it began, seconds since 1970."""
        return self.runs[0].created

    @property
    def active(self) -> bool:
        """Whether any of its runs is waiting or running."""
        return any(run.active for run in self.runs)

    @property
    def shown(self) -> list[str]:
        """Ids of the runs that are active or have particles."""
        return [run.id for run in self.runs if run.active or run.done]

    @property
    def resumable(self) -> list[str]:
        """Ids of the runs that can be resumed."""
        return [run.id for run in self.runs if run.status in RESUMABLE]

    @property
    def status(self) -> str:
        """The common status of its runs; "incomplete" if they differ.

        While any run is active: "queued" if all are, else "running".
        """
        states = {run.status for run in self.runs}
        if self.active:
            return "running" if states != {"queued"} else "queued"
        return states.pop() if len(states) == 1 else "incomplete"


def grouped(runs: Sequence[RunRecord]) -> list[Launch]:
    """Group runs, newest first, by launch; the newest launch comes first."""
    of_launch: dict[str, list[RunRecord]] = {}
    for run in runs:
        of_launch.setdefault(run.launch, []).append(run)
    return [Launch(launch, tuple(reversed(found))) for launch, found in of_launch.items()]
