"""Export of the selection: a report, an archive, a script that repeats it."""

import io
from collections.abc import Callable
from functools import partial

import streamlit as st

from bnmf_core.lazy import lazy
from pages.frame import link
from pages.frame.services import data_and_rank, dataset_names, places
from pages.frame.words import plain
from pages.parts import showing
from pages.parts.answer import Answer

report = lazy("bnmf_core.share.report")
archive = lazy("bnmf_core.share.archive")
code = lazy("bnmf_core.share.code")
methods = lazy("bnmf_core.share.methods")
workbook = lazy("bnmf_core.share.workbook")


def show(found: Answer) -> None:
    """A download for each format; a click makes the file."""
    st.header("Export", anchor=False)
    name = f"bnmf-{found.comparison.key}"
    shown, everywhere = link.get("shown"), places()

    def if_still_shown(make: Callable[[], bytes]) -> bytes:
        """The shared analysis, unless its link was withdrawn since the page was drawn."""
        if shown:
            everywhere.shown(shown)
        return make()

    # Label → file.
    kinds = {
        "Report (HTML)": (
            lambda: report.report(found),
            f"{name}.html",
            "Findings, zoomable pictures, all numbers and settings, in one file that needs no "
            "network.",
        ),
        "Archive (ZIP)": (
            lambda: _written(archive.write_to, found),
            f"{name}.zip",
            "Data, factorizations and results, with the report; opens in this program on another "
            "machine, under Runs.",
        ),
        "Workbook (XLSX)": (
            lambda: _written(workbook.write_workbook, found),
            f"{name}.xlsx",
            "Findings, modes, components, weights, factorizations, runs and methods as sheets.",
        ),
        "Methods (TXT)": (
            lambda: methods.methods(found).encode(),
            f"{name}.txt",
            "A description of the analysis with versions and references, ready to paste.",
        ),
        "Program (Python)": (
            lambda: code.script(found.comparison, f"{name}.zip").encode(),
            f"{name}.py",
            "Repeats these runs and checks that they agree bit for bit. Put it beside the "
            "archive, where it finds the data.",
        ),
    }
    with st.container(horizontal=True):
        for label, (make, file_name, words) in kinds.items():
            st.download_button(
                plain(label),
                partial(if_still_shown, make),
                file_name,
                key=f"share_{label}",
                help=plain(words),
                on_click="ignore",
            )
    if not link.is_guest():
        # Active runs are included: the link stays the same when they have ended.
        showing.show(link.get("runs"), _name(found))


def _name(found: Answer) -> str:
    """Name of the runs: that of their launch, or their data and rank."""
    run = found.comparison.runs[0]
    names = dataset_names()
    return run.launch_name or data_and_rank(names.get(run.dataset, "deleted data"), run.spec.rank)


def _written(write: Callable[[io.BytesIO, Answer], None], found: Answer) -> bytes:
    buffer = io.BytesIO()
    write(buffer, found)
    return buffer.getvalue()
