"""Which tiles of a table can be believed, in a table and in sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.boolean.analysis.tiles import STAGE, RunTiles, Tiles, targets
from bnmf_core.boolean.distances import HALF
from bnmf_core.core.names import listed, percent
from bnmf_core.core.plain import Value
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import Fact, fact
from bnmf_core.findings.sources import Found, Source
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.registry import members_of

# A tile is believed that so many of the members of every run have, and that noise makes so rarely.
OFTEN, RARELY = 0.9, -6.0
# Of its cells so many at least are in no surer tile.
OWN = 0.5
# Doubt, m(1 − m) of a mean m, below this part of ¼, the most there is, is not worth a word: a mean
# below 0.15 or above 0.85 is clear.
CLEAR = 0.51
# Up to that part of ¼, a mean between 0.15 and 0.28 or between 0.72 and 0.85, it is mostly clear.
MOSTLY = 0.8
# A noise level given as a number that is at least so large makes chains forget tiles.
LOUD = 0.5
CLEAR_WORDS = "clear"
MOSTLY_WORDS = "mostly clear"
UNCERTAIN_WORDS = "undecided between 0 and 1"
AMBIGUOUS_WORDS = "a clear half"


@dataclass(frozen=True)
class Judges:
    """The runs that decide which tiles are believed. members : what these have made, in a word."""

    run_ids: tuple[str, ...]
    members: str


def draws_first(comparison: Comparison, found: Tiles) -> list[str]:
    """Runs that say something of tiles; draws first, as they are what a posterior says."""
    of_run, exact = comparison.algorithm_of, comparison.exact_samplers
    return sorted(found.run_ids, key=lambda run_id: of_run[run_id] not in exact)


def judges_of(comparison: Comparison, found: Tiles) -> Judges:
    """The runs that decide what is believed: those of draws, or all where there are none."""
    of_run = comparison.algorithm_of
    exact = [one for one in found.run_ids if of_run[one] in comparison.exact_samplers]
    ids = tuple(exact) or found.run_ids
    return Judges(ids, members_of(*(of_run[one] for one in ids)))


def of_run(
    comparison: Comparison, found: Tiles, run_id: str, run: RunTiles, X: np.ndarray
) -> list[Fact]:
    """The answer for a run and what it says, the most important first; X as of :func:`counts`."""
    judges = judges_of(comparison, found)
    algorithms = dict.fromkeys(comparison.algorithm_of[one] for one in (run_id, *judges.run_ids))
    caveats = [comparison.caveats[key] for key in algorithms if key in comparison.caveats]
    spec = comparison.runs[comparison.run_ids.index(run_id)].spec
    return facts(run, judges, X, dict(spec.model_settings), caveats)


def in_words(uncertainty: float, ambiguity: float) -> str:
    """The kind of doubt: members that disagree, or that agree on half-heartedness."""
    if np.isnan(uncertainty + ambiguity):
        return "empty"
    if uncertainty + ambiguity < CLEAR * 0.25:
        return CLEAR_WORDS
    if uncertainty + ambiguity < MOSTLY * 0.25:
        return MOSTLY_WORDS
    return UNCERTAIN_WORDS if uncertainty > ambiguity else AMBIGUOUS_WORDS


def believed(tiles: pd.DataFrame, judges: Judges) -> np.ndarray:
    """(R,) which tiles are in nearly all members of every run that decides, and not of noise.

    Nor mostly in surer tiles: such a one may be cut out of them.
    """
    shares = tiles[list(judges.run_ids)].to_numpy()
    found: np.ndarray = (shares >= OFTEN).all(axis=1) & (tiles["noise"].to_numpy() <= RARELY)
    return found & (tiles["cells"].to_numpy() > 0) & ~_mostly_in_others(tiles)


def _mostly_in_others(tiles: pd.DataFrame) -> np.ndarray:
    found: np.ndarray = (tiles["own"] < OWN * tiles["cells"]).to_numpy()
    return found


def counts(run: RunTiles, X: np.ndarray) -> dict[str, int]:
    """Cells by what tiles make of them; X (D, N) of 0, 1 and NaN where it was not seen.

    ``explained`` : ones in a tile. ``missed`` : ones in none. ``filled_in`` : zeros in a tile.
    ``predicted`` : cells in a tile that were not seen. ``unseen`` : all that were not seen.
    """
    covered = boolean_product(run.A > HALF, run.W > HALF)
    unseen = np.isnan(X)
    return {
        "explained": int((covered & (X == 1)).sum()),
        "missed": int((~covered & (X == 1)).sum()),
        "filled_in": int((covered & (X == 0)).sum()),
        "predicted": int((covered & unseen).sum()),
        "unseen": int(unseen.sum()),
    }


def facts(
    run: RunTiles,
    judges: Judges,
    X: np.ndarray,
    model_settings: Mapping[str, Value],
    caveats: Sequence[str] = (),
) -> list[Fact]:
    """The answer, the most important first.

    run : its tiles. model_settings : of this run, as it was given. caveats : why what it,
    or the runs that decide, have made are no draws.
    """
    first, *others = _facts(run, judges, X, model_settings)
    return [first, *(_fact("caveat", said=caveat) for caveat in caveats), *others]


def _fact(key: str, **values: Any) -> Fact:
    return fact(f"bnmf_core.boolean:{key}", **values)


def _facts(
    run: RunTiles, judges: Judges, X: np.ndarray, model_settings: Mapping[str, Value]
) -> Iterator[Fact]:
    tiles = run.tiles
    total, empty = len(tiles), int((tiles["cells"] == 0).sum())
    sure = believed(tiles, judges)
    yield _fact(
        "believed.of_one" if len(judges.run_ids) == 1 else "believed.of_each",
        sure=int(sure.sum()),
        total=total,
        often=OFTEN,
        members=judges.members,
        runs=len(judges.run_ids),
        tiles=_listed(tiles["tile"][sure] + 1),
    )
    for _, tile in tiles[_mostly_in_others(tiles)].iterrows():
        own, cells = int(tile["own"]), int(tile["cells"])
        yield _fact("in_others", tile=int(tile["tile"]) + 1, own=own, cells=cells)
    sigma = model_settings.get("sigma")
    if isinstance(sigma, (int, float)) and sigma >= LOUD and empty >= 0.5 * total:
        yield _fact("too_loud", sigma=sigma)
    elif empty:
        yield _fact("empty", empty=empty, total=total)
    found = counts(run, X)
    ones = found["explained"] + found["missed"]
    if ones:
        yield _fact("covered", share=found["explained"] / ones, **found)
    if found["unseen"]:
        yield _fact("predicted", **found)
    doubtful = [
        int(tile["tile"]) + 1
        for _, tile in tiles.iterrows()
        if in_words(tile["uncertainty"], tile["ambiguity"]) == UNCERTAIN_WORDS
    ]
    if doubtful:
        yield _fact("undecided", tiles=_listed(pd.Series(doubtful)))


def _listed(numbers: pd.Series, most: int = 12) -> str:
    """ ": tiles 1, 2 and 3", or nothing."""
    if numbers.empty:
        return ""
    words = [str(int(number)) for number in numbers[:most]]
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f": tile{'s' * (len(numbers) > 1)} {', '.join(words)}{more}"


def _find(answer: Answer) -> Iterator[Found]:
    comparison = answer.comparison
    found = STAGE.perhaps(comparison)
    if found is not None and found.run_ids:
        run_id = draws_first(comparison, found)[0]
        X = targets(comparison.seen_dataset)["seen"]
        yield "boolean", of_run(comparison, found, run_id, found.of_run(run_id), X)


FINDING = Source("tiles", "what can be believed of tiles", _find, first=True)


def rank_table(runs: Mapping[int, RunTiles], X: np.ndarray) -> pd.DataFrame:
    """A row per rank, rising; X (D, N) of 0, 1 and NaN where it was not seen.

    Columns: ``rank``; ``tiles`` (components with a cell above ½), ``missed`` (ones in no tile),
    ``filled_in`` (zeros in a tile), ``doubtful`` (cells that neither nearly all nor nearly
    none of the run's members have) and ``often`` (tiles that nearly all of them have).
    """
    return pd.DataFrame([_row(rank, runs[rank], X) for rank in sorted(runs)])


def _row(rank: int, run: RunTiles, X: np.ndarray) -> dict[str, int]:
    found, used = counts(run, X), run.tiles["cells"] > 0
    return {
        "rank": rank,
        "tiles": int(used.sum()),
        "missed": found["missed"],
        "filled_in": found["filled_in"],
        "doubtful": int(((run.on > 1.0 - OFTEN) & (run.on < OFTEN)).sum()),
        "often": int((used & (run.tiles["present"] >= OFTEN)).sum()),
    }


def rank_sentence(table: pd.DataFrame, members: str) -> str:
    """Sentence on changes with the rank; "" for one rank. ``table`` : :func:`rank_table`."""
    if len(table) < 2:
        return ""
    wrong = table["missed"] + table["filled_in"]
    words = (
        f"With {_numbers(table['rank'])} components the tiles contradict {_numbers(wrong)} cells; "
        f"{_numbers(table['tiles'])} tiles are in use, and {_numbers(table['often'])} are in at "
        f"least {percent(OFTEN)} of the {members}."
    )
    unused = table[table["tiles"] < table["rank"]]
    empty = [f"{row['rank'] - row['tiles']} of {row['rank']}" for _, row in unused.iterrows()]
    return words + (f" {listed(empty)} components stay empty." if empty else "")


def _numbers(numbers: Iterable[int]) -> str:
    return listed(f"{number:,}" for number in numbers)
