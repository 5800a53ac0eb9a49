"""Whether the modes of converged factorizations are separate, or pieces of one family."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.optima import APART, find_sites
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.islands import connections, family_verdict
from bnmf_core.core.errors import RunError
from bnmf_core.store import files


@dataclass(frozen=True)
class Islands:
    """Families of sites.

    problem : the sentence that says why there are none; "" where there are.
    rows : converged members of the examined sites. families : the family of each row.
    paths : what :func:`connections` says of every path, by the rows of its two ends' sites.
    """

    problem: str
    rows: Sequence[int] = ()
    families: Sequence[int] = ()
    paths: pd.DataFrame | None = None

    def verdict(self, labels: np.ndarray, optima: np.ndarray) -> str:
        """Whether modes are separate, in a sentence's words; "" of a single one.

        labels : (m,) mode of every member. optima : (m,) bool, those that modes are made of.
        Modes that share a family are connected.
        """
        held, families = self._families(labels)
        missing = np.unique(labels[optima]).size - held.size
        if not held.size or (held.size == 1 and not missing):
            return ""
        return family_verdict(families, held, missing)

    def one_family(self, labels: np.ndarray, optima: np.ndarray) -> bool:
        """Whether paths without a barrier join all of several modes; arguments as of verdict."""
        held, families = self._families(labels)
        several = 1 < held.size == np.unique(labels[optima]).size
        return several and np.unique(families).size == 1

    def connected(self, labels: np.ndarray, mode: int) -> bool:
        """Whether a path without a barrier joins a mode to another; labels as of verdict."""
        held, families = self._families(labels)
        return mode in held and int((families == families[held == mode]).sum()) > 1

    def _families(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The examined modes, ascending, and the family of each; empty with a problem."""
        if self.problem:
            return np.empty(0, int), np.empty(0, int)
        modes, families = labels[list(self.rows)], np.asarray(self.families)
        # A mode may hold several families and a family reach into several modes: both join.
        of_mode = np.arange(int(modes.max()) + 1)
        for family in np.unique(families):
            joined = np.unique(of_mode[modes[families == family]])
            of_mode[np.isin(of_mode, joined)] = joined[0]
        held = np.unique(modes)
        return held, of_mode[held]


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the families of the largest sites and the paths between them."""
    try:
        if not_all := comparison.dataset.why_not_all("Paths between modes"):
            raise RunError(not_all)
        sites = find_sites(comparison)
    except RunError as error:
        files.write_json(folder / "islands.json", {"problem": str(error)})
        return
    A, W = comparison.factors(sites.rows)
    found = connections(
        comparison.seen_dataset,
        A,
        W,
        sites.labels,
        sites.apart,
        APART,
        on_progress=report,
        cancel=stopped,
        loss=comparison.fit.loss,
    )
    examined = sites.labels < found.family.size
    stored = {
        "problem": "",
        "rows": sites.rows[examined].tolist(),
        "families": found.family[sites.labels[examined]].tolist(),
        "paths": found.paths.to_dict("list"),
    }
    files.write_json(folder / "islands.json", stored)


def read(comparison: Comparison, folder: Path) -> Islands:
    """The stored families."""
    stored = files.read_json(folder / "islands.json")
    if stored["problem"]:
        return Islands(stored["problem"])
    return Islands(**stored | {"paths": pd.DataFrame(stored["paths"])})


STAGE = Stage(
    key="islands",
    label="Looking for paths between modes",
    needs=(distances.STAGE,),
    version=1,
    compute=compute,
    read=read,
    weight=2.0,
)
