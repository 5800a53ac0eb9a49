"""The selection of the Explore and Compare pages: runs, distance, threshold, focus.

:mod:`pages.frame.panel` makes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances, structure
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.named import NOTHING_NAMED, Named
from bnmf_core.analysis.structure import Structure
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.modes import Modes
from bnmf_core.figures.style import RunStyle
from bnmf_core.registry import label_of
from bnmf_core.runs.launch import run_names
from bnmf_core.share.naming import origin_of, styles_of
from pages.frame.services import dataset_names


@dataclass(frozen=True, eq=False)
class Compared:
    """The selected runs, their names and their styles."""

    analysis: Comparison

    @cached_property
    def styles(self) -> dict[str, RunStyle]:
        """Colour and marker of every run."""
        return styles_of(self.analysis)

    @cached_property
    def run_names(self) -> dict[str, str]:
        """Distinct names of the runs."""
        return run_names(self.analysis.runs)

    @cached_property
    def origin(self) -> str:
        """Origin of the numbers: data, rank, runs, seeds, reasons of ending."""
        data = dataset_names().get(self.analysis.runs[0].dataset, self.analysis.dataset.name)
        return origin_of(self.analysis, data)

    def named(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table whose column of runs has their names."""
        return table.assign(run=table["run"].map(self.run_names))


@dataclass(frozen=True, eq=False)
class Lens(Compared):
    """The selected runs, their distance, modes and focus.

    ``focus`` is (m,) bool over the analysis' members; ``focus_name`` describes it.
    ``mode_names``: number and user's name of every mode. ``passing``:
    other selected runs are still running. ``notes``: users' names of
    components and modes of these data.
    """

    metric: str
    modes: Modes
    focus: np.ndarray
    focus_name: str
    mode_names: list[str]
    passing: bool = False
    notes: Named = NOTHING_NAMED

    @property
    def distance(self) -> Distance:
        """The distance in use."""
        return DISTANCES[self.metric]

    @cached_property
    def structure(self) -> Structure:
        """Merging distances, map, coverage and spread of the selection."""
        return structure.STAGE.of(self.analysis)

    def matrix(self, metric: str = "") -> np.ndarray:
        """Distances (m, m) between the members, in the distance in use if none is named."""
        return distances.STAGE.of(self.analysis).matrix(metric or self.metric)

    def reading(self, words: str) -> str:
        """Reading help of a picture of factorizations, with its hollow points."""
        going = int((~self.analysis.members["converged"]).sum())
        if not going:
            return words
        what = "point has" if going == 1 else "points have"
        return f"{words} {going} hollow {what} not converged: where it will end is not known."

    def name(self, row: int) -> str:
        """A factorization's name: its mode, run and number."""
        run_id, algorithm, particle = self._made_by[row]
        mode = self.mode_names[int(self.modes.labels[row])]
        several = len(set(self.analysis.algorithm_of.values())) < len(self.analysis.runs)
        run = self.run_names[run_id] if several else label_of(algorithm)
        return f"{mode} · {run}{',' if several else ''} {particle}"

    @cached_property
    def _made_by(self) -> list[tuple[str, str, int]]:
        """Run, algorithm and number of every member."""
        columns = (self.analysis.members[key].tolist() for key in ("run", "algorithm", "particle"))
        return list(zip(*columns, strict=True))

    def shown(
        self, most: int, run: str | None = None, modes: Sequence[int] | None = None
    ) -> tuple[np.ndarray, list[str]]:
        """Rows of ``members`` to show one by one, and their names.

        Everything in focus: the representatives of the first of these modes, or of the largest
        ones. Else, or of one run, the
        most central one in focus, or the representative of the mode that is in focus, then those
        in focus that differ most from the ones taken.
        """
        if self.focus.all() and run is None:
            first = self.modes.representative
            rows = (first if modes is None else first[list(modes)])[:most]
        else:
            mine = self.focus if run is None else self.focus & (self.analysis.members["run"] == run)
            inside = np.flatnonzero(mine)
            matrix = np.asarray(self.matrix())[np.ix_(inside, inside)]
            central = [int(matrix.sum(axis=1).argmin())] if inside.size else []
            # A mode is represented by an optimum everywhere, not by a draw.
            named = np.flatnonzero(np.isin(inside, self.modes.representative))
            taken = named.tolist() if named.size == 1 else central
            while len(taken) < min(most, inside.size):
                nearest = matrix[:, taken].min(axis=1)
                nearest[taken] = -1.0
                taken.append(int(nearest.argmax()))
            rows = inside[taken]
        return np.asarray(rows), [self.name(row) for row in rows]

    def shown_of_each(self, most: int) -> tuple[np.ndarray, list[str]]:
        """As :meth:`shown`, for every run; the names include the run."""
        of_each = [self.shown(most, run_id)[0] for run_id in self.styles]
        particle = self.analysis.members["particle"]
        names = [
            f"{self.run_names[run.id]}, {particle.iloc[row]}"
            for run, rows in zip(self.analysis.runs, of_each, strict=True)
            for row in rows
        ]
        return np.concatenate(of_each), names

    def aligned(self, rows: np.ndarray) -> np.ndarray:
        """Bases (k, D, R) of :meth:`aligned_factors`."""
        return self.aligned_factors(rows)[0]

    def aligned_factors(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bases (k, D, R) and weights (k, R, N) of the rows, matched with the first of them.

        Components have the numbers of mode 1 on every page, whatever is in focus.
        """
        key = tuple(map(int, rows))
        if key not in self._aligned:
            A, W = self.analysis.aligned_factors(rows)
            numbered = self.analysis.aligned(self.modes.representative[:1])[0]
            order = matching(A[:1], numbered)[0]
            self._aligned[key] = A[:, :, order], W[:, order]
            for factor in self._aligned[key]:
                factor.flags.writeable = False
        return self._aligned[key]

    @cached_property
    def _aligned(self) -> dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]:
        """Aligned factors of the current page, by rows."""
        return {}
