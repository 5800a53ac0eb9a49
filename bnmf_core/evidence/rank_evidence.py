"""One rank: its log evidence from the modes that restarts find, and what else is known of it."""

from math import lgamma

import numpy as np
import pandas as pd
from scipy import special

from bnmf_core.evidence.mode_evidence import mode_evidence
from bnmf_core.evidence.restarts import METRIC, Restarts, highest_of_each
from bnmf_core.evidence.work import Work
from bnmf_core.nouns.errors import Cancelled, RunError
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.spec import RunSpec

# Restarts any two of which are this near, in degrees, are one mode.
THRESHOLD = 10.0


def row_of(
    problem: Problem, restarts: Restarts, most_modes: int, work: Work, share: float
) -> dict[str, object]:
    """What the table says of one rank, but for the error on hidden entries.

    ``most_modes`` : of so many the evidence is summed, one start each. ``share`` of the time.
    """
    labels = restarts.modes(THRESHOLD)
    A, W = problem.model.scale(restarts.A, restarts.W)
    log_joint = problem.model.log_joint(problem, A, W, restarts.squared)
    rows = highest_of_each(labels, log_joint, most_modes)
    evidence = _weigh(problem, restarts, rows, work, share)
    values, errors = (evidence[name].to_numpy() for name in ("log_evidence", "error"))
    total = float(special.logsumexp(values))
    parts = np.exp(values - total)
    return {
        "rank": problem.rank,
        "log_evidence": total + lgamma(problem.rank + 1),
        "error": float(np.sqrt(((parts * np.nan_to_num(errors)) ** 2).sum())),
        "settled": bool(evidence["settled"].all()),
        "weighed": len(evidence),
        "sigma": problem.model_settings.sigma,
        "rate": problem.model_settings.rate,
        "stability": restarts.stability(),
        "modes": int(labels.max()) + 1,
        "converged": restarts.converged,
        "restarts": restarts.made,
        "fit": float(np.sqrt(restarts.squared.min() / problem.dataset.squared_norm)),
    }


def _weigh(
    problem: Problem, restarts: Restarts, rows: np.ndarray, work: Work, share: float
) -> pd.DataFrame:
    """The evidence of the modes that these restarts stand for."""
    settings = {"sigma": problem.model_settings.sigma, "rate": problem.model_settings.rate}
    report = work.part(share)

    def weigh(chosen: np.ndarray) -> pd.DataFrame:
        return mode_evidence(
            problem.dataset,
            _particles(problem, restarts, chosen),
            rng=work.rng.spawn(1)[0],
            model=problem.model.key,
            model_settings=settings,
            metric=METRIC,
            executor=work.executor,
            on_progress=report,
            stopped=work.stopped,
        )

    try:
        return weigh(rows)
    except Cancelled:
        raise
    except RunError:
        # Chains have left each start for another one: they are one mode, which one start reaches.
        return weigh(rows[:1])


def _particles(problem: Problem, restarts: Restarts, chosen: np.ndarray) -> Particles:
    """The chosen restarts, as factorizations that can be weighed."""
    count = chosen.size
    known = {name: np.zeros(count, int) for name in ("chain", "draw")}
    known |= {name: np.zeros(count) for name in ("log_joint", "seconds")}
    known |= {"A": restarts.A[chosen], "W": restarts.W[chosen], "ids": chosen}
    known |= {"weights": np.full(count, 1.0 / count)}
    known |= {"error": np.sqrt(restarts.squared[chosen] / problem.dataset.squared_norm)}
    spec = RunSpec("random_restarts", problem.rank, problem.model.key, count)
    return Particles.from_arrays(known, spec, {}, {}, {})
