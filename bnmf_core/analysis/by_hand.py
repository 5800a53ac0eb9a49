"""Explorations that a user starts: computed in the background, stored with the run.

Explorations are no runs. A factorization with held components is an optimum given these only; as a
restart it would distort the statistics of basins and of undiscovered modes.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bnmf_core.analysis import posterior
from bnmf_core.analysis.comparison import ABOUT, Comparison, comparison_key
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.contribution import Contributions, displace_contributions
from bnmf_core.compare.displacement import Displacement, allowed_error, displace, polished
from bnmf_core.compare.remaining import Locked, check_held, solve_locked
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.store import files, manifest

# Incremented when the same options give another result, or other files.
VERSION = 1
FOLDER = "by_hand"
# Number of factorizations, or of entries, computed before they are stored and shown.
TOGETHER = 4
STARTS = 40
# Number of the largest entries of a component that are moved.
ENTRIES = 40


@dataclass(frozen=True, eq=False)
class Exploration(ABC):
    """A computation on one factorization of a comparison, stored part by part.

    Attributes
    ----------
    comparison : contains the factorization. row : its row among the members. Components have the
        numbers of :meth:`Comparison.aligned` for this row alone, independent of other runs.
    doing : the status message.
    """

    comparison: Comparison
    row: int
    lane = "exploration"
    label: ClassVar[str]
    doing: ClassVar[str]

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Everything besides the factorization that determines the result, as plain values."""

    @property
    @abstractmethod
    def parts(self) -> list[range]:
        """The parts of the computation, each stored by itself."""

    @abstractmethod
    def part(
        self, numbers: range, report: Callable[[float], None], stopped: Callable[[], bool]
    ) -> dict[str, np.ndarray]:
        """Compute one part; ``report`` gets the fraction done."""

    @property
    def key(self) -> str:
        """Hash of everything that determines the result."""
        member = self.comparison.members.iloc[self.row]
        of = [VERSION, type(self).__name__, member["run"], int(member["particle"]), self.options]
        return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def about(self) -> tuple[str, int]:
        """The run that made the factorization, and its number of particles."""
        run_id = self.comparison.members["run"].iloc[self.row]
        at = self.comparison.run_ids.index(run_id)
        return run_id, self.comparison.particles[at].M

    @property
    def folder(self) -> Path:
        """Folder of the parts, next to the stages of this run alone, and removed with them."""
        return self.comparison.folder.parent / comparison_key([self.about]) / FOLDER / self.key

    def ready(self) -> bool:
        """Whether all parts are stored."""
        return len(self.stored()) == len(self.parts)

    def stored(self) -> list[Path]:
        """Paths of the parts that are stored and undamaged."""
        return [path for path in self._paths if manifest.is_sound(path)]

    @property
    def damaged(self) -> str:
        """How many parts are damaged and left out until they are computed again; "" if none."""
        count = sum(path.exists() and not manifest.is_sound(path) for path in self._paths)
        if not count:
            return ""
        several = f"{count} parts of it are" if count > 1 else "1 part of it is"
        return f"{several} damaged on the disk and left out. Start it again to complete it."

    @property
    def _paths(self) -> list[Path]:
        return [self.folder / f"part-{part.start:05d}.npz" for part in self.parts]

    def pieces(self) -> list[dict[str, np.ndarray]]:
        """Contents of the stored parts."""
        return [files.read_arrays(path) for path in self.stored()]

    def make(self, report: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        """Compute and store the missing parts.

        Raises
        ------
        Cancelled
            When ``stopped()`` returned True; stored parts stay.
        """
        run_id, made = self.about
        about = self.folder.parents[1] / ABOUT
        if not manifest.is_sound(about):
            files.write_json(about, {"runs": [run_id], "particles": [made]})
        parts = self.parts
        for done, part in enumerate(parts):

            def tell(of_it: float, done: int = done) -> None:
                report((done + of_it) / len(parts), self.doing)

            tell(0.0)
            path = self.folder / f"part-{part.start:05d}.npz"
            if not manifest.is_sound(path):
                with one_blas_thread():
                    files.write_arrays(path, self.part(part, tell, stopped))

    @property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """A (D, R), W (R, N) of the factorization, components in the order of their numbers."""
        A, W = self.comparison.aligned_factors([self.row])
        return A[0].astype(np.float64), W[0].astype(np.float64)


@dataclass(frozen=True, eq=False)
class LockedExploration(Exploration):
    """Refit the other components; ``held`` : numbers of held ones, from 0, ascending."""

    label = "Holding components"
    doing = "Looking for what remains"

    held: tuple[int, ...] = ()
    starts: int = STARTS
    seed: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """The held components, the number of starts, and the seed."""
        return {"held": list(self.held), "starts": self.starts, "seed": self.seed}

    @property
    def mask(self) -> np.ndarray:
        """(R,) True for components that are held.

        Raises
        ------
        SettingsError
            When no component has such a number, or all are held.
        """
        R = self.comparison.rank
        if unknown := [r for r in self.held if not 0 <= r < R]:
            raise SettingsError(f"There is no component {unknown[0] + 1}; there are {R}.")
        mask = np.isin(np.arange(R), self.held)
        check_held(mask)
        return mask

    @property
    def parts(self) -> list[range]:
        """Numbers of the starts; 0 is the factorization itself."""
        ends = range(0, self.starts + 1, TOGETHER)
        return [range(first, min(first + TOGETHER, self.starts + 1)) for first in ends]

    def part(
        self, numbers: range, report: Callable[[float], None], stopped: Callable[[], bool]
    ) -> dict[str, np.ndarray]:
        """Factorizations from some of the starts."""
        A, W = self.factors
        data = self.comparison.seen_dataset
        found, _ = solve_locked(
            data, A, W, self.mask, numbers, self.seed, stopped, self.comparison.fit.loss
        )
        return vars(found)

    def found(self) -> Locked | None:
        """The factorizations stored so far; None without any."""
        pieces = self.pieces()
        return Locked(**_joined(pieces)) if pieces else None


@dataclass(frozen=True, eq=False)
class KnownExploration(LockedExploration):
    """Refit the other components with one component replaced by a known column and held.

    ``known`` : its D entries, of any scale; the component is the only one of ``held``.
    """

    label = "Holding what is known"
    known: tuple[float, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The held component, and the column."""
        return super().options | {"known": list(self.known)}

    @property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """The factorization with the known column, scaled to the same sum, in its place."""
        A, W = super().factors
        (r,), known = self.held, np.array(self.known)
        if known.shape != A.shape[:1] or not known.sum() > 0:
            raise SettingsError(
                f"The known component has {known.size} entries of sum {known.sum():g}; "
                f"{A.shape[0]} are needed, and one above 0."
            )
        A = A.copy()
        A[:, r] = known * (A[:, r].sum() / known.sum())
        return A, W


@dataclass(frozen=True, eq=False)
class Displacing(Exploration):
    """Displace something from an optimum until the error has grown by the fraction ``rise``."""

    rise: float = 0.01

    def _polished(
        self, problem: Problem, stopped: Callable[[], bool]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The optimum that is displaced: solved once, the same for all parts."""
        path = self.folder / "optimum.npz"
        if manifest.is_sound(path):
            arrays = files.read_arrays(path)
            return arrays["A"], arrays["W"], float(arrays["error"])
        A, W, error = polished(problem, *self.factors, stopped)
        files.write_arrays(path, {"A": A, "W": W, "error": np.array(error)})
        return A, W, error


@dataclass(frozen=True, eq=False)
class ContributionExploration(Displacing):
    """The smallest and the largest contribution of each component, one part per component.

    See :func:`displace_contributions`.
    """

    label = doing = "Moving contributions"

    @property
    def options(self) -> dict[str, Any]:
        """The rise."""
        return {"rise": self.rise}

    @property
    def parts(self) -> list[range]:
        """The components, one by one."""
        return [range(r, r + 1) for r in range(self.comparison.rank)]

    def part(
        self, numbers: range, report: Callable[[float], None], stopped: Callable[[], bool]
    ) -> dict[str, np.ndarray]:
        """The band of a component."""
        problem = self.comparison.fit
        A, W, error = self._polished(problem, stopped)
        allowed, chosen = allowed_error(error, self.rise), np.array(numbers)
        return vars(displace_contributions(problem, A, W, chosen, allowed, report, stopped))

    def found(self) -> Contributions | None:
        """The bands stored so far; None without any."""
        pieces = self.pieces()
        return Contributions(**_joined(pieces)) if pieces else None


@dataclass(frozen=True, eq=False)
class DisplacementExploration(Displacing):
    """How far entries of a component, numbered from 0, can move; see :func:`displace`.

    ``most`` : number of its largest entries that are moved.
    """

    label = doing = "Moving entries"

    component: int = 0
    most: int = ENTRIES

    @property
    def options(self) -> dict[str, Any]:
        """The component, the rise, and the number of entries."""
        return {"component": self.component, "rise": self.rise, "most": self.most}

    @property
    def entries(self) -> np.ndarray:
        """The entries that are moved, the largest first."""
        A, _ = self.factors
        return np.argsort(-A[:, self.component], kind="stable")[: self.most]

    @property
    def parts(self) -> list[range]:
        """Ranges of positions in ``entries``."""
        count = min(self.most, self.comparison.dataset.D)
        ends = range(0, count, TOGETHER)
        return [range(first, min(first + TOGETHER, count)) for first in ends]

    def part(
        self, numbers: range, report: Callable[[float], None], stopped: Callable[[], bool]
    ) -> dict[str, np.ndarray]:
        """The bands of some entries."""
        problem = self.comparison.fit
        A, W, error = self._polished(problem, stopped)
        chosen = self.entries[numbers.start : numbers.stop]
        allowed = allowed_error(error, self.rise)
        found = displace(problem, A, W, self.component, chosen, allowed, report, stopped)
        return vars(found) | {"base": np.array([error, allowed])}

    def found(self) -> tuple[Displacement, float, float] | None:
        """The bands stored so far, the error, and the allowed error; None without any."""
        pieces = self.pieces()
        if not pieces:
            return None
        # The same in all of them.
        error, allowed, *_ = np.concatenate([piece.pop("base") for piece in pieces]).tolist()
        return Displacement(**_joined(pieces)), error, allowed


def _joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenate the arrays of several parts."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def posterior_shares(
    comparison: Comparison, row: int, labels: np.ndarray, component: int
) -> np.ndarray | None:
    """Where 90 % of the draws within a member's mode have each entry of a component.

    Components of the draws are matched with those of the row, as everywhere.

    Parameters
    ----------
    row : of the member. labels : (m,) the mode of every member.

    Returns
    -------
    (D, 2) shares of the component's sum; None where no chains have settled within the mode.
    """
    found = posterior.STAGE.perhaps(comparison)
    k = None if found is None else found.within(labels, row)
    if found is None or k is None:
        return None
    A = found.draws[k]["A"].astype(np.float64)
    order = matching(A, comparison.aligned([row])[0])[:, component]
    chosen = np.take_along_axis(A, order[:, None, None], axis=2)[:, :, 0]
    shares = chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.quantile(shares, (0.05, 0.95), axis=0)).T
