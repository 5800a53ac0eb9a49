"""Studies in the background, kept in a folder by what decides their numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bnmf_core.runs.background import Background
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

    @property
    def key(self) -> str:
        """That of the study."""
        return self.study.key

    @property
    def path(self) -> Path:
        """Where the result is, or will be."""
        return self.folder / f"{self.key}.json"

    def ready(self) -> bool:
        """Whether the result is there."""
        return self.path.is_file()

    def make(self, report: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        """Measure what is missing, and store the result."""

        def tell(progress: Progress) -> None:
            report(progress.done / progress.total, progress.stage)

        self.study.make(self.folder / "cells", tell, stopped).save(self.path)


class StudyRunner(Background):
    """Makes studies and keeps them in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def work(self, study: Study) -> StudyWork:
        """The study as what is made in the background."""
        return StudyWork(study, self.folder)

    def result(self, study: Study) -> StudyResult:
        """A complete study.

        Raises
        ------
        StoreError
            When it is not there.
        """
        return StudyResult.load(self.work(study).path)
