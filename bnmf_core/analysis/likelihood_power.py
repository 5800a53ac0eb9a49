"""How masses depend on the noise model: the same modes at lower powers of the likelihood."""

from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bnmf_core.analysis import evidence
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.stage import Report, Stage, Stopped, parts
from bnmf_core.evidence.mode_evidence import NoModeError
from bnmf_core.evidence.paths import why_not
from bnmf_core.store import files

# Powers of the likelihood, besides the whole.
POWERS = (0.1, 0.01)
# Masses at lower powers are for a picture; half the particles do.
PARTICLES = 16
# Independent repeats: a winner is named only where they agree.
REPEATS = 2


def compute(
    comparison: Comparison,
    folder: Path,
    report: Report,
    stopped: Stopped,
    executor: Executor | None = None,
) -> None:
    """Store what each mode weighs at every power; nothing where there are no two to compare."""
    found = evidence.STAGE.of(comparison)
    powers: list[float] = []
    if len(found.rows) > 1:
        _, problem = evidence.model_of(comparison)
        settings = problem.model_settings
        powers = [power for power in POWERS if not why_not(problem.model, settings, power)]
    tasks = [(power, repeat) for power in powers for repeat in range(REPEATS)]
    for (power, repeat), of_one in parts(tasks, report):
        path, seed = _table(folder, power, repeat), evidence.SEED + repeat
        if path.exists():  # from before the stage had to give way
            continue
        try:
            table = evidence.weigh(
                comparison, found.rows, power, of_one, stopped, executor, PARTICLES, seed
            )
        except NoModeError:
            table = pd.DataFrame()
        files.write_json(path, table.to_dict("list"))
    files.write_json(folder / "beliefs.json", powers)


def read(comparison: Comparison, folder: Path) -> Evidence:
    """The masses at every power, 1 first."""
    found = evidence.STAGE.of(comparison)
    powers = files.read_json(folder / "beliefs.json")
    if found.tables is None:
        return found
    first, second = (
        {power: pd.DataFrame(files.read_json(_table(folder, power, repeat))) for power in powers}
        for repeat in range(REPEATS)
    )
    blurred = tuple(power for power in powers if first[power].empty or second[power].empty)
    tables = {power: table for power, table in first.items() if power not in blurred}
    return replace(found, tables={**found.tables, **tables}, repeated=second, blurred=blurred)


def _table(folder: Path, power: float, repeat: int) -> Path:
    return folder / f"belief-{power:g}-{repeat}.json"


STAGE = Stage(
    key="belief",
    label="Weighing the modes at lower powers of the likelihood",
    needs=(evidence.STAGE,),
    version=2,
    compute=compute,
    read=read,
    spread=True,
    weight=20.0,
)
