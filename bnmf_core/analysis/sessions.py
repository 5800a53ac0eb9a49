"""Results of each run of a comparison: one session per run, on shared axes.

Everything is read from what the stages have stored, by the functions of the other pages.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core import registry
from bnmf_core.analysis import chains
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.chains import Verdict
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.mode_table import share_by_run
from bnmf_core.compare.alignment import matching
from bnmf_core.core.particles import Particles


@dataclass(frozen=True, eq=False)
class Session:
    """Results of one run.

    Attributes
    ----------
    run : its id. made : how many factorizations, and what they are.
    covering : balls of the board's radius that cover it. each_chain : the same of each of several
        chains; empty without them. crossing : how many of these chains have draws in several modes.
    shares : (K,) shares of its factorizations in the modes. reached : number of modes found, of the
        ``every`` that any run found. largest : the largest distance within it.
    error : measure of fit of its best factorization. A : (D, R) the basis of that factorization,
        components in the order of mode 1.
    kind : what its factorizations are to each other, where no verdict on chains speaks of them.
    verdict : whether its chains have settled; None where there is none, or none yet.
    busy : CPU seconds. effective : ESS of the worst quantity per CPU second. Both NaN if unknown.
    doubt : why that ESS does not stand for the posterior; "" where it does.
    """

    run: str
    made: str
    covering: int
    each_chain: tuple[int, ...]
    crossing: int
    shares: np.ndarray
    reached: int
    every: int
    largest: float
    error: float
    A: np.ndarray
    kind: str
    verdict: Verdict | None
    busy: float
    effective: float
    doubt: str

    @property
    def changes(self) -> str:
        """Number of chains that change mode, in words; "" for fewer than two chains."""
        count = len(self.each_chain)
        return f"{self.crossing} of {count} chains change mode" if count else ""

    @property
    def pooled(self) -> bool:
        """Whether chains cover together what none of them covers alone."""
        return bool(self.each_chain) and max(self.each_chain) < self.covering


def sessions(board: Board) -> list[Session]:
    """One for every run of the board, in their order."""
    comparison, modes = board.comparison, board.modes
    verdicts = chains.STAGE.perhaps(comparison)
    shares = share_by_run(comparison, modes, modes.count)
    of_run = {run: part["share"].to_numpy() for run, part in shares.groupby("run", sort=False)}
    every = int(np.any([board.found(run) for run in comparison.run_ids], axis=0).sum())
    reference = comparison.aligned(modes.representative[:1])[0]
    found = []
    for run, particles in zip(comparison.run_ids, comparison.particles, strict=True):
        each_chain, crossing = _of_chains(board, run)
        errors = board.errors(run)
        A = np.asarray(particles.A[int(errors.argmin())], dtype=np.float64)
        found.append(
            Session(
                run=run,
                made=f"{particles.M:,} {registry.members_of(comparison.algorithm_of[run])}",
                covering=board.balls(board.rows[run]),
                each_chain=each_chain,
                crossing=crossing,
                shares=of_run[run],
                reached=int(board.found(run).sum()),
                every=every,
                largest=board.spread(run, "largest"),
                error=float(errors.min()),
                A=A[:, matching(A[None], reference)[0]],
                kind=_kind(comparison, run, particles),
                verdict=None if verdicts is None else verdicts.by_run.get(run),
                busy=board.busy(run),
                effective=board.effective(run),
                doubt=board.unmet([run]),
            )
        )
    return found


def _of_chains(board: Board, run: str) -> tuple[tuple[int, ...], int]:
    """The covering number of each of several chains, and how many of them change mode."""
    rows = board.rows[run]
    chain = board.comparison.members["chain"].to_numpy()[rows]
    numbers = np.unique(chain)
    particles = board.comparison.particles[board.comparison.run_ids.index(run)]
    if not particles.trace or numbers.size < 2:
        return (), 0
    parts = [rows[chain == number] for number in numbers]
    crossing = sum(np.unique(board.modes.labels[part]).size > 1 for part in parts)
    return tuple(map(board.balls, parts)), crossing


def _kind(comparison: Comparison, run: str, particles: Particles) -> str:
    key = comparison.algorithm_of[run]
    algorithm = registry.ALGORITHMS.get(key)
    if key in comparison.caveats:
        return "chains without draws"
    if key in comparison.samplers:
        return "chains" if particles.trace else "weighted draws"
    if algorithm is not None and algorithm.runs_to_optima:
        return "independent starts"
    return "no chains"
