"""One rank: its log evidence from the modes that restarts find, and what else is known of it.

Components that X does not need are identified neither by their prior nor by X: chains exchange
them freely, so that hardly a draw has its components in the order of the start, and nothing is left
of its own part of the posterior. Then the populations of one start say it together: they reach g of
the R! relabellings, and two draws of different populations have the same order with probability
1/g, so the evidence is Z·R!/g with Z that of all they reach.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from math import lgamma

import numpy as np
import pandas as pd
from scipy import special

from bnmf_core.compare.alignment import matching
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.errors import Cancelled, RunError, SchedulerError
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.evidence.annealing import Annealed, Stopped, anneal, never
from bnmf_core.evidence.mode_evidence import mode_evidence, particles_for
from bnmf_core.evidence.parts import Work
from bnmf_core.evidence.paths import posterior_of, why_not
from bnmf_core.evidence.restarts import METRIC, Restarts, highest_of_each
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.samplers.gibbs import work_per_sweep

# Restarts within this angle (degrees) of each other are one mode.
THRESHOLD = SAME_MODE
# Number of populations that jointly estimate how many relabellings they reach.
POPULATIONS = 4
# Part of the evidence below which a mode's error does not count.
NEGLIGIBLE = 0.01
# Number of bootstrap resamples of the restarts.
DRAWN_AGAIN = 400


@dataclass(frozen=True)
class RankEvidence:
    """log_evidence, nats, with its standard error, from ``weighed`` modes.

    The error counts what other restarts would have missed, see :func:`missed`.

    settled : whether twice the steps gave the same; False where they were not tried.
    """

    log_evidence: float
    error: float
    weighed: int
    settled: bool

    @classmethod
    def names(cls) -> list[str]:
        """Names of its fields, which are columns of a study's table."""
        return [one.name for one in fields(cls)]


UNKNOWN = RankEvidence(np.nan, np.nan, 0, False)


def why_no_evidence(problem: Problem) -> str:
    """Why the evidence of a rank cannot be computed, in a sentence; "" where it can."""
    model, settings = problem.model, problem.model_settings
    return model.unnormalised(problem.dataset, settings) or why_not(model, settings)


def effort(problem: Problem, restarts: Restarts, most_modes: int) -> float:
    """Relative cost of :func:`row_of`: modes × particles × work of a sweep."""
    modes = min(int(restarts.modes(THRESHOLD).max()) + 1, most_modes)
    return modes * particles_for(problem) * work_per_sweep(problem)


def row_of(problem: Problem, restarts: Restarts, most_modes: int, work: Work) -> dict[str, object]:
    """The row of one rank in the table, without the common measures.

    ``most_modes`` : of so many the evidence is summed, one start each; 0: it is not computed.
    """
    found = evidence_of(problem, restarts, most_modes, work) if most_modes else UNKNOWN
    return {
        "rank": problem.rank,
        **asdict(found),
        "sigma": getattr(problem.model_settings, "sigma", np.nan) if most_modes else np.nan,
        "rate": problem.model_settings.rate,
        "stability": restarts.stability(),
        "modes": restarts.mode_count(THRESHOLD),
        "converged": restarts.converged,
        "restarts": restarts.made,
    }


def evidence_of(problem: Problem, restarts: Restarts, most_modes: int, work: Work) -> RankEvidence:
    """log Σ Z_k + log R! over so many of the modes that these restarts stand for."""
    labels = restarts.modes(THRESHOLD)
    A, W = problem.model.scale(restarts.A, restarts.W)
    log_joint = problem.model.log_joint(problem, A, W, restarts.f)
    rows = highest_of_each(labels, log_joint, most_modes)
    relabellings = lgamma(problem.rank + 1)
    try:
        table = _weighed(problem, restarts, rows, work)
    except (Cancelled, SchedulerError):
        raise
    except RunError:
        return of_all_reached(problem, restarts.A[rows[0]], restarts.W[rows[0]], work)
    values, errors = table["log_evidence"].to_numpy(), table["error"].to_numpy()
    total = float(special.logsumexp(values))
    parts = np.exp(values - total)
    if np.isnan(errors[parts > NEGLIGIBLE]).any():
        return of_all_reached(problem, restarts.A[rows[0]], restarts.W[rows[0]], work)
    error = float(np.sqrt(((parts * np.nan_to_num(errors)) ** 2).sum()))
    found_by = [np.flatnonzero(labels == labels[row]) for row in rows]
    error = float(np.hypot(error, missed(values, found_by, labels.size)))
    return RankEvidence(total + relabellings, error, len(table), bool(table["settled"].all()))


def missed(log_evidence: np.ndarray, found_by: Sequence[np.ndarray], restarts: int) -> float:
    """Root mean square of the nats that are missing where as many other restarts are made.

    They are drawn again with replacement from those there are. A draw without any of the modes that
    have a weight, log_evidence (K,), says nothing. ``found_by`` : which restarts found each.
    """
    # What left a mode without a weight of its own is in that of the mode where it went.
    found_by = [rows for rows, value in zip(found_by, log_evidence, strict=True) if value > -np.inf]
    log_evidence = log_evidence[log_evidence > -np.inf]
    rng = np.random.default_rng(0)  # of the error alone: it changes no evidence
    drawn = rng.integers(restarts, size=(DRAWN_AGAIN, restarts))
    there = np.array([np.isin(drawn, rows).any(axis=1) for rows in found_by]).T
    there = there[there.any(axis=1)]
    again = special.logsumexp(np.where(there, log_evidence, -np.inf), axis=1)
    return float(np.sqrt(((special.logsumexp(log_evidence) - again) ** 2).mean()))


def _weighed(problem: Problem, restarts: Restarts, rows: np.ndarray, work: Work) -> pd.DataFrame:
    return mode_evidence(
        problem.dataset,
        _particles(problem, restarts, rows),
        rng=work.rng.spawn(1)[0],
        model=problem.model.key,
        model_settings=vars(problem.model_settings),
        metric=METRIC,
        solve=False,
        executor=work.executor,
        on_progress=work.part(1.0),
        stopped=work.stopped,
    )


def of_all_reached(problem: Problem, A: np.ndarray, W: np.ndarray, work: Work) -> RankEvidence:
    """The evidence from all that populations reach from one start, A (D, R), W (R, N)."""
    A, W = problem.model.scale(A[None], W[None])
    arguments = [(problem, A[0], W[0], rng) for rng in work.rng.spawn(POPULATIONS)]
    with Tasks(work.executor, work.stopped, None, POPULATIONS) as tasks:
        made = tasks.make(_population, arguments)
    values = np.array([population.log_evidence for population in made])
    alike = same_order(made, A[0])
    reached = np.log(alike.mean())
    spread = [np.std(values, ddof=1), np.std(alike, ddof=1) / alike.mean()]
    total = float(special.logsumexp(values)) - np.log(POPULATIONS)
    whole = total + lgamma(problem.rank + 1) + reached
    return RankEvidence(whole, float(np.hypot(*spread) / np.sqrt(POPULATIONS)), 1, False)


def same_order(made: Sequence[Annealed], reference_A: np.ndarray) -> np.ndarray:
    """Probability that draws of each two populations have their components in the same order.

    The order is that of matching with a reference (D, R). No probability is taken to be less than
    one pair of draws in all: where none is alike, that is all that is known.
    """
    orders = [matching(population.A, reference_A) for population in made]
    alike = [
        made[i].weights @ (orders[i][:, None] == orders[j]).all(axis=2) @ made[j].weights
        for i, j in combinations(range(len(made)), 2)
    ]
    pairs = sum(a.weights.size * b.weights.size for a, b in combinations(made, 2))
    return np.maximum(alike, 1.0 / pairs)


def _population(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Annealed:
    with one_blas_thread():
        posterior = posterior_of(problem, 1.0)
        path = posterior.path(posterior.around(A, W, rng, stopped))
        return anneal(path, particles_for(problem), rng, None, stopped)


def _particles(problem: Problem, restarts: Restarts, chosen: np.ndarray) -> Particles:
    """The chosen restarts, as factorizations that can be weighed."""
    count = chosen.size
    known = {name: np.zeros(count, int) for name in ("chain", "draw")}
    known |= {name: np.zeros(count) for name in ("log_joint", "seconds")}
    known |= {"A": restarts.A[chosen], "W": restarts.W[chosen], "ids": chosen}
    known |= {"weights": np.full(count, 1.0 / count)}
    known |= {"error": problem.loss.measured(problem.dataset, restarts.f[chosen])}
    spec = RunSpec("random_restarts", problem.rank, problem.model.key, count)
    return Particles.from_arrays(known, spec, {}, {}, {})
