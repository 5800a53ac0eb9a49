"""Facts about modes: number, discovery, fit and probability."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from bnmf_core import registry
from bnmf_core.analysis import basins, mode_table, optima
from bnmf_core.analysis.chains import Verdicts
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.unseen import Unseen
from bnmf_core.findings.facts import IDENTICAL, Fact, fact, say
from bnmf_core.registry import model_of

# Least share of the draws that is reported.
NOTABLE = 0.1
# A larger mass is reported as nearly all.
ALMOST_ALL = 0.999


def facts(
    comparison: Comparison,
    metric: str,
    table: pd.DataFrame,
    modes: Modes,
    evidence: Evidence | None,
    islands: Islands | None,
    unseen: Unseen | None,
    verdicts: Verdicts | None = None,
) -> dict[str, list[Fact]]:
    """Facts about the modes by subject, the most important first.

    ``found`` : number of modes. ``draws`` : location of settled chains. ``separate`` : islands or a
    ridge. ``probable`` : masses. ``missing`` : undiscovered modes. Unknown subjects have an empty
    list. ``table`` : of :func:`~bnmf_core.analysis.mode_table.mode_table`; evidence, islands and
    verdicts are None until computed.
    """
    unit = DISTANCES[metric].unit_behind
    verdict = "" if islands is None else islands.verdict(modes.labels, comparison.optima)
    return {
        "found": list(_found(comparison, metric, table, modes, unit, islands)),
        "draws": list(_where_draws_lie(comparison, table, unit, verdicts)),
        "separate": [fact("paths", verdict=verdict)] if verdict else [],
        "probable": list(_probable(comparison, table, evidence, modes.labels, verdicts, islands)),
        "missing": list(_missing(unseen, comparison)),
    }


def mass_of(mode: pd.Series) -> Fact:
    """The posterior mass of a mode, a row of the table, with its 90 % interval."""
    mass, low, high = (float(mode[key]) for key in ("mass", "mass_low", "mass_high"))
    if "joined" in mode and mode["joined"] != mode["mode"]:
        return fact("share.joined", joined=int(mode["joined"]) + 1)
    if math.isnan(mass):
        return fact("share.unknown")
    if mass == 0.0 and not mode.get("stays", True):
        return fact("share.none")
    if low > ALMOST_ALL:
        return fact("share.nearly_all")
    if high < 1 - ALMOST_ALL:
        return fact("share.hardly")
    return fact("share.known", mass=mass, low=low, high=high)


def mass_in_words(mode: pd.Series) -> str:
    """:func:`mass_of` in words."""
    return say(mass_of(mode))


def apart(comparison: Comparison, metric: str, modes: Modes) -> Fact:
    """The largest distance between optima of one mode, rounded up."""
    widest, unit = mode_table.widest(comparison, metric, modes), DISTANCES[metric].unit_behind
    if widest < IDENTICAL:
        return fact("apart.identical", rounding=IDENTICAL, unit=unit)
    step = 10.0 ** (math.floor(math.log10(widest)) - 2)
    return fact("apart.within", widest=math.ceil(widest / step) * step, unit=unit)


def _found(
    comparison: Comparison,
    metric: str,
    table: pd.DataFrame,
    modes: Modes,
    unit: str,
    islands: Islands | None,
) -> Iterator[Fact]:
    restarts = int(comparison.optima.sum())
    if restarts > 1:
        found = table[table["found_by"] > 0]
        if len(found) == 1:
            yield fact("one_mode", restarts=restarts, apart=apart(comparison, metric, modes))
            return
        good = _numbers(found["mode"][found["as_good_as_best"]])
        poorer = len(found) - len(good)
        kind = "one_best" if len(good) == 1 else "several" if poorer else "all_good"
        if islands is not None and islands.one_family(modes.labels, comparison.optima):
            kind = kind if poorer else "one_family"
        yield fact(
            f"many_modes.{kind}",
            restarts=restarts,
            modes=len(found),
            threshold=modes.threshold,
            unit=unit,
            good=good,
            poorer=poorer,
        )
        largest = table.iloc[int(np.nanargmax(table["found_by"]))]
        yield fact("basin", share=float(largest["found_by"]), mode=int(largest["mode"]) + 1)
        yield fact(
            "as_good.held_out" if comparison.holdout else "as_good.likelihood", nats=optima.NATS
        )
    elif not restarts and not comparison.exact_samplers:
        yield fact("unfinished")


def _where_draws_lie(
    comparison: Comparison, table: pd.DataFrame, unit: str, verdicts: Verdicts | None
) -> Iterator[Fact]:
    if verdicts is None or not verdicts.settled:
        return
    held = table[table["draws"] > 0]
    if not comparison.optima.any():
        advised = comparison.advised
        variant = "compare" if advised else "alone"
        yield fact(f"draws_alone.{variant}", groups=len(held), advised=advised)
        return
    low, high = float(held["draws_away"].min()), float(held["draws_away"].max())
    yield fact(
        "draws_away.alike" if f"{low:.3g}" == f"{high:.3g}" else "draws_away.apart",
        samplers=[registry.label_of(key) for key in comparison.exact_samplers],
        low=low,
        high=high,
        unit=unit,
        modes=_numbers(held["mode"]),
    )
    yield fact("typical")
    if new := basins.STAGE.of(comparison).new():
        yield fact("new_optima", draws=new)


def _numbers(modes: pd.Series) -> tuple[int, ...]:
    """Numbers of modes counted from 1."""
    return tuple(int(mode) + 1 for mode in modes)


def together(table: pd.DataFrame, mode: int) -> tuple[int, ...]:
    """The numbers, from 1, of a mode and of those joined with it."""
    joined = table["joined"] if "joined" in table else table["mode"]
    return _numbers(table["mode"][joined == mode])


def _probable(
    comparison: Comparison,
    table: pd.DataFrame,
    evidence: Evidence | None,
    labels: np.ndarray,
    verdicts: Verdicts | None,
    islands: Islands | None,
) -> Iterator[Fact]:
    if evidence is None:
        return
    if evidence.problem:
        yield fact("not_weighed", problem=evidence.problem)
        return
    weighed = int((table["weighed"] > 0).sum())
    unweighed = int(np.unique(labels[comparison.optima]).size) - weighed
    under = [fact("weighed_under", model=evidence.model, settings=evidence.described)]
    model, settings = model_of(comparison.particles[0])
    if doubt := model.unnormalised(comparison.seen_dataset, settings):
        under.append(fact("unnormalised", doubt=doubt))
    if weighed == 1:
        known = not evidence.left_out and unweighed <= 0
        mode = int(table["weighed"].argmax()) + 1
        yield fact("only_one.all" if known else "only_one.unknown", mode=mode)
        yield from under
        return
    if islands is not None and islands.one_family(labels, comparison.optima):
        yield fact("one_family_weighed", weighed=weighed)
        yield from under
        return
    winner = evidence.winner(labels, 1.0)
    heaviest = table.iloc[mode_table.most_probable(table)]
    yield fact(
        f"heaviest.{'open' if winner is None else 'clear'}{'' if evidence.settled else '_rough'}",
        modes=together(table, int(heaviest["mode"])),
        mass=mass_of(heaviest),
        weighed=weighed,
    )
    yield from _without_own_mass(table)
    yield from _draws_elsewhere(table, verdicts, islands, labels)
    yield from under
    if unweighed:
        yield fact("lower_peaks", modes=unweighed)
    if not evidence.settled:
        yield fact("rough")
    yield from _by_power(evidence, labels, winner)


def _without_own_mass(table: pd.DataFrame) -> Iterator[Fact]:
    """Modes that the posterior does not separate, and optima without mass."""
    weighed = table[table["weighed"] > 0]
    for _, group in weighed.groupby("joined"):
        if len(group) > 1:
            yield fact("not_separated", modes=_numbers(group["mode"]))
    alone = weighed.groupby("joined")["mode"].transform("size") == 1
    left = weighed[alone & ~weighed["stays"]]
    if len(left):
        yield fact("no_mass", modes=_numbers(left["mode"]))


def _draws_elsewhere(
    table: pd.DataFrame,
    verdicts: Verdicts | None,
    islands: Islands | None = None,
    labels: np.ndarray | None = None,
) -> Iterator[Fact]:
    """Disagreements between settled draws and masses."""
    if verdicts is None or not verdicts.settled:
        return
    apart = table["weighed"] == 0
    if islands is not None and labels is not None:  # a part of a family is no other place
        apart &= ~np.array([islands.connected(labels, int(mode)) for mode in table["mode"]])
    unweighed = float(table["draws"][apart].sum())
    if unweighed > NOTABLE:
        yield fact("draws_unweighed", share=unweighed)
    stuck = table[(table["weighed"] > 0) & (table["draws"] > table["mass_high"] + NOTABLE)]
    for _, mode in stuck.iterrows():
        share = float(mode["draws"])
        yield fact("draws_stay", share=share, mode=int(mode["mode"]) + 1, mass=mass_of(mode))


def _by_power(evidence: Evidence, labels: np.ndarray, winner: int | None) -> Iterator[Fact]:
    """Whether the most probable mode wins at lower likelihood powers.

    A winner wins in every repeat; "still" requires that it wins at all higher powers.
    """
    lowest: float | None = None
    joined: list[float] = []
    still = winner is not None
    for power in sorted((one for one in evidence.powers if one < 1.0), reverse=True):
        found = evidence.winner(labels, power)
        if found is None and winner is not None and evidence.merged(labels, power, winner):
            joined.append(power)
        elif found is None:
            yield fact("power_open", power=power)
        elif found != winner and winner is not None:
            yield fact("power_other", power=power, mode=found + 1)
        still = still and found == winner
        lowest = power if still else lowest
    if winner is not None and joined:
        yield fact("power_joins", powers=tuple(joined), mode=winner + 1)
    if winner is not None and lowest is not None:
        yield fact("power_keeps", power=lowest, mode=winner + 1)
    for power in evidence.blurred:
        yield fact("power_blurs", power=power)


def _missing(unseen: Unseen | None, comparison: Comparison) -> Iterator[Fact]:
    if unseen is None or unseen.restarts < 2:
        return
    low, high = unseen.new_probability_interval
    known = {"level": unseen.level, "low": low, "high": high}
    if unseen.once:
        yield fact("next_new", probability=unseen.new_probability, **known)
        yield fact("at_least", number=unseen.number)
    else:
        yield fact("seen_twice", modes=unseen.found, **known)
    made_by = comparison.members["algorithm"][comparison.optima].value_counts(sort=False)
    if len(made_by) > 1:
        made = (f"{count} by {registry.label_of(str(key))}" for key, count in made_by.items())
        yield fact("mix_of_starts", made=", ".join(made))


def draws_beside_optima(comparison: Comparison, verdicts: Verdicts | None) -> list[Fact]:
    """Fit of settled draws compared with optima; nothing without both under one measure."""
    if verdicts is None or not verdicts.settled or not comparison.optima.any():
        return []
    if comparison.loss is None:
        return []
    members = comparison.members
    drawn = members["error"][members["algorithm"].isin(comparison.exact_samplers)]
    fitted = members["error"][comparison.optima]
    medians = {"draws": drawn.median(), "optima": fitted.median()}
    if explains := comparison.loss.explains:
        parts = {name: 1.0 - median for name, median in medians.items()}
        return [fact("draws_explain", what=explains, **parts), fact("typical")]
    return [fact("draws_fit", measure=comparison.measure, **medians), fact("typical")]
