"""Compare the modes found by groups of runs."""

from collections.abc import Mapping

import numpy as np

from bnmf_core.analysis.board import Board
from bnmf_core.findings.facts import Fact, fact, say


def groups_found(board: Board, names: Mapping[str, str]) -> Fact:
    """Number of modes that each group found; ``names`` : by group id."""
    of_runs = {
        group: np.array([board.found(run_id) for run_id in ids])
        for group, ids in board.groups.items()
    }
    every = int(np.concatenate(list(of_runs.values())).any(axis=0).sum())
    sentences = []
    for group, modes in of_runs.items():
        counts, together = modes.sum(axis=1), int(modes.any(axis=0).sum())
        key = "group_found.apart" if (counts < together).any() else "group_found.alike"
        ends = {"least": int(counts.min()), "most": int(counts.max())}
        sentences.append(say(fact(key, group=names[group], modes=together, **ends)))
    key = "groups_found.modes" if board.comparison.optima.any() else "groups_found.draws"
    return fact(key, modes=every, groups=sentences)
