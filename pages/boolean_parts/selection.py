"""The selection of the page: one run, its tiles and its table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st

from bnmf_core.analysis.named import Named
from bnmf_core.boolean.analysis import tile_answer, tiles
from bnmf_core.boolean.analysis.tiles import RunTiles, Tiles, targets
from bnmf_core.boolean.distances import HALF
from bnmf_core.boolean.tiles import tile_order
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered
from bnmf_core.findings.facts import say
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.registry import members_of
from pages.frame.lens import Compared
from pages.frame.services import store
from pages.frame.words import labelled


@dataclass(frozen=True, eq=False)
class Selection:
    """One of the compared runs, by rank in ``ranks``. sampled : whether it made chains."""

    look: Compared
    run: RunTiles
    run_id: str
    run_ids: tuple[str, ...]
    sampled: bool
    targets: dict[str, np.ndarray]
    ranks: Mapping[int, Compared]

    @property
    def dataset(self) -> Dataset:
        """The observations that the run saw."""
        return self.look.analysis.seen_dataset

    @property
    def X(self) -> np.ndarray:
        """(D, N) of 0, 1 and NaN for missing entries."""
        return self.targets["seen"]

    @cached_property
    def on(self) -> tuple[np.ndarray, np.ndarray]:
        """A (D, R) and W (R, N), bool: which rows and columns each tile has."""
        return self.run.A > HALF, self.run.W > HALF

    @cached_property
    def covered(self) -> np.ndarray:
        """(D, N) bool, cells in a tile."""
        return boolean_product(*self.on)

    @cached_property
    def order(self) -> tuple[np.ndarray, np.ndarray]:
        """Order of rows and columns that groups tiles."""
        return tile_order(*self.on)

    @cached_property
    def nouns(self) -> tuple[str, str]:
        """Nouns for rows and columns."""
        return self.dataset.feature_noun, "observations"

    @cached_property
    def tile_names(self) -> list[str]:
        """Names of tiles: the number, and the user's name of the component."""
        named = Named(tuple(store().notes.of(self.look.analysis.runs[0].dataset)))
        return numbered(named.components(self.run.A))

    @property
    def members(self) -> str:
        """The run's particles."""
        return members_of(self.algorithm)

    @cached_property
    def sentences(self) -> list[str]:
        """The findings in sentences."""
        facts = tile_answer.of_run(self.look.analysis, self.found, self.run_id, self.run, self.X)
        return list(map(say, facts))

    @cached_property
    def judges(self) -> tile_answer.Judges:
        """The runs that decide which tiles are supported."""
        return tile_answer.judges_of(self.look.analysis, self.found)

    @property
    def found(self) -> Tiles:
        """Stored tiles of all runs."""
        return tiles.STAGE.of(self.look.analysis)

    def beside(self) -> dict[int, "Selection"]:
        """One run of every rank, of the same algorithm if possible."""
        found = {self.look.analysis.rank: self}
        for rank, look in self.ranks.items():
            others = _draws_first(look)
            others.sort(key=lambda run_id: look.analysis.algorithm_of[run_id] != self.algorithm)
            if look is not self.look and others:
                found[rank] = _at(self.ranks, rank, others[0])
        return dict(sorted(found.items()))

    @property
    def algorithm(self) -> str:
        """Key of the run's algorithm."""
        return self.look.analysis.algorithm_of[self.run_id]


def choose(ranks: Mapping[int, Compared]) -> Selection:
    """Select a run; return its tiles."""
    names, of_rank = {}, {}
    for rank, look in ranks.items():
        for run_id in _draws_first(look):
            of_rank[run_id] = rank
            names[run_id] = look.run_names[run_id]
            if len(ranks) > 1:
                names[run_id] += f", {rank} component{'s' * (rank > 1)}"
    run_id: str = st.selectbox(
        "Tiles of",
        list(names),
        format_func=labelled(names),
        help="For a sampler the mean over its most probable chain, for an explorer its best "
        "factorization; an entry above ½ counts as 1.",
    )
    return _at(ranks, of_rank[run_id], run_id)


def _at(ranks: Mapping[int, Compared], rank: int, run_id: str) -> Selection:
    look = ranks[rank]
    analysis, found = look.analysis, tiles.STAGE.of(look.analysis)
    return Selection(
        look,
        _run(analysis.cache_key, run_id, found),
        run_id,
        found.run_ids,
        look.analysis.algorithm_of[run_id] in analysis.samplers,
        _targets(analysis.cache_key, analysis.seen_dataset),
        ranks,
    )


def _draws_first(look: Compared) -> list[str]:
    return tile_answer.draws_first(look.analysis, tiles.STAGE.of(look.analysis))


@st.cache_data(max_entries=8, show_spinner=False)
def _run(cache_key: str, run_id: str, _found: Tiles) -> RunTiles:
    return _found.of_run(run_id)


@st.cache_data(max_entries=4, show_spinner=False)
def _targets(cache_key: str, _dataset: Dataset) -> dict[str, np.ndarray]:
    return targets(_dataset)
