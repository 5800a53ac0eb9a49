"""The full studies that come with the program."""

from functools import lru_cache
from pathlib import Path

from studies.result import StudyResult

PATH = Path(__file__).resolve().parent / "full_study.json"
TRANSFER_PATH = PATH.with_name("full_transfer_study.json")


@lru_cache(maxsize=1)
def full_study() -> StudyResult | None:
    """The study that ``python -m benchmarks.coverage_study --keep`` measured; None without one."""
    return StudyResult.load(PATH) if PATH.is_file() else None


@lru_cache(maxsize=1)
def full_transfer_study() -> StudyResult | None:
    """The study that ``python -m benchmarks.transfer_study --keep`` measured; None without one."""
    return StudyResult.load(TRANSFER_PATH) if TRANSFER_PATH.is_file() else None
