"""Runs that were started side by side, looked at as one thing."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnmf_core.store.life import RESUMABLE
from bnmf_core.store.records import RunRecord


@dataclass(frozen=True)
class Launch:
    """A launch.

    id : shared by its runs. runs : those that are still kept, in the order of their start.
    """

    id: str
    runs: tuple[RunRecord, ...]

    @property
    def name(self) -> str:
        """What it is called, "" while nobody has given it a name."""
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
        """Ids of the runs that there is something to see of, or will be."""
        return [run.id for run in self.runs if run.active or run.done]

    @property
    def resumable(self) -> list[str]:
        """Ids of the runs that can be gone on with."""
        return [run.id for run in self.runs if run.status in RESUMABLE]

    @property
    def status(self) -> str:
        """Running while any run is; then complete if all are, or what became of the others.

        "incomplete" where some are complete and others are not.
        """
        states = {run.status for run in self.runs}
        if self.active:
            return "running" if states != {"queued"} else "queued"
        return states.pop() if len(states) == 1 else "incomplete"


def grouped(runs: Sequence[RunRecord]) -> list[Launch]:
    """The launches of runs, these newest first; the newest launch first."""
    of_launch: dict[str, list[RunRecord]] = {}
    for run in runs:
        of_launch.setdefault(run.launch, []).append(run)
    return [Launch(launch, tuple(reversed(found))) for launch, found in of_launch.items()]
