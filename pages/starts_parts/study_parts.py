"""The parts of the full study of starts; its charts also serve the user's own data."""

import streamlit as st

from bnmf_core.figures.initialization import bands, start_errors
from pages.frame.options import pick_one
from pages.frame.view import chart
from pages.frame.words import plain
from studies.result import StudyResult
from studies.transfer.findings import RATIOS, claims, ratios, reference, spread
from studies.transfer.weight_times import KINDS, LABELS

ERRORS = {"error": "As they are", "scaled": "At the best common scale"}
AXES = {"error": "‖X − A₀W₀‖/‖X‖ of a start", "scaled": "least ‖X − sA₀W₀‖/‖X‖ over s"}
WITH_ERRORS = ("process", "source_rank", "transfer_rank")


def ask_scale(name: str) -> str:
    """Select errors of the starts, or at their best scale; a quantity of the study."""
    return pick_one(
        "Errors",
        ERRORS,
        "error",
        f"{name}_scale",
        help="Starts of different kinds differ in scale, which a solver corrects at once. The "
        "best common scale removes this difference.",
    )


def part(study: StudyResult, which: str, quantity: str, origin: str) -> None:
    """The chart of one part of the full study."""
    if which == "process":
        processes(study, quantity, origin, "starts_process")
    elif which in WITH_ERRORS:
        _over_rank(study, which, quantity, origin)
    elif which == "noise":
        _noise(study, origin)
    else:
        _weights(study, origin)


def processes(study: StudyResult, quantity: str, origin: str, name: str) -> None:
    """Errors of the starts of every generating process, with their bounds."""
    values = study.values
    boxes = (values["problem"] == "process") | (values["column"] == "random")
    values = values[boxes & values["problem"].isin(["process", "reference"])]
    values = values[values["quantity"] == quantity]
    chart(
        start_errors(values, study.labels, reference(study, quantity), AXES[quantity]),
        "Each box holds the middle half of the starts. None without padding can be below the "
        "dotted line; at the dashed one the transforms carry nothing over.",
        name=name,
        origin=origin,
        table=values[["column", "repetition", "value"]],
    )


def _over_rank(study: StudyResult, which: str, quantity: str, origin: str) -> None:
    words = {
        "source_rank": (
            "rank of the sources",
            "A level line: the transforms do not depend on what rank their small matrices have, "
            "only on the transfer rank, here 3.",
        ),
        "transfer_rank": (
            "transfer rank",
            "Falling: more singular directions help. Rising: what the further ones learned on "
            "small data does not carry over.",
        ),
    }
    axis, reading = words[which]
    table = spread(study, which, quantity)
    labels = study.labels | {"gaussian": "Q-Transform"}
    lines = reference(study, quantity)
    if which == "transfer_rank":
        del lines["best"]  # it is a curve of its own there
    chart(
        bands(
            table,
            labels,
            (axis, AXES[quantity]),
            f"Error of the starts over the {axis}",
            reference=lines,
        ),
        reading,
        name=f"starts_{which}",
        origin=origin,
        table=table,
    )


def _noise(study: StudyResult, origin: str) -> None:
    table = ratios(study)
    kinds = {"iterations": "Iterations", "seconds": "Seconds on one core"}
    kind = pick_one("Effort in", kinds, "iterations", "starts_effort")
    arrival = "arrival" if kind == "iterations" else "arrival_seconds"
    chart(
        bands(
            table[table["column"].isin(["error", "scaled", kind, arrival])],
            RATIOS,
            ("noise ε of the target", "Q-Transform over random starts"),
            "What Q-Transform saves, over the noise of the data",
            logarithmic=(True, False),
            one="no advantage",
        ),
        "Below 1 Q-Transform is better. Arrived: within 1 % of the error that random restarts end "
        "at; the solver stops later, when it gains too little.",
        name="starts_noise",
        origin=origin,
        table=table,
    )


def _weights(study: StudyResult, origin: str) -> None:
    table = spread(study, "weights", "seconds")
    solvers = dict.fromkeys(column.split("_")[0] for column in LABELS)
    chart(
        bands(
            table,
            study.labels,
            ("particles M", "seconds"),
            "Time to find Stein weights",
            logarithmic=(True, True),
            groups=[[f"{solver}_{kind}" for kind in KINDS] for solver in solvers],
        ),
        "Solid: random parameters; dashed: those of solved NMFs. Where both coincide, the time "
        "depends on the number of particles only.",
        name="starts_weights",
        origin=origin,
        table=table,
    )


def what_holds(study: StudyResult) -> None:
    """The paper's claims, our numbers, and their measurement."""
    with st.expander("Claims of the paper: reproduced or not"):
        for found in claims(study):
            words = f"**{plain(found.verdict)}**. {plain(found.numbers)}"
            st.markdown(f"- {plain(found.claim)}: {words}")
        for note in study.notes:
            st.caption(plain(note))
