"""Rotation of the components of the best mode on resampled data.

Counts are drawn again around those that were seen, as Poisson counts for the Poisson model (the
bootstrap of mutational signatures, Islam et al. 2022), and samples are left out. A solver then goes
on from the best mode, so that the angles show doubt about the data rather than about the mode. It
ends in another mode only where the resampled data no longer have the best one.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from bnmf_core.analysis import evidence, structure
from bnmf_core.analysis.basins import METRIC
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.mode_table import most_probable
from bnmf_core.analysis.stage import Report, Stage, Stopped, parts
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.samples import sample_groups, sample_shares
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import is_sparse, stored
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.posterior.places import problem_of
from bnmf_core.solvers import certificate, usual_solver
from bnmf_core.solvers.solution import Stopping, random_start
from bnmf_core.solvers.weights import weights_given
from bnmf_core.store import files

# Maximum and minimum number of resamples of each kind.
MOST, FEWEST = 40, 10
# Fraction of the samples that is left out.
LEFT_OUT = 0.2
# Core seconds for each kind, estimated from multiply-adds.
BUDGET, RATE = 120.0, 4.0e9
# Random starts of a resample with a vanished component; the best fit counts.
TRIES = 5
# Convergence of a resample.
SOLVED = Stopping(5_000, None, movement=0.1, kkt=1e-4, gain=np.inf)
# A component that holds less of AW has no direction: it counts as this far from where it was.
LEAST, LOST = 1e-6, 90.0
SEED = 60
COUNTS, SAMPLES = "counts", "samples"


@dataclass(frozen=True)
class Kind:
    """Stored results of one kind of resamples.

    Attributes
    ----------
    reason : why there are none, in a sentence; "" where there are.
    resamples : how many were solved. converged : how many of these converged.
    """

    reason: str = ""
    resamples: int = 0
    converged: int = 0


@dataclass(frozen=True, eq=False)
class Resampling:
    """Stored results of the resamples.

    Attributes
    ----------
    row : the member from which they are solved: the most typical one of the best mode. −1: none.
    kinds : "counts", counts that are drawn again, and "samples", samples that are left out.
    """

    row: int
    kinds: dict[str, Kind]
    folder: Path = Path()

    @cached_property
    def angles(self) -> dict[str, np.ndarray]:
        """Kind → (K, R) degrees from each component of the member, in the member's order."""
        return self._stored("angles")

    @cached_property
    def groups(self) -> dict[str, np.ndarray]:
        """Kind → (K, N) component of the member with the largest share; −1 for none.

        Only of resamples that converged. Of samples that were left out, by the weights that fit
        best with the basis found without them.
        """
        done = self._stored("converged")
        return {kind: groups[done[kind]] for kind, groups in self._stored("groups").items()}

    def _stored(self, what: str) -> dict[str, np.ndarray]:
        return {
            kind: files.read_arrays(self.folder / f"{kind}.npz")[what]
            for kind, one in self.kinds.items()
            if not one.reason
        }


def compute(
    comparison: Comparison,
    folder: Path,
    report: Report,
    stopped: Stopped,
    executor: Executor | None = None,
) -> None:
    """Solve the resamples of both kinds from the best mode, and store the angles and groups."""
    reason = _why_not(comparison)
    row = -1 if reason else best(comparison)
    kinds = {COUNTS: Kind(reason), SAMPLES: Kind(reason)}
    if not reason:
        run = int(comparison.run_of_member[row])
        seen, loss = comparison.seen_dataset, comparison.losses[run]
        problem = Problem.without_model(seen, comparison.rank, loss=loss)
        A, W = (F[0] for F in comparison.factors([row]))
        A, W, _ = solved(problem, A, W, stopped)
        again = counts_drawn_again(comparison, run)
        too_few = "There are too few samples to leave some out."
        fewer = too_few if retained_count(seen.N) < comparison.rank else samples_left_out
        ways: dict[str, Way | str] = {COUNTS: again, SAMPLES: fewer}
        several = parts(list(ways.items()), report)
        for i, ((kind, way), of_kind) in enumerate(several):
            many = int(min(MOST, BUDGET * RATE / usual_solver(problem).work(problem, None)))
            path = folder / f"{kind}.npz"
            if isinstance(way, str) or many < FEWEST:
                slow = "Solving resamples of these data would take too long."
                kinds[kind] = Kind(way if isinstance(way, str) else slow)
                continue
            if not path.exists():  # from before the stage had to give way
                rngs = np.random.default_rng((SEED, i)).spawn(many)
                arguments = [(problem, way, A, W, rng) for rng in rngs]
                with Tasks(executor, stopped, of_kind, many, "resampling") as tasks:
                    made = zip(*tasks.make(turned, arguments), strict=True)
                names = ("angles", "converged", "groups")
                files.write_arrays(path, dict(zip(names, map(np.array, made), strict=True)))
            converged = int(files.read_arrays(path)["converged"].sum())
            kinds[kind] = Kind("", many, converged)
    plain = {kind: vars(one) for kind, one in kinds.items()}
    files.write_json(folder / "resampling.json", {"row": row, "kinds": plain})


def best(comparison: Comparison) -> int:
    """The most typical member of the mode with the most posterior mass, else of the first one."""
    modes = structure.modes_at(comparison, METRIC)
    heaviest = most_probable(evidence.STAGE.of(comparison).of_modes(modes.labels))
    return int(modes.representative[heaviest])


def _why_not(comparison: Comparison) -> str:
    if comparison.of_tiles:
        return "Tiles have no angles; the page Boolean says which of them can be believed."
    if not comparison.optima.any():
        return "No factorization is known to have converged, so there is none to start from."
    return comparison.dataset.why_not_all("Resampling")


# A resampled dataset, and the indices of its samples among the original ones.
Way = Callable[[Dataset, np.random.Generator], tuple[Dataset, np.ndarray]]


@dataclass(frozen=True, eq=False)
class CountsAgain:
    """Counts drawn around those that were seen, by the noise of a model.

    ``problem`` : with the model, whose ``draw`` is used. An entry that was not seen holds 0 and
    keeps it.
    """

    problem: Problem

    def __call__(self, dataset: Dataset, rng: np.random.Generator) -> tuple[Dataset, np.ndarray]:
        """New counts of all samples."""
        draw = self.problem.model.draw
        assert draw is not None
        values = draw(self.problem, stored(dataset.X), rng)
        samples = np.arange(dataset.N)
        if not is_sparse(dataset.X):
            return replace(dataset, X=values), samples
        X = dataset.X.copy()
        X.data = values
        X.eliminate_zeros()
        return replace(dataset, X=X), samples


def counts_drawn_again(comparison: Comparison, run: int) -> CountsAgain | str:
    """How to draw the counts again by the model of a run; a sentence where there is no way to."""
    if not comparison.seen_dataset.whole_numbers:
        return "Only counts can be drawn again: these data hold numbers that are not whole."
    try:
        problem = problem_of(comparison.particles[run], comparison.dataset)
    except BNMFError as error:
        return str(error)
    if problem.model.sources is None or problem.model.draw is None:
        return "Counts are drawn again only under a model of counts, such as Poisson noise."
    return CountsAgain(problem)


def retained_count(samples: int) -> int:
    """How many of ``samples`` remain when a fifth, at least one, is left out."""
    return samples - max(1, round(LEFT_OUT * samples))


def samples_left_out(dataset: Dataset, rng: np.random.Generator) -> tuple[Dataset, np.ndarray]:
    """The dataset without a random fifth of its samples."""
    chosen = np.sort(rng.permutation(dataset.N)[: retained_count(dataset.N)])
    return dataset.columns(chosen), chosen


def turned(
    problem: Problem,
    way: Way,
    A: np.ndarray,
    W: np.ndarray,
    rng: np.random.Generator,
    stopped: Stopped = lambda: False,
) -> tuple[np.ndarray, bool, np.ndarray]:
    """How far a resample turns the components of a factorization, and how it groups samples.

    Parameters
    ----------
    way : how it is made. A : (D, R), W : (R, N), where the solver starts.

    Returns
    -------
    Degrees (R,) from each component to its partner, 90 where a component has vanished; whether the
    solver has converged; and of all N samples the component with the largest share, −1 for none.
    """
    dataset, samples = way(problem.dataset, rng)
    other = Problem.without_model(dataset, problem.rank, loss=problem.loss)
    B, V, converged = solved(other, A, W[:, samples], stopped)
    vanished = _vanished(B, V)
    if vanished.any():  # where both its factors are 0 nothing brings it back: look elsewhere
        tries = [(B, V, converged)]
        tries += [
            solved(other, *random_start(dataset, problem.rank, rng), stopped) for _ in range(TRIES)
        ]
        f = [float(other.loss.values(other, B[None], V[None])[0]) for B, V, _ in tries]
        B, V, converged = tries[int(np.argmin(f))]
        vanished = _vanished(B, V)
    order = matching(B[None], A)
    angles = component_angles(B[None], A, order)[0]
    if samples.size < problem.dataset.N:
        V = weights_given(problem.dataset, B[None], problem.loss)[0]
    groups = sample_groups(sample_shares(B[:, order[0]], V[order[0]])).astype(np.int16)
    return np.where(vanished[order[0]], LOST, angles), converged, groups


def _vanished(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Which components hold next to nothing of AW, (R,)."""
    held = A.sum(axis=0) * W.sum(axis=1)
    found: np.ndarray = held <= LEAST * held.sum()
    return found


def solved(
    problem: Problem, A: np.ndarray, W: np.ndarray, stopped: Stopped = lambda: False
) -> tuple[np.ndarray, np.ndarray, bool]:
    """The optimum that a solver reaches from A (D, R), W (R, N), and whether it has converged.

    Raises
    ------
    Cancelled
        When ``stopped()`` returned True.
    """
    solver = usual_solver(problem)
    with one_blas_thread():
        state = solver.start(problem, *(np.ascontiguousarray(F)[None] for F in (A, W)))
        while state.active.any():
            raise_if_cancelled(stopped, "resampling")
            state = solver.advance(problem, state, SOLVED)
        kkt, movement, gain = certificate(problem, state)
    (B,), (V,) = state.particles
    return B, V, bool(SOLVED.converged(kkt, movement, gain)[0])


def read(comparison: Comparison, folder: Path) -> Resampling:
    """The stored angles and groups."""
    found = files.read_json(folder / "resampling.json")
    kinds = {kind: Kind(**one) for kind, one in found["kinds"].items()}
    return Resampling(found["row"], kinds, folder)


STAGE = Stage(
    key="resampling",
    label="Solving resampled data",
    needs=(structure.STAGE, evidence.STAGE),
    version=3,
    compute=compute,
    read=read,
    spread=True,
    weight=6.0,
)
