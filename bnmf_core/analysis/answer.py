"""How many explanations there are, how they were found, how good and how probable: in a table and
in sentences.

Three things of a mode that are not the same: how many restarts end in it (its basin), how far its
best point is below the best of all (its height), and how much of the posterior lies in it (its
mass).
"""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from bnmf_core import registry
from bnmf_core.analysis import distances
from bnmf_core.analysis.chains import Spread
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.unseen import Unseen, unseen_modes
from bnmf_core.nouns.errors import DataError

# A second mode that is nearer than this part of the way to the first is hardly another place.
CLOSE = 0.1
# Modes whose shares are told run by run.
MOST_SHARED = 10
# A share of the draws that is worth a word.
NOTABLE = 0.1
# A mass above this is all but the whole.
ALMOST_ALL = 0.999
# Words for the powers of the likelihood below 1: so many entries of X count as one.
AS_ONE = {0.1: "ten", 0.01: "a hundred"}


def mode_table(
    comparison: Comparison, metric: str, modes: Modes, evidence: Evidence | None
) -> pd.DataFrame:
    """A row per mode, in the order of :class:`Modes`.

    Columns: ``mode`` (0-based), ``found_by`` (share of the converged restarts that end in it),
    ``draws`` (share of the exact samplers' draws), ``draws_away`` (median distance from them to the
    representative, in the distance's unit), ``below_best`` (nats of log joint from its best member
    to the best of all, under the model of the first run), ``mass``, ``mass_low``, ``mass_high`` and
    ``weighed`` (see :class:`Evidence`; NaN while ``evidence`` is None), ``spread``, ``nearest``,
    ``size``, ``best_error`` and ``representative``.
    """
    members, labels = comparison.members, modes.labels
    converged = comparison.optima
    sampled = members["algorithm"].isin(comparison.exact_samplers).to_numpy()
    table = modes.table().rename(columns={"spread_max": "spread"})
    table["found_by"] = _share(labels, converged, modes.count)
    table["draws"] = _share(labels, sampled, modes.count)
    matrix = distances.STAGE.of(comparison).matrix(metric)
    away = pd.Series(matrix[np.arange(labels.size), modes.representative[labels]])
    table["draws_away"] = away[sampled].groupby(labels[sampled]).median().reindex(table["mode"])
    height = members["log_joint"].where(comparison.same_model).groupby(labels).max()
    table["below_best"] = (height.max() - height).reindex(table["mode"]).to_numpy()
    table["best_error"] = members["error"].groupby(labels).min().to_numpy()
    found = Evidence("") if evidence is None else evidence
    return table.join(found.of_modes(labels))


def share_by_run(comparison: Comparison, modes: Modes) -> pd.DataFrame:
    """Share of each run in each of the ten largest modes: columns mode (1-based), run, share."""
    weights = comparison.members["weight"].to_numpy()
    shown = min(modes.count, MOST_SHARED)
    shares = [
        math.fsum(weights[rows][modes.labels[rows] == mode])
        for rows in comparison.rows_by_run()
        for mode in range(shown)
    ]
    return pd.DataFrame(
        {
            "mode": np.tile(np.arange(1, shown + 1), len(comparison.run_ids)),
            "run": np.repeat(comparison.run_ids, shown),
            "share": shares,
        }
    )


def _share(labels: np.ndarray, counted: np.ndarray, count: int) -> np.ndarray:
    if not counted.any():
        return np.full(count, np.nan)
    return np.bincount(labels[counted], minlength=count) / counted.sum()


def unseen(labels: np.ndarray, optima: np.ndarray) -> Unseen | None:
    """What converged restarts say of modes that none has found; None without such restarts.

    labels : (m,) mode of every member. optima : (m,) bool, which of them are converged restarts.
    """
    try:
        return unseen_modes(labels, optima)
    except DataError:
        return None


def sentences(
    comparison: Comparison,
    metric: str,
    table: pd.DataFrame,
    modes: Modes,
    evidence: Evidence | None,
    islands: Islands | None,
    still_unseen: Unseen | None,
    met: Spread | None = None,
) -> dict[str, list[str]]:
    """The answer in sentences, by what it is about: what is said, and then what is to be added.

    ``found`` : how many modes there are. ``draws`` : where chains are. ``separate`` : islands or a
    ridge. ``probable`` : the masses. ``missing`` : what no restart has found. Nothing said of one:
    an empty list. ``table`` is that of :func:`mode_table`; evidence or islands are None while they
    are computed. ``met`` : how far the draws of chains are apart, None without several.
    """
    unit = DISTANCES[metric].unit_behind
    drawn = list(_where_draws_lie(comparison, metric, table, modes, met))
    return {
        "found": list(_found(comparison, metric, table, modes, unit)),
        "draws": drawn,
        "separate": list(_separate(islands, modes.labels, comparison.optima)),
        "probable": list(_probable(comparison, table, evidence, modes.labels)),
        "missing": list(_missing(still_unseen, comparison)),
    }


def _found(
    comparison: Comparison, metric: str, table: pd.DataFrame, modes: Modes, unit: str
) -> Iterator[str]:
    apart = f"at most {_widest(comparison, metric, modes):.2g}{unit} apart"
    converged = int(comparison.optima.sum())
    if converged > 1:
        found = table[table["found_by"] > 0]
        largest = table.iloc[int(np.nanargmax(table["found_by"]))]
        yield (
            f"{converged} converged restarts ended in {len(found)} modes, told apart at "
            f"{modes.threshold:.3g}{unit}; within a mode any two are {apart}. "
            f"{percent(largest['found_by'])} of them ended in mode {int(largest['mode']) + 1}."
            if len(found) > 1
            else f"All {converged} converged restarts ended in one mode: any two are {apart}."
        )
    elif not converged and not comparison.exact_samplers:
        yield "None of these factorizations is known to have converged: modes may be unfinished."


def _widest(comparison: Comparison, metric: str, modes: Modes) -> float:
    """The largest distance between two optima of one mode."""
    optima = np.flatnonzero(comparison.optima)
    matrix = distances.STAGE.of(comparison).matrix(metric)[np.ix_(optima, optima)]
    labels = modes.labels[optima]
    return float(np.max(matrix, where=labels[:, None] == labels, initial=0.0))


def _where_draws_lie(
    comparison: Comparison,
    metric: str,
    table: pd.DataFrame,
    modes: Modes,
    met: Spread | None,
) -> Iterator[str]:
    if not comparison.exact_samplers:
        return
    held, unit = table[table["draws"] > 0], DISTANCES[metric].unit_behind
    if not comparison.optima.any():
        tell = f" a run of {comparison.advised} beside them tells modes"
        yield (
            f"The chains' draws lie in {_count(len(held), 'group')}. They are draws, not optima"
            f"{':' + tell if comparison.advised else ''}."
        )
        return
    away = held["draws_away"].max()
    numbers = ", ".join(str(int(mode) + 1) for mode in held["mode"][:6])
    yield (
        f"The chains' draws are nearest to mode{'s' * (len(held) > 1)} {numbers}"
        f"{', …' * (len(held) > 6)}, typically {_span(held['draws_away'], unit)} from the "
        "representative there: a draw fits worse than an optimum, and lies farther out."
    )
    if met is not None and met.apart:
        yield " ".join(met.said(DISTANCES[metric]))
    margin, between = _margin(comparison, metric, modes), table["nearest"].min()
    if away > between:
        yield (
            f"Modes lie as little as {between:.3g}{unit} from each other: draws that are farther "
            "out than that are near none of them, and shares of draws mean little."
        )
    elif margin < CLOSE * away:
        yield (
            f"The next mode is hardly farther, by {margin:.2g}{unit} (median): to which mode a "
            "draw belongs is not settled, and shares of draws mean little."
        )


def _margin(comparison: Comparison, metric: str, modes: Modes) -> float:
    """By how much a draw's second nearest mode is farther than its nearest; ∞ for one mode."""
    optima = np.flatnonzero(comparison.optima)
    sampled = np.flatnonzero(comparison.members["algorithm"].isin(comparison.exact_samplers))
    matrix = distances.STAGE.of(comparison).matrix(metric)[np.ix_(sampled, optima)]
    labels = modes.labels[optima]
    kinds = np.unique(labels)
    if kinds.size < 2:
        return np.inf
    nearest = np.sort([matrix[:, labels == kind].min(axis=1) for kind in kinds], axis=0)
    return float(np.median(nearest[1] - nearest[0]))


def _separate(islands: Islands | None, labels: np.ndarray, optima: np.ndarray) -> Iterator[str]:
    verdict = "" if islands is None else islands.verdict(labels, optima)
    if verdict and verdict != "one mode":
        yield f"Islands or a ridge? By the error along the best paths found: {verdict}."


def _probable(
    comparison: Comparison, table: pd.DataFrame, evidence: Evidence | None, labels: np.ndarray
) -> Iterator[str]:
    if evidence is None:
        return
    if evidence.problem:
        yield f"Posterior mass: not computed. {evidence.problem}"
        return
    weighed = int((table["weighed"] > 0).sum())
    unweighed = np.unique(labels[comparison.optima]).size - weighed
    under = f"Under “{evidence.model}”, {evidence.described}."
    if weighed == 1:
        number = int(table["weighed"].argmax()) + 1
        yield (
            f"Mode {number} is the only one that was weighed: its share is not known."
            if evidence.left_out
            else f"Mode {number} has all of the posterior mass in what restarts found: none of "
            "them ended in another mode."
        )
        yield under
        return
    not_kept = list(_not_kept(table, weighed))
    mostly = (~table["stays"]).sum() >= 0.5 * weighed
    yield from not_kept if mostly else []
    clear = is_clear(table)
    heaviest = table.iloc[int(np.nanargmax(table["mass"]))]
    yield (
        f"Mode {int(heaviest['mode']) + 1} has {mass_in_words(heaviest)} of the posterior mass of "
        f"the {weighed} modes that were weighed"
        + ", as a rough estimate" * (not evidence.settled)
        + "."
        + " The errors leave open which of them is the most probable." * (not clear)
    )
    yield from [] if mostly else not_kept
    yield from _draws_elsewhere(table)
    yield under
    if unweighed:
        yield (
            f"{_count(unweighed, 'mode')} with lower peaks {'was' if unweighed == 1 else 'were'} "
            "not weighed."
        )
    if not evidence.settled:
        yield "It is rough because twice as many steps changed an evidence by more than its error."
    yield from _by_belief(evidence, labels)
    for belief in evidence.blurred:
        yield (
            f"With {AS_ONE[belief]} entries of X counting as one, as if the noise model were "
            "trusted less, the posterior no longer tells these modes apart: chains leave "
            "all of them."
        )


def _not_kept(table: pd.DataFrame, weighed: int) -> Iterator[str]:
    """Modes that chains leave: optima of the fit, and no modes of the posterior."""
    left = table["mode"][(table["weighed"] > 0) & ~table["stays"]] + 1
    if left.empty:
        return
    numbers = ", ".join(map(str, left))
    yield (
        f"The posterior does not keep {len(left)} of the {weighed} modes that were weighed apart "
        f"from the others: chains that set out at {'mode' if len(left) == 1 else 'modes'} "
        f"{numbers} end nearer to another one."
    )


def _draws_elsewhere(table: pd.DataFrame) -> Iterator[str]:
    """Where draws and masses do not agree, so that nobody takes the one for the other."""
    unweighed = table["draws"][table["weighed"] == 0].sum()
    if unweighed > NOTABLE:
        yield f"{percent(unweighed)} of the draws are nearest to modes that were not weighed."
    stuck = table[(table["weighed"] > 0) & (table["draws"] > table["mass_high"] + NOTABLE)]
    for _, mode in stuck.iterrows():
        yield (
            f"{percent(mode['draws'])} of the draws are nearest to mode {int(mode['mode']) + 1}, "
            f"which has {mass_in_words(mode)}: chains stay where they set out, or were not run "
            "for long enough."
        )


def _by_belief(evidence: Evidence, labels: np.ndarray) -> Iterator[str]:
    """Whether the most probable mode stays so; a winner within its error is none."""
    masses = {belief: evidence.of_modes(labels, belief) for belief in evidence.beliefs}
    winners = {belief: int(np.nanargmax(found["mass"])) for belief, found in masses.items()}
    stays = [
        belief
        for belief, found in masses.items()
        if belief < 1 and winners[belief] == winners[1.0] and is_clear(found)
    ]
    if stays:
        yield (
            f"It stays the most probable with {AS_ONE[min(stays)]} entries of X counting as one, "
            "as if the noise model were trusted less."
        )
    unclear = [
        AS_ONE[belief] for belief, found in masses.items() if belief < 1 and not is_clear(found)
    ]
    if unclear:
        yield (
            f"With {' or '.join(unclear)} entries of X counting as one, as if the noise model were "
            "trusted less, the errors leave open which mode is the most probable."
        )
    for belief, found in masses.items():
        if winners[belief] != winners[1.0] and is_clear(found):
            yield (
                f"This hangs on the noise model: with {AS_ONE[belief]} entries of X counting as "
                f"one, as if it were trusted less, mode {winners[belief] + 1} is the most probable."
            )


def is_clear(masses: pd.DataFrame) -> bool:
    """Whether one mode weighs more than every other, whatever the errors are."""
    held = masses[masses["mass"].notna()].sort_values("mass", ascending=False)
    return bool((held["mass_high"].iloc[1:] < held["mass_low"].iloc[0]).all())


def _missing(still_unseen: Unseen | None, comparison: Comparison) -> Iterator[str]:
    if still_unseen is None or still_unseen.restarts < 2:
        return
    low, high = still_unseen.new_probability_interval
    least, most = still_unseen.number_interval
    sure = f"{100 * still_unseen.level:.0f} %"
    if still_unseen.once:
        yield (
            "The next restart ends in a mode that none has found with a chance of "
            f"{percent(still_unseen.new_probability)} ({percent(low)} to {percent(high)} with "
            f"{sure})."
        )
        yield (
            f"An estimate of all modes that restarts can find: {still_unseen.number:.0f} "
            f"({least:.0f} to {most:.0f} with {sure}). It is rather too small than too large."
        )
    else:
        yield (
            f"{'Every' if still_unseen.found > 1 else 'The one'} mode was found more than once: "
            "the next restart ends in a new one with a chance "
            f"of at most {percent(high)} (with {sure})."
        )
    made_by = comparison.members["algorithm"][comparison.optima].value_counts(sort=False)
    if len(made_by) > 1:
        made = ", ".join(
            f"{count} by {registry.label_of(str(key))}" for key, count in made_by.items()
        )
        yield f"Restarts are what started anew: {made}. What is said holds for this mix of starts."


def draws_beside_optima(comparison: Comparison) -> str:
    """By how much draws fit worse than optima, in a sentence; "" where there are not both."""
    members = comparison.members
    sampled = members["algorithm"].isin(comparison.exact_samplers).to_numpy()
    if not (sampled.any() and comparison.optima.any()):
        return ""
    of_draws = float(members["error"][sampled].median())
    of_optima = float(members["error"][comparison.optima].median())
    return (
        f"Draws have a relative error of {of_draws:.3g}, optima of {of_optima:.3g} (medians). "
        "A draw is not the best fit of its mode but a typical place in it, and the difference is "
        "what the posterior allows."
    )


def _span(values: pd.Series, unit: str) -> str:
    """The smallest and the largest, "30.6 to 40.5°", or one where they read alike."""
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return f"{high}{unit}" if low == high else f"{low} to {high}{unit}"


def mass_in_words(mode: pd.Series) -> str:
    """The posterior mass of a mode, a row of :func:`mode_table`, with its interval of 90 %."""
    mass, low, high = mode["mass"], mode["mass_low"], mode["mass_high"]
    if np.isnan(mass):
        return "not computed"
    if mass == 0.0 and not mode.get("stays", True):
        return "none: chains leave it"
    if low > ALMOST_ALL:
        return "> 99.9 %"
    if high < 1 - ALMOST_ALL:
        return "< 0.1 %"
    return f"{percent(mass)} ({percent(low)} to {percent(high)})"


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it takes to say that it is neither 0 nor 1."""
    if np.isnan(share):
        return "not computed"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    digits = 1 if 0 < share < 0.1 or 0.9 < share < 1 else 0
    return f"{100 * share:.{digits}f} %"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
