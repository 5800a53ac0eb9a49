"""How many components? Ranks side by side, by four criteria.

- *Log evidence* of a model: log p(X | R) = log Σ_k Z_k + log R!, with Z_k the evidence
  of the modes that restarts find, see :mod:`bnmf_core.evidence.mode_evidence`; modes that no
  restart finds are missing, so it is a lower bound.
- *Error on held-out entries* by bi-cross-validation, see :mod:`bnmf_core.compare.cross_validation`.
- *Stability*: how far components of converged restarts are from the best one's.
- *Number of modes* among converged restarts.

Evidence compares ranks under one prior. The same λ at all of them would expect more of X the more
components there are; so, unless λ is given, every rank expects the mean of X.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.compare.cross_validation import Block, blocks_of, held_out_error
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, DataError, RunError, SettingsError
from bnmf_core.core.loss import Loss
from bnmf_core.core.model import Capability, Model, Pair
from bnmf_core.core.problem import Problem, check_fit, check_model
from bnmf_core.core.spec import USUAL_MODEL
from bnmf_core.data.kinds import Kind, numbers_of
from bnmf_core.evidence import criteria
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.evidence.count_noise import from_restarts, other_noises
from bnmf_core.evidence.criteria import Criterion
from bnmf_core.evidence.noise import grows, with_noise
from bnmf_core.evidence.noise_levels import noise_levels, own_noise
from bnmf_core.evidence.parts import Cache, Report, Work
from bnmf_core.evidence.rank_evidence import (
    THRESHOLD,
    RankEvidence,
    effort,
    row_of,
    why_no_evidence,
)
from bnmf_core.evidence.restarts import Restarts, made_of, shards
from bnmf_core.likelihoods import MODELS

NOISES = ("free", "same")
# Parts of the rows and of the columns that are left out in turn (Owen & Perry 2009: halves do well;
# less leads to too many components, more to too few), and how often they are cut anew.
FOLDS, CUTS = 2, 4
# What the restarts, the held-out blocks and the noise, or other noises of counts, take of the time,
# about; the evidence takes the rest.
RESTARTS_TAKE, HIDDEN_TAKES, NOISE_TAKES = 0.2, 0.1, 0.1
LEFT_OUT = "It was left out to save time."


@dataclass(frozen=True, eq=False)
class RankStudy:
    """Results for every rank, and the choices of the criteria.

    Attributes
    ----------
    table : a row per rank: ``rank``; ``log_evidence`` (nats) and its ``error`` (one standard
        error), ``settled`` (whether twice the steps gave the same; False where not tried),
        ``weighed`` (modes in it), ``sigma`` and ``rate`` of the model; ``hidden_error`` (the
        model's measure of fit, of blocks left out) and its standard error
        ``hidden_error_spread``, NaN where the rank is too large for half of X; ``stability``
        (degrees) and ``modes``, NaN where fewer than half of the ``restarts`` have ``converged``;
        and ``fit``, the measure of fit of the best restart.
    criteria : by their keys ``evidence``, ``hidden``, ``stability`` and ``modes``.
    noise, prior : what was taken for σ and for λ, in a sentence each.
    best : of every rank the restart with the smallest error, A (D, R) and W (R, N).
    counts : whether the noise is Gaussian and X holds counts, so that the evidence may take their
        noise for components.
    grows : whether residuals grow with the fit, see :func:`bnmf_core.evidence.noise.grows`.
    of_noise : of counts, the log evidence of the chosen rank under each noise of counts, by the
        keys of the models, the study's own first.
    """

    table: pd.DataFrame
    criteria: Mapping[str, Criterion]
    noise: str
    prior: str
    best: Mapping[int, tuple[np.ndarray, np.ndarray]]
    counts: bool = False
    grows: bool = False
    of_noise: Mapping[str, RankEvidence] = field(default_factory=dict)

    @property
    def known(self) -> pd.DataFrame:
        """The table without what the model does not have: an evidence, a σ."""
        lacking = ["sigma"] if self.table["sigma"].isna().all() else []
        if criteria.no_evidence(self.criteria):
            lacking += ["log_evidence", "error", "settled", "weighed"]
        return self.table.drop(columns=lacking)


def rank_study(
    dataset: Dataset,
    ranks: Iterable[int],
    *,
    rng: np.random.Generator,
    model: str = USUAL_MODEL,
    noise: str | None = None,
    sigma: float | None = None,
    rate: float | None = None,
    restarts: int = 50,
    most_modes: int = 6,
    evidence: bool = True,
    executor: Executor | None = None,
    on_progress: Report | None = None,
    stopped: Stopped = never,
    keep: Path | None = None,
) -> RankStudy:
    """Compare numbers of components by evidence, held-out entries, stability and number of modes.

    Parameters
    ----------
    dataset : X (D, N). ranks : numbers of components, each between 1 and min(D, N).
    model : its key. A likelihood without a normaliser has no evidence; the other criteria remain.
    noise : of a model with Gaussian noise. "free": for every rank the σ at which the evidence of
        its best fit is largest; what that choice of σ costs is not counted. "same": one σ for all
        ranks, as given or, left open, from the residual of the largest rank. None: "same" where σ
        is given, else "free".
    sigma : standard deviation of the noise, in X's unit. rate : λ of the priors, the same for all
        ranks; None: what makes every rank expect the mean of X.
    restarts : random restarts of each rank, 2 or more. most_modes : of so many modes, one start
        each, the highest log joint first, the evidence is summed.
    evidence : whether it is computed, which takes most of the time.
    executor : where the work is done, as of ``open_executor``; None: in threads here.
    on_progress : called with the fraction done. stopped : checked while it works.
    keep : a folder for finished parts; when the study was stopped, the same call goes on from there
        and ends as it would have.

    Raises
    ------
    SettingsError
        When a rank or a setting is invalid, or the noise cannot be estimated.
    RunError
        When no entry of a row or a column was observed.
    Cancelled
        When ``stopped()`` returned True.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import low_rank, rank_study
    >>> data = low_rank(10, 12, rank=2, noise=0.1, rng=np.random.default_rng(1))
    >>> study = rank_study(data, [1, 2, 3], sigma=0.1, restarts=5, rng=np.random.default_rng(0))
    >>> study.criteria["evidence"].said
    'It chooses rank 2.'
    """
    if noise is None:
        noise = "free" if sigma is None else "same"
    tried = _checked(dataset, ranks, noise, sigma, rate, restarts, most_modes)
    work, cache = Work(rng, executor, stopped, on_progress), Cache(keep)
    problems = {rank: _problem(dataset, MODELS[model], rank, rate, sigma, noise) for rank in tried}
    sized = Capability.GAUSSIAN_NOISE in MODELS[model].capabilities
    middle = problems[_middle(tried)]
    # Each part has its own generator, whether or not earlier parts come from the cache.
    found, each = {}, 1.0 / len(tried)
    why = why_no_evidence(problems[tried[0]]) or LEFT_OUT * (not evidence)
    whole = 1.0 if evidence else RESTARTS_TAKE + HIDDEN_TAKES
    part = work.part_of(RESTARTS_TAKE / whole)
    seeds = part.rng.integers(2**32, size=len(tried)).tolist()
    for rank, seed in zip(tried, seeds, strict=True):
        blocks_of_rank = shards(restarts, seed)
        share = part.part_of(each)
        arrays = cache.arrays(f"restarts-{rank}", made_of, problems[rank], blocks_of_rank, share)
        found[rank] = Restarts.read(arrays)
    losses = _hidden_of(problems, middle.loss, cache, work.part_of(HIDDEN_TAKES / whole))
    part = work.part_of(NOISE_TAKES if noise == "free" and sized and not why else 0.0)
    levels: dict[str, Any] = {"sigma": [None] * len(tried), "told": ""}
    if not sized:
        levels["told"] = own_noise(problems)
    elif not why:
        levels = cache.plain("noise", noise_levels, problems, found, noise, sigma, part)
    efforts = [effort(problems[rank], found[rank], most_modes) for rank in tried]
    others = [] if why else other_noises(MODELS[model])
    left, rows = 1.0 - work.begun - NOISE_TAKES * bool(others), []
    for rank, level, own in zip(tried, levels["sigma"], efforts, strict=True):
        part, noisy = work.part_of(left * own / sum(efforts)), problems[rank]
        if level is not None:
            noisy = with_noise(noisy, level)
        weighed = 0 if why else most_modes
        rows.append(cache.plain(f"rank-{rank}", row_of, noisy, found[rank], weighed, part))
    best = {rank: (some.A[some.best], some.W[some.best]) for rank, some in found.items()}
    table = _with_fit(pd.DataFrame(rows), losses, best, middle)
    judged = _criteria(table, losses, levels["told"], why)
    of_noise = {}
    if others and (best_rank := judged["evidence"].chosen) is not None:
        row = rows[tried.index(best_rank)]
        of_noise[model] = RankEvidence(**{name: row[name] for name in RankEvidence.names()})
        for other in others:
            there = _problem(dataset, other, best_rank, rate, sigma)
            part = work.part_of(NOISE_TAKES / len(others))
            values = cache.plain(other.key, from_restarts, there, restarts, most_modes, part)
            of_noise[other.key] = RankEvidence(**values)
    work.tell(1.0)
    # Where the evidence takes such noise for components, its own rank shows none of it any more. At
    # too small a rank a component that is missing looks like such noise.
    by_hidden = judged["hidden"].chosen if judged["hidden"].settles else None
    chosen = by_hidden or judged["evidence"].chosen or judged["hidden"].chosen or tried[-1]
    uneven = sized and grows(dataset, *best[chosen])
    counts = sized and numbers_of(dataset).kind is Kind.COUNTS
    return RankStudy(table, judged, levels["told"], _prior(rate), best, counts, uneven, of_noise)


def _problem(
    dataset: Dataset,
    model: Model,
    rank: int,
    rate: float | None,
    sigma: float | None,
    noise: str = "free",
) -> Problem:
    """The problem of one rank; the size of Gaussian noise, which is found later, is a stand-in."""
    check_model(dataset, model)
    chosen = model.Settings()
    if rate is not None:
        chosen = replace(chosen, rate=rate)
    if Capability.GAUSSIAN_NOISE in model.capabilities:
        chosen = replace(chosen, sigma=sigma or 1.0)
    elif sigma is not None or noise == "same":
        given = "noise 'same'" if sigma is None else f"σ = {sigma:g}"
        raise SettingsError(
            f"The noise of the model “{model.label}” has no size σ; {given} was asked for."
        )
    return Problem(dataset, model, model.resolve(dataset, rank, chosen), rank)


def so_far(
    dataset: Dataset,
    ranks: Iterable[int],
    keep: Path,
    model: str = USUAL_MODEL,
    evidence: bool = True,
) -> RankStudy | None:
    """Partial study from the parts stored in ``keep``; None before its restarts.

    Criteria choose nothing yet; what is not known is NaN in the table.
    """
    cache = Cache(keep)
    rows, hidden, best = [], [], {}
    for rank in sorted(set(ranks)):
        arrays = cache.found(f"restarts-{rank}")
        if arrays is None:
            break
        found = Restarts.read(arrays)
        best[rank] = found.A[found.best], found.W[found.best]
        row: dict[str, Any] = {"rank": rank, "log_evidence": np.nan, "error": np.nan}
        row |= {"stability": found.stability(), "modes": found.mode_count(THRESHOLD)}
        rows.append(cache.found(f"rank-{rank}") or row)
        of_rank = cache.found(f"hidden-{rank}") or {"f": np.full(CUTS * FOLDS**2, np.nan)}
        hidden.append(of_rank["f"])
    if not rows:
        return None
    middle = _problem(dataset, MODELS[model], _middle(sorted(set(ranks))), None, None)
    table = _with_fit(pd.DataFrame(rows), np.array(hidden), best, middle)
    why = why_no_evidence(middle) or LEFT_OUT * (not evidence)
    unknown = {
        key: Criterion(label, "", None, (), False, "", why * (key == "evidence"))
        for key, label in criteria.LABELS.items()
    }
    return RankStudy(table, unknown, "", "", best)


def _checked(
    dataset: Dataset,
    ranks: Iterable[int],
    noise: str,
    sigma: float | None,
    rate: float | None,
    restarts: int,
    most_modes: int,
) -> list[int]:
    """The ranks, each once and ascending."""
    tried = sorted(set(ranks))
    largest = min(dataset.D, dataset.N)
    if not tried:
        raise SettingsError(f"No rank was given; give some between 1 and {largest}.")
    wrong = [rank for rank in tried if int(rank) != rank or not 1 <= rank <= largest]
    if wrong:
        raise SettingsError(
            f"Rank {wrong[0]} was among those to try; {dataset.name!r} is {dataset.D}×{dataset.N}, "
            f"so ranks must be whole numbers between 1 and {largest}."
        )
    if noise not in NOISES:
        raise SettingsError(f"The noise was {noise!r}; choose one of {', '.join(NOISES)}.")
    if noise == "free" and sigma is not None:
        raise SettingsError(
            f"σ was given as {sigma:g}, and the noise is free; leave σ open, or choose the noise "
            "'same'."
        )
    for name, value in (("σ", sigma), ("λ", rate)):
        if value is not None and not 0.0 < value < np.inf:
            raise SettingsError(f"{name} was {value:g}; a finite number above 0 is needed.")
    if restarts < 2 or most_modes < 1:
        raise SettingsError(
            f"{restarts} restarts and {most_modes} modes were asked for; at least 2 restarts and 1 "
            "mode are needed."
        )
    check_fit(dataset, np.arange(dataset.N), tried[-1])
    return [int(rank) for rank in tried]


def _middle(ranks: Sequence[int]) -> int:
    # The rank whose loss measures held-out entries at all ranks. The dispersion of counts depends
    # on the rank, and losses at different dispersions cannot be compared.
    return ranks[len(ranks) // 2]


def _hidden_of(problems: Mapping[int, Problem], loss: Loss, cache: Cache, part: Work) -> np.ndarray:
    """Losses on blocks left out, (ranks, blocks)."""
    dataset, found = next(iter(problems.values())).dataset, []
    blocks = blocks_of((dataset.D, dataset.N), FOLDS, CUTS, part.rng)
    spawned = part.rng.spawn(len(problems) * len(blocks))
    for i, (rank, problem) in enumerate(problems.items()):
        draws = list(zip(blocks, spawned[i * len(blocks) :], strict=False))
        share = part.part_of(1.0 / len(problems))
        arrays = cache.arrays(f"hidden-{rank}", _hidden, problem, loss, draws, share)
        found.append(arrays["f"])
    return np.array(found)


def _hidden(
    problem: Problem, loss: Loss, draws: Sequence[tuple[Block, np.random.Generator]], work: Work
) -> dict[str, np.ndarray]:
    """Losses ``f`` on blocks left out, (blocks,); each with its generator."""
    arguments = [(problem, loss, block, generator) for block, generator in draws]
    return {"f": np.array(work.make(1.0, _error_or_nan, arguments))}


def _error_or_nan(
    problem: Problem,
    loss: Loss,
    block: Block,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> float:
    """NaN where what is retained is too small, or has lines of which nothing was seen."""
    try:
        return held_out_error(problem.dataset, block, problem.rank, rng, stopped, loss)
    except Cancelled:
        raise
    except (DataError, RunError):
        return np.nan


def _prior(rate: float | None) -> str:
    if rate is None:
        return "λ follows from the mean of X, as in a run, which every rank then expects."
    return f"λ is {rate:.4g} at every rank, as given."


def _with_fit(
    table: pd.DataFrame, hidden: np.ndarray, best: Mapping[int, Pair], middle: Problem
) -> pd.DataFrame:
    """The table with the fit, its measure on blocks left out and the standard error of that."""
    dataset, loss = middle.dataset, middle.loss
    f = [loss.values(middle, A[None], W[None])[0] for A, W in best.values()]
    table["fit"] = loss.measured(dataset, np.array(f))
    whole, spread = hidden.sum(axis=1) / CUTS, criteria.spread_of_sum(hidden, FOLDS**2) / CUTS
    shown = loss.measured(dataset, whole)
    # The slope of what is shown, from both sides.
    near = 1e-4 * whole
    slope = (loss.measured(dataset, whole + near) - loss.measured(dataset, whole - near)) / 2e-4
    place = list(table.columns).index("stability")
    table.insert(place, "hidden_error", shown)
    table.insert(place + 1, "hidden_error_spread", spread * slope / whole)
    return table


def _criteria(
    table: pd.DataFrame, hidden: np.ndarray, noise: str, no_evidence: str
) -> dict[str, Criterion]:
    ranks = table["rank"].to_numpy()
    evidence, error = table["log_evidence"].to_numpy(), table["error"].to_numpy()
    return {
        "evidence": criteria.by_evidence(ranks, evidence, error, noise, no_evidence),
        "hidden": criteria.by_hidden(ranks, hidden, FOLDS**2),
        "stability": criteria.by_stability(ranks, table["stability"].to_numpy(), THRESHOLD),
        "modes": criteria.by_modes(ranks, table["modes"].to_numpy(), THRESHOLD),
    }
