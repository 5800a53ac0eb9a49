"""Fit of the table at each rank."""

import streamlit as st

from bnmf_core.boolean.analysis.tile_answer import OFTEN, rank_sentence, rank_table
from bnmf_core.boolean.figures.tiles import tables_beside
from bnmf_core.core.names import percent
from bnmf_core.registry import members_of
from pages.boolean_parts.selection import Selection
from pages.frame import link, view
from pages.frame.services import store
from pages.frame.words import plain


def show(seen: Selection) -> None:
    """A sentence, the pictures and the numbers; for a single rank, how to add others."""
    of_rank = seen.beside()
    if len(of_rank) < 2:
        _one_alone(seen)
        return
    members = members_of(*(run.algorithm for run in of_rank.values()))
    table = rank_table({rank: run.run for rank, run in of_rank.items()}, seen.X)
    st.markdown(plain(rank_sentence(table, members)))
    named = table.rename(
        columns={
            "rank": "components",
            "tiles": "tiles in use",
            "missed": "ones in no tile",
            "filled_in": "zeros in a tile",
            "doubtful": "cells in doubt",
            "often": f"tiles in at least {percent(OFTEN)} of the {members}",
        }
    )
    named["run"] = [run.look.run_names[run.run_id] for run in of_rank.values()]
    wrong = table["missed"] + table["filled_in"]
    best = of_rank[int(table["rank"][wrong.idxmin()])]
    view.chart(
        tables_beside(
            seen.X,
            [run.covered for run in of_rank.values()],
            best.order,
            [f"{rank} component{'s' * (rank > 1)}" for rank in of_rank],
        ),
        "Blue and red cells lie in a tile. Rows and columns are in one order everywhere, that of "
        "the tiles that contradict the fewest cells. In doubt is a cell that more than "
        f"{100 * (1 - OFTEN):.0f} % and less than {percent(OFTEN)} of the {members} have.",
        name="tiles_by_rank",
        origin=" · ".join(run.look.origin for run in of_rank.values()),
        table=named,
    )
    view.table(named, "Tiles by number of components")


def _one_alone(seen: Selection) -> None:
    """Offer other ranks: finished runs, or a link to start one."""
    record = seen.look.analysis.runs[0]
    st.info(
        "All of these runs have the same number of components. You can add runs of the same data "
        "with other numbers."
    )
    others = [
        run
        for run in store().runs()
        if run.done > 0
        and run.spec.rank != record.spec.rank
        and (run.dataset, run.spec.holdout) == (record.dataset, record.spec.holdout)
        and run.spec.model == record.spec.model
    ]
    # The last run of a rank stays: the newest of the same algorithm, or else the newest.
    others.sort(key=lambda run: (run.spec.algorithm == seen.algorithm, run.created))
    newest = {run.spec.rank: run.id for run in others}
    if newest and st.button("Add those of other numbers", icon=":material/add:", key="add_ranks"):
        link.put_next("runs", [*link.get("runs"), *newest.values()])
    link.to("run", "Run with another number of components", data=record.dataset)
