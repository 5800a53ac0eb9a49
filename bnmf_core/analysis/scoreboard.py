"""One table for a comparison of algorithms: a row per criterion, a column per group of repetitions.

Everything is read from what the stages have stored; a criterion that is not defined for a run, or
whose stage has not been computed, has no number there.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnmf_core.analysis.board import Board
from bnmf_core.analysis.criteria import CRITERIA, MASS
from bnmf_core.analysis.stage import Stage
from bnmf_core.analysis.stages import STAGES
from bnmf_core.core.names import percent

# Rounding error of a total mass of 1.
ALL = 1e-9
# Numbers in this range are written out, with a comma after the thousands.
WRITTEN_OUT = 1e3, 1e7
Ends = tuple[float, float]


def stages() -> list[Stage[object]]:
    """The stages that the criteria read, in the order in which they are computed."""
    read = {key for criterion in CRITERIA.values() for key in criterion.stages}
    return [stage for key, stage in STAGES.items() if key in read]


def scores(board: Board) -> pd.DataFrame:
    """Every number: columns criterion, group (the first run's id), run, value."""
    rows = [
        (key, group, run_id, criterion.value(board, run_id))
        for key, criterion in CRITERIA.items()
        for group, run_ids in board.groups.items()
        for run_id in run_ids
    ]
    return pd.DataFrame(rows, columns=["criterion", "group", "run", "value"])


def scoreboard(board: Board) -> pd.DataFrame:
    """Median, least and largest over repetitions: a row per criterion and group that has numbers.

    Columns criterion, group, median, least, most, runs (how many have the number), best (whether no
    other group's median is better, where one is), doubt (why it cannot be the best, "" where it
    can), and text: the median with the range, or with what the errors leave of a posterior mass,
    and the doubt.
    """
    known = scores(board).dropna(subset="value")
    rows = []
    for key, of_criterion in known.groupby("criterion", sort=False):
        medians = of_criterion.groupby("group", sort=False)["value"].median()
        doubt = CRITERIA[str(key)].doubt
        why = {
            group: doubt(board, board.groups[str(group)]) if doubt else ""
            for group in medians.index
        }
        able = medians[[not why[group] for group in medians.index]]
        better = CRITERIA[str(key)].better
        target = able.max() if better == "more" else able.min()
        every = medians.max() if better == "more" else medians.min()
        # As they are shown: what differs in further digits is a tie. What only a number in doubt
        # beats is not the best either.
        differ = bool(better) and medians.map(number).nunique() > 1
        differ = differ and number(target) == number(every)
        for group, values in of_criterion.groupby("group", sort=False)["value"]:
            middle = values.median()
            best = differ and not why[group] and number(middle) == number(target)
            ends = float(values.min()), float(values.max())
            text = _text(board, str(key), board.groups[str(group)], middle, ends)
            text += f"; {why[group]}" if why[group] else ""
            rows.append((key, group, middle, *ends, len(values), best, why[group], text))
    columns = ["criterion", "group", "median", "least", "most", "runs", "best", "doubt", "text"]
    return pd.DataFrame(rows, columns=columns)


def only(board: Board, one: Sequence[str], other: Sequence[str]) -> np.ndarray:
    """Modes (0-based) in which some run of ``one`` lies and none of ``other``."""
    found = [np.any([board.found(run_id) for run_id in runs], axis=0) for runs in (one, other)]
    return np.flatnonzero(found[0] & ~found[1])


def _text(board: Board, key: str, run_ids: Sequence[str], middle: float, ends: Ends) -> str:
    if key == MASS and len(run_ids) == 1:
        ends = board.reached(run_ids[0])[1:]
    least, median, most = map(_share if key == MASS else number, (ends[0], middle, ends[1]))
    if least == most == median:
        return median
    if median in (least, most):
        return f"{median} ({f'to {most}' if median == least else f'from {least}'})"
    return f"{median} ({least} to {most})"


def number(value: float) -> str:
    """A number as it stands in a scoreboard: four digits, and powers of ten where it takes many.

    >>> [number(value) for value in (0.00123456, 24268.3, 3.2e9)]
    ['0.001235', '24,270', '3.2e+09']
    """
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if WRITTEN_OUT[0] <= abs(rounded) < WRITTEN_OUT[1] else f"{value:.4g}"


def _share(value: float) -> str:
    return "100 %" if value > 1.0 - ALL else percent(value)
