"""How masses hang on the noise model: the same modes at lower powers of the likelihood."""

from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import pandas as pd

from bnmf_core.analysis import evidence
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.evidence.mode_evidence import NoModeError
from bnmf_core.evidence.paths import why_not
from bnmf_core.store import files

# Powers of the likelihood, besides the whole.
BELIEFS = (0.1, 0.01)
# Masses at milder beliefs are for a picture; half the particles do.
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
    """Store what each mode weighs at every belief; nothing where there are no two to compare."""
    found = evidence.STAGE.of(comparison)
    beliefs: list[float] = []
    if len(found.rows) > 1:
        _, problem = evidence.model_of(comparison)
        settings = problem.model_settings
        beliefs = [belief for belief in BELIEFS if not why_not(problem.model, settings, belief)]
    for i, belief in enumerate(beliefs):
        for repeat in range(REPEATS):
            path = _table(folder, belief, repeat)
            if path.exists():  # from before the stage had to give way
                continue

            def on_progress(part: float, done: int = i * REPEATS + repeat) -> None:
                report((done + part) / (len(beliefs) * REPEATS))

            seed = evidence.SEED + repeat
            try:
                table = evidence.weigh(
                    comparison, found.rows, belief, on_progress, stopped, executor, PARTICLES, seed
                )
            except NoModeError:
                table = pd.DataFrame()
            files.write_json(path, table.to_dict("list"))
    files.write_json(folder / "beliefs.json", beliefs)


def read(comparison: Comparison, folder: Path) -> Evidence:
    """The masses at every belief, the whole one first."""
    found = evidence.STAGE.of(comparison)
    beliefs = files.read_json(folder / "beliefs.json")
    if found.tables is None:
        return found
    first, second = (
        {b: pd.DataFrame(files.read_json(_table(folder, b, repeat))) for b in beliefs}
        for repeat in range(REPEATS)
    )
    blurred = tuple(b for b in beliefs if first[b].empty or second[b].empty)
    tables = {belief: table for belief, table in first.items() if belief not in blurred}
    return replace(found, tables={**found.tables, **tables}, repeated=second, blurred=blurred)


def _table(folder: Path, belief: float, repeat: int) -> Path:
    return folder / f"belief-{belief:g}-{repeat}.json"


STAGE = Stage(
    key="belief",
    label="Weighing the modes with less belief in the noise model",
    needs=(evidence.STAGE,),
    version=2,
    compute=compute,
    read=read,
    spread=True,
    weight=20.0,
)
