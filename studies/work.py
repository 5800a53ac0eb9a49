"""Studies as jobs of the scheduler, stored in a folder by their key."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from studies.result import StudyResult
from studies.runner import Progress, Study


@dataclass(frozen=True, eq=False)
class StudyWork:
    """A study and the folder for its result and its cells.

    A measured cell is a file, so a study that was cancelled, or whose server was killed, goes on
    from there when it is started again.
    """

    study: Study
    folder: Path
    lane = "study"

    @property
    def key(self) -> str:
        """The study's key."""
        return self.study.key

    @property
    def label(self) -> str:
        """What is measured."""
        return self.study.title[:1].upper() + self.study.title[1:]

    @property
    def path(self) -> Path:
        """Path of the result."""
        return self.folder / f"{self.key}.json"

    def ready(self) -> bool:
        """Whether the result exists."""
        return self.path.is_file()

    def make(self, report: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        """Measure missing cells, and store the result."""

        def tell(progress: Progress) -> None:
            report(progress.done / progress.total, progress.stage)

        self.study.make(self.folder / "cells", tell, stopped).save(self.path)

    def result(self) -> StudyResult:
        """The result.

        Raises
        ------
        StoreError
            When it does not exist.
        """
        return StudyResult.load(self.path)
