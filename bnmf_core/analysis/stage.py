"""A stage: one part of the analysis of a comparison, stored in its own folder."""

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar, cast

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.core import events
from bnmf_core.core.errors import SchedulerError, StoreError
from bnmf_core.store import home, manifest

Result_co = TypeVar("Result_co", covariant=True)
Report = Callable[[float], None]
Stopped = Callable[[], bool]


Item = TypeVar("Item")


def parts(items: Sequence[Item], report: Report) -> Iterator[tuple[Item, Report]]:
    """Yield each item with a function for its progress; ``report`` gets that of all together."""
    for i, item in enumerate(items):

        def tell(part: float, i: int = i) -> None:
            report((i + part) / len(items))

        yield item, tell


@dataclass(frozen=True)
class Stage(Generic[Result_co]):
    """One part of an analysis.

    Attributes
    ----------
    key, label : its name, and what it does, in words.
    needs : stages whose results it reads; they are computed before it.
    version : counted up whenever the same comparison would give other results, or other files.
    compute : ``(comparison, folder, report, stopped)`` writes the result into the folder; reports
        the part that is done, 0 to 1, and raises Cancelled soon after ``stopped()`` says so.
    read : ``(comparison, folder) → Result``, typed, from what was written.
    spread : whether ``compute`` also takes an ``executor``, as of ``open_executor``, and has parts
        of its work made there instead of in threads of this process, with the same result.
    by_distance : whether there is a part of it for every distance that suits the comparison.
    weight : its share of the time, beside the others'.
    names_runs : whether its result holds ids of the runs, so that it fits no others.
    """

    key: str
    label: str
    needs: tuple["Stage[object]", ...]
    version: int
    compute: Callable[..., None]
    read: Callable[[Comparison, Path], Result_co]
    by_distance: bool = False
    spread: bool = False
    weight: float = 1.0
    names_runs: bool = False

    def name(self, metrics: Collection[str]) -> str:
        """Changes with everything beside the comparison that decides the result.

        So what another version has stored, or what was stored before a distance was added, is
        never taken for this stage's result. ``metrics`` : keys of the comparison's distances.
        """
        distances = list(metrics) if self.by_distance else []
        decides = (self.version, distances, [stage.name(metrics) for stage in self.needs])
        return f"{self.key}-{hashlib.sha256(repr(decides).encode()).hexdigest()[:8]}"

    def folder(self, comparison: Comparison) -> Path:
        """Folder of the result for this comparison."""
        return comparison.folder / self.name(comparison.metrics)

    @cached_property
    def behind(self) -> tuple["Stage[object]", ...]:
        """All that its result is made of, each stage once."""
        found = (behind for stage in self.needs for behind in (*stage.behind, stage))
        return tuple({stage.key: stage for stage in found}.values())

    def ready(self, comparison: Comparison) -> bool:
        """Whether its result of this comparison is stored and undamaged, and what it needs, too."""
        # A result is read together with those that it was made of.
        return all(stage.stored(comparison) for stage in (*self.behind, self))

    def stored(self, comparison: Comparison) -> bool:
        """Whether its own result of this comparison is stored and undamaged."""
        folder = self.folder(comparison)
        whole = manifest.is_whole(folder, self.label)
        if not whole:
            comparison.read_already.pop(folder.name, None)
        return whole

    def repaired(self, comparison: Comparison) -> str:
        """In a sentence, that its result was damaged and has been computed again; "" if not."""
        found = manifest.repaired(self.folder(comparison))
        if found is None:
            return ""
        return (
            f"The stored result of “{self.label}” was damaged on the disk ({found.text}) and has "
            "been computed again."
        )

    def of(self, comparison: Comparison) -> Result_co:
        """Its stored result of this comparison, read once.

        Raises
        ------
        StoreError
            When it has not been computed, or was damaged and has to be computed again.
        """
        if not self.ready(comparison):
            raise StoreError(f"{self.label}: this has not been computed yet.")
        folder, known = self.folder(comparison), comparison.read_already
        if folder.name not in known:
            known[folder.name] = self.read(comparison, folder)
        return cast("Result_co", known[folder.name])

    def perhaps(self, comparison: Comparison) -> Result_co | None:
        """Its stored result of this comparison; None where it has not been computed."""
        return self.of(comparison) if self.ready(comparison) else None

    def make(
        self,
        comparison: Comparison,
        report: Report,
        stopped: Stopped,
        executor: Executor | None = None,
    ) -> None:
        """Compute and store the result.

        Raises
        ------
        Cancelled
            When ``stopped()`` returned True; the next call resumes.
        SchedulerError
            When the cluster of the ``executor`` is lost; the next call resumes.
        """
        folder = self.folder(comparison)
        home.make(folder)
        manifest.keep_sound(folder)
        elsewhere = {} if executor is None else {"executor": executor}
        self.compute(comparison, folder, report, stopped, **elsewhere)
        manifest.write(folder, stage=self.label)

    def adopt(self, comparison: Comparison, source: Path) -> bool:
        """Adopt the result of an equal comparison, if it is complete; the two share their files.

        Stored files are never modified, only replaced, so the comparisons stay independent.
        """
        if not manifest.is_whole(source, self.label):
            return False
        folder = self.folder(comparison)
        shutil.rmtree(folder, ignore_errors=True)
        aside = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(aside, ignore_errors=True)
        try:
            shutil.copytree(source, aside, copy_function=_link)
            aside.rename(folder)
        except OSError:  # its owner has deleted it at this moment: it is computed
            shutil.rmtree(aside, ignore_errors=True)
            return False
        return True


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links, or another one
        shutil.copyfile(source, target)


Made = TypeVar("Made")
# The executor of a cluster; None: threads of this process.
Find = Callable[[], Executor | None]


def no_cluster() -> None:
    """Use no cluster."""


class Cluster:
    """A cluster that is used until it is lost.

    Parameters
    ----------
    find : returns its executor, opened on first use, or None for threads of this process.

    Attributes
    ----------
    failure : how it was lost, in a sentence or two; "" until then.
    """

    def __init__(self, find: Find = no_cluster) -> None:
        self._find = find
        self.failure = ""

    def make(self, act: Callable[[Executor | None], Made]) -> Made:
        """Return ``act(executor)``; repeat it without an executor if the cluster is lost.

        ``act`` must resume from what it has stored, with the same result on any machine.
        """
        try:
            return act(self._find())
        except SchedulerError as error:
            events.tell("cluster lost", what="analysis")
            self._find = no_cluster
            self.failure = f"{error} It is computed on this machine now."
        return act(None)
