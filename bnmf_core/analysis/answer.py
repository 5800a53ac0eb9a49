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
from bnmf_core.analysis import basins, chains, distances, optima
from bnmf_core.analysis.chains import Verdicts
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.unseen import Unseen, unseen_modes
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import listed, percent

# Angles below this are rounding, in degrees as in ℓ1 units.
IDENTICAL = 0.001
# Modes that a sentence lists by number.
LISTED = 6
# Modes whose shares are told run by run.
MOST_SHARED = 10
# A share of the draws that is worth a word.
NOTABLE = 0.1
# A mass above this is all but the whole.
ALMOST_ALL = 0.999


def mode_table(
    comparison: Comparison, metric: str, modes: Modes, evidence: Evidence | None
) -> pd.DataFrame:
    """A row per mode, in the order of :class:`Modes`.

    Columns: ``mode`` (0-based), ``found_by`` (share of the converged restarts that end in it),
    ``draws`` (share of the exact samplers' draws), ``draws_away`` (median distance from them to the
    representative, in the distance's unit), ``below_best`` (nats of log joint from its best member
    to the best of all, under the model of the first run), ``as_good_as_best`` (whether an optimum
    in it fits as well as the best, see :mod:`~bnmf_core.analysis.optima`), ``mass``,
    ``mass_low``, ``mass_high``, ``weighed``, ``stays`` and ``joined`` (see :class:`Evidence`; NaN
    while ``evidence`` is None), ``spread``, ``nearest``, ``size``, ``best_error`` and
    ``representative``.
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
    good = np.bincount(labels, optima.as_good_as_best(comparison), minlength=modes.count)
    table["as_good_as_best"] = good > 0
    table["best_error"] = members["error"].groupby(labels).min().to_numpy()
    found = Evidence("") if evidence is None else evidence
    return table.join(found.of_modes(labels))


def share_by_run(comparison: Comparison, modes: Modes, most: int = MOST_SHARED) -> pd.DataFrame:
    """Share of each run in each of the first modes: columns mode (1-based), run, share."""
    weights = comparison.members["weight"].to_numpy()
    shown = min(modes.count, most)
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
    verdicts: Verdicts | None = None,
) -> dict[str, list[str]]:
    """The answer in sentences, by what it is about: what is said, and then what is to be added.

    ``found`` : how many modes there are. ``draws`` : where chains are, if they have settled.
    ``separate`` : islands or a ridge. ``probable`` : the masses. ``missing`` : what no restart has
    found. Nothing said of one: an empty list. ``table`` is that of :func:`mode_table`; evidence,
    islands and verdicts are None while they are computed.
    """
    unit = DISTANCES[metric].unit_behind
    return {
        "found": list(_found(comparison, metric, table, modes, unit)),
        "draws": list(_where_draws_lie(comparison, table, unit, verdicts)),
        "separate": list(_separate(islands, modes.labels, comparison.optima)),
        "probable": list(_probable(comparison, table, evidence, modes.labels, verdicts)),
        "missing": list(_missing(still_unseen, comparison)),
    }


def _found(
    comparison: Comparison, metric: str, table: pd.DataFrame, modes: Modes, unit: str
) -> Iterator[str]:
    converged = int(comparison.optima.sum())
    if converged > 1:
        found = table[table["found_by"] > 0]
        if len(found) == 1:
            apart = within(comparison, metric, modes)
            yield f"All {converged} converged restarts found one mode: {apart}."
            return
        good = found[found["as_good_as_best"]]
        poorer = len(found) - len(good)
        best = f"mode {int(good['mode'].iloc[0]) + 1} fits best" if len(good) == 1 else ""
        yield (
            f"{converged} converged restarts found {len(found)} modes (threshold "
            f"{modes.threshold:.3g}{unit}): {best or f'{len(good)} fit as well as the best'}"
            + (f", {poorer} are poorer local optima." if poorer > 1 else "")
            + (", 1 is a poorer local optimum." if poorer == 1 else "")
            + ("." if not poorer else "")
        )
        largest = table.iloc[int(np.nanargmax(table["found_by"]))]
        yield (
            f"{percent(largest['found_by'])} of the restarts ended in mode "
            f"{int(largest['mode']) + 1}."
        )
        yield f"As good as the best means: {optima.criterion(comparison)}."
    elif not converged and not comparison.exact_samplers:
        yield "None of these factorizations is known to have converged: modes may be unfinished."


def within(comparison: Comparison, metric: str, modes: Modes) -> str:
    """How far optima of one mode are apart at most, in words."""
    widest, unit = _widest(comparison, metric, modes), DISTANCES[metric].unit_behind
    if widest < IDENTICAL:
        return f"they are identical (to {IDENTICAL:g}{unit})"
    return f"any two are at most {_rounded_up(widest):.3g}{unit} apart"


def _widest(comparison: Comparison, metric: str, modes: Modes) -> float:
    """The largest distance between two optima of one mode."""
    optima = np.flatnonzero(comparison.optima)
    matrix = distances.STAGE.of(comparison).matrix(metric)[np.ix_(optima, optima)]
    labels = modes.labels[optima]
    return float(np.max(matrix, where=labels[:, None] == labels, initial=0.0))


def _where_draws_lie(
    comparison: Comparison, table: pd.DataFrame, unit: str, verdicts: Verdicts | None
) -> Iterator[str]:
    if verdicts is None or not verdicts.settled:
        return
    held = table[table["draws"] > 0]
    if not comparison.optima.any():
        compare = f" Compare with a run of {comparison.advised}." if comparison.advised else ""
        yield (
            f"The chains' draws lie in {_count(len(held), 'group')}. Draws alone do not show "
            f"modes.{compare}"
        )
        return
    names = _samplers(comparison)
    yield f"{names} draws lie {_span(held['draws_away'], unit)} from {_numbered(held['mode'])}."
    yield "A draw is a typical place in its mode, not the best fit there."
    if new := basins.STAGE.of(comparison).new():
        yield f"A solver takes {_count(new, 'draw')} to an optimum that no restart found."


def _samplers(comparison: Comparison) -> str:
    return listed([registry.label_of(key) for key in comparison.exact_samplers])


def _numbered(modes: pd.Series) -> str:
    """Modes by their numbers, as "modes 1 and 2"."""
    numbers = [str(int(mode) + 1) for mode in modes]
    shown = numbers[:LISTED] + ([f"{len(numbers) - LISTED} more"] if numbers[LISTED:] else [])
    return f"mode{'s' * (len(numbers) > 1)} {listed(shown)}"


def _separate(islands: Islands | None, labels: np.ndarray, optima: np.ndarray) -> Iterator[str]:
    verdict = "" if islands is None else islands.verdict(labels, optima)
    if verdict and verdict != "one mode":
        yield f"Islands or a ridge? The error along the best paths between modes says: {verdict}."


def _probable(
    comparison: Comparison,
    table: pd.DataFrame,
    evidence: Evidence | None,
    labels: np.ndarray,
    verdicts: Verdicts | None,
) -> Iterator[str]:
    if evidence is None:
        return
    if evidence.problem:
        yield f"Posterior mass: not computed. {evidence.problem}"
        return
    weighed = int((table["weighed"] > 0).sum())
    unweighed = np.unique(labels[comparison.optima]).size - weighed
    under = f"Model: “{evidence.model}”, {evidence.described}."
    if weighed == 1:
        number = int(table["weighed"].argmax()) + 1
        yield (
            f"Mode {number} is the only one that was weighed: its share is not known."
            if evidence.left_out or unweighed > 0
            else f"Mode {number} has all of the posterior mass that was found: no restart ended in "
            "another mode."
        )
        yield under
        return
    winner = evidence.winner(labels, 1.0)
    heaviest = table.iloc[int(np.nanargmax(table["mass"]))]
    number, share = int(heaviest["mode"]) + 1, mass_in_words(heaviest)
    called = _with_joined(table, number - 1)
    rough = "" if evidence.settled else ", as a rough estimate"
    if winner is not None:
        yield f"{called} {share} of the posterior mass of the {weighed} modes weighed{rough}."
    else:
        yield (
            f"The posterior does not tell which of {weighed} modes is the most probable{rough}: "
            f"{called[:1].lower()}{called[1:]} {share}."
        )
    yield from _not_kept(table)
    yield from _draws_elsewhere(table, verdicts)
    yield under
    if unweighed:
        yield (
            f"{_count(unweighed, 'mode')} with lower peaks {'was' if unweighed == 1 else 'were'} "
            "not weighed."
        )
    if not evidence.settled:
        yield "It is rough because twice as many steps changed an evidence by more than its error."
    yield from _by_power(evidence, labels, winner)


def _with_joined(table: pd.DataFrame, mode: int) -> str:
    """A mode and those that it is one with, as "Mode 1 has" or "Modes 1 and 3 together have"."""
    together = table.index[table["joined"] == mode] if "joined" in table else [mode]
    together = table.loc[together, "mode"]
    if len(together) < 2:
        return f"Mode {mode + 1} has"
    named = _numbered(together)
    return f"{named[:1].upper()}{named[1:]} together have"


def _not_kept(table: pd.DataFrame) -> Iterator[str]:
    """Modes that the posterior does not separate, and optima that are no modes of the posterior."""
    for first, group in table[table["weighed"] > 0].groupby("joined"):
        others = group[group["mode"] != first]
        if len(others):
            yield (
                f"The posterior does not separate {_numbered(group['mode'])}: samples that "
                "start at one end in the other."
            )
    left = table[(table["weighed"] > 0) & ~table["stays"] & (table["joined"] == table["mode"])]
    if len(left):
        named = _numbered(left["mode"])
        yield (
            f"{named[:1].upper()}{named[1:]} {'has' if len(left) == 1 else 'have'} no mass: "
            "samples that start there end in other optima."
        )


def _draws_elsewhere(table: pd.DataFrame, verdicts: Verdicts | None) -> Iterator[str]:
    """Where settled draws and masses do not agree, so that nobody takes the one for the other."""
    if verdicts is None or not verdicts.settled:
        return
    unweighed = table["draws"][table["weighed"] == 0].sum()
    if unweighed > NOTABLE:
        yield f"{percent(unweighed)} of the draws lie in modes that were not weighed."
    stuck = table[(table["weighed"] > 0) & (table["draws"] > table["mass_high"] + NOTABLE)]
    for _, mode in stuck.iterrows():
        yield (
            f"{percent(mode['draws'])} of the draws lie in mode {int(mode['mode']) + 1}, which has "
            f"{mass_in_words(mode)}: chains stay in the mode where they start."
        )


def _by_power(evidence: Evidence, labels: np.ndarray, winner: int | None) -> Iterator[str]:
    """Whether the most probable mode stays so where the noise model is trusted less.

    A winner is one in every repeat; at a lower power "still" takes that it won at all above it.
    """
    kept: float | None = None
    merged: list[str] = []
    still = winner is not None
    for power in sorted((one for one in evidence.powers if one < 1.0), reverse=True):
        found = evidence.winner(labels, power)
        if found is None and winner is not None and evidence.merged(labels, power, winner):
            merged.append(f"{power:g}")
        elif found is None:
            yield (
                f"At likelihood power {power:g} errors and repeats leave open which mode is the "
                "most probable."
            )
        elif found != winner and winner is not None:
            yield (
                f"The result depends on the noise model: at likelihood power {power:g} mode "
                f"{found + 1} is the most probable."
            )
        still = still and found == winner
        kept = power if still else kept
    if merged and winner is not None:
        powers = f"power{'s' * (len(merged) > 1)} {listed(merged)}"
        yield (
            f"At likelihood {powers} the posterior does not separate mode {winner + 1} from "
            "another mode."
        )
    if kept is not None and winner is not None:
        yield f"Mode {winner + 1} still wins at likelihood power {kept:g}."
    for power in evidence.blurred:
        yield f"At likelihood power {power:g} the posterior does not separate these modes."


def _missing(still_unseen: Unseen | None, comparison: Comparison) -> Iterator[str]:
    if still_unseen is None or still_unseen.restarts < 2:
        return
    low, high = still_unseen.new_probability_interval
    sure = f"{100 * still_unseen.level:.0f}%"
    if still_unseen.once:
        yield (
            "The next restart finds a new mode with probability "
            f"{percent(still_unseen.new_probability)} ({sure} CI {percent(low)} to "
            f"{percent(high)})."
        )
        yield f"Restarts can find at least {still_unseen.number:.0f} modes (a lower bound)."
    else:
        yield (
            f"{'Every' if still_unseen.found > 1 else 'The one'} mode was found more than once: "
            f"the next restart finds a new one with probability at most {percent(high)} ({sure})."
        )
    made_by = comparison.members["algorithm"][comparison.optima].value_counts(sort=False)
    if len(made_by) > 1:
        made = ", ".join(
            f"{count} by {registry.label_of(str(key))}" for key, count in made_by.items()
        )
        yield f"This holds for this mix of starts: {made}."


def draws_beside_optima(comparison: Comparison) -> str:
    """By how much settled draws fit worse than optima, in a sentence; "" without both."""
    members = comparison.members
    sampled = members["algorithm"].isin(comparison.exact_samplers).to_numpy()
    verdicts = chains.STAGE.perhaps(comparison)
    if verdicts is None or not verdicts.settled or not comparison.optima.any():
        return ""
    of_draws = float(members["error"][sampled].median())
    of_optima = float(members["error"][comparison.optima].median())
    return (
        f"Draws have a relative error of {of_draws:.3g}, optima of {of_optima:.3g} (medians). "
        "A draw is a typical place in its mode, not the best fit there."
    )


def _span(values: pd.Series, unit: str) -> str:
    """The smallest and the largest, "30.6 to 40.5°", or one where they read alike."""
    low, high = f"{values.min():.3g}", f"{values.max():.3g}"
    return f"{high}{unit}" if low == high else f"{low} to {high}{unit}"


def _rounded_up(value: float) -> float:
    """A number above 0 to three digits, never below itself."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / step) * step


def mass_in_words(mode: pd.Series) -> str:
    """The posterior mass of a mode, a row of :func:`mode_table`, with its interval of 90 %."""
    mass, low, high = mode["mass"], mode["mass_low"], mode["mass_high"]
    if "joined" in mode and mode["joined"] != mode["mode"]:
        return f"one with mode {int(mode['joined']) + 1}"
    if np.isnan(mass):
        return "not computed"
    if mass == 0.0 and not mode.get("stays", True):
        return "none: samples leave it"
    if low > ALMOST_ALL:
        return "> 99.9 %"
    if high < 1 - ALMOST_ALL:
        return "< 0.1 %"
    return f"{percent(mass)} ({percent(low)} to {percent(high)})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
