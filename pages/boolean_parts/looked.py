"""What the page looks at: one run, its tiles, the table they are of."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st

from bnmf_core.analysis import tile_answer
from bnmf_core.analysis.tiles import RunTiles, Tiles, targets
from bnmf_core.compare.distances.tiles import HALF
from bnmf_core.compare.tile_order import tile_order
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.numerics.boolean import boolean_product
from pages.frame.lens import Compared
from pages.frame.words import shown


@dataclass(frozen=True, eq=False)
class Looked:
    """One run of what is compared. sampled : whether its members are draws."""

    look: Compared
    run: RunTiles
    run_id: str
    run_ids: tuple[str, ...]
    sampled: bool
    targets: dict[str, np.ndarray]

    @property
    def dataset(self) -> Dataset:
        """The observations that the run saw."""
        return self.look.analysis.seen_dataset

    @property
    def X(self) -> np.ndarray:
        """(D, N) of 0, 1 and NaN where it was not seen."""
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
        """Rows and columns, those of a tile together."""
        return tile_order(*self.on)

    @cached_property
    def nouns(self) -> tuple[str, str]:
        """What rows and columns are, in one word."""
        return self.dataset.feature_noun, "observations"

    @property
    def members(self) -> str:
        """What the run made."""
        return "draws" if self.sampled else "factorizations"

    @cached_property
    def sentences(self) -> list[str]:
        """The answer."""
        record = self.look.analysis.runs[self.look.analysis.run_ids.index(self.run_id)]
        settings = dict(record.spec.model_settings)
        return tile_answer.sentences(self.run, self.judges, self.X, settings)

    @cached_property
    def judges(self) -> tile_answer.Judges:
        """The runs that decide what is believed: samplers, or explorers where there are none."""
        analysis = self.look.analysis
        of_run = {run.id: run.spec.algorithm for run in analysis.runs}
        drawn = tuple(one for one in self.run_ids if of_run[one] in analysis.samplers)
        return tile_answer.Judges(drawn or self.run_ids, bool(drawn))


def choose(look: Compared, found: Tiles) -> str:
    """Which run's tiles are looked at."""
    drawn = set(look.analysis.samplers)
    of_run = {run.id: run.spec.algorithm for run in look.analysis.runs}
    # Draws first: they are what a posterior says.
    ids = sorted(found.run_ids, key=lambda run_id: of_run[run_id] not in drawn)
    names = {run_id: look.run_names[run_id] for run_id in ids}
    chosen: str = st.selectbox(
        "Tiles of",
        list(names),
        format_func=shown(names),
        help="Of a sampler the mean of the draws of its most probable chain, of an explorer its "
        "best factorization; an entry above ½ counts as yes.",
    )
    return chosen


def at(look: Compared, found: Tiles, run_id: str) -> Looked:
    """What this run says."""
    analysis = look.analysis
    algorithm = analysis.runs[analysis.run_ids.index(run_id)].spec.algorithm
    return Looked(
        look,
        _run(analysis.key, run_id, found),
        run_id,
        found.run_ids,
        algorithm in analysis.samplers,
        _targets(analysis.key, analysis.seen_dataset),
    )


@st.cache_data(max_entries=4, show_spinner=False)
def _run(key: str, run_id: str, _found: Tiles) -> RunTiles:
    return _found.of_run(run_id)


@st.cache_data(max_entries=4, show_spinner=False)
def _targets(key: str, _dataset: Dataset) -> dict[str, np.ndarray]:
    return targets(_dataset)
