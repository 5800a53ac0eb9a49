"""What the Starts page shows: the full study's parts, the user's own data, the libraries."""

import io

import streamlit as st

from bnmf_core.explorers import library
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.explorers.transforms import TransformLibrary
from bnmf_core.figures.initialization import bands, start_errors
from bnmf_core.nouns.errors import BNMFError
from pages.frame.view import chart, plain
from studies.result import StudyResult
from studies.transfer.findings import RATIOS, claims, ratios, reference, spread
from studies.transfer.weight_times import KINDS, LABELS

ERRORS = {"error": "As they are", "scaled": "At the best common scale"}
AXES = {"error": "‖X − A₀W₀‖/‖X‖ of a start", "scaled": "least ‖X − sA₀W₀‖/‖X‖ over s"}
WITH_ERRORS = ("process", "source_rank", "transfer_rank")


def ask_scale(name: str) -> str:
    """Whether errors are shown as they are or at the best scale; a quantity of the study."""
    return st.segmented_control(
        "Errors", list(ERRORS), default="error", required=True, format_func=ERRORS.get,
        key=f"{name}_scale", help="Starts of different kinds differ in scale, which a solver "
        "corrects at once. The best common scale takes that out of the comparison.",
    )  # fmt: skip


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
    """Errors of the starts of every generating process, with what bounds them."""
    values = study.values
    boxes = (values["problem"] == "process") | (values["column"] == "random")
    values = values[boxes & values["problem"].isin(["process", "reference"])]
    values = values[values["quantity"] == quantity]
    chart(
        start_errors(values, study.labels, reference(study, quantity), AXES[quantity]),
        "Each box holds the middle half of the starts. None without padding can be below the "
        "dotted line; at the dashed one the transforms carry nothing over.",
        name=name, origin=origin, table=values[["column", "repetition", "value"]],
    )  # fmt: skip


def _over_rank(study: StudyResult, which: str, quantity: str, origin: str) -> None:
    words = {
        "source_rank": ("rank of the sources", "A level line: the transforms do not depend on what "
                        "rank their small matrices have, only on the transfer rank, here 3."),
        "transfer_rank": ("transfer rank", "Falling: more singular directions help. Rising: what "
                          "the further ones learned on small data does not carry over."),
    }  # fmt: skip
    axis, reading = words[which]
    table = spread(study, which, quantity)
    labels = study.labels | {"gaussian": "Q-Transform"}
    lines = reference(study, quantity)
    if which == "transfer_rank":
        del lines["best"]  # it is a curve of its own there
    chart(
        bands(
            table, labels, (axis, AXES[quantity]), f"Error of the starts over the {axis}",
            reference=lines,
        ),
        reading, name=f"starts_{which}", origin=origin, table=table,
    )  # fmt: skip


def _noise(study: StudyResult, origin: str) -> None:
    table = ratios(study)
    kinds = {"iterations": "Iterations", "seconds": "Seconds on one core"}
    kind = st.segmented_control(
        "Effort in", list(kinds), default="iterations", required=True, format_func=kinds.get,
        key="starts_effort",
    )  # fmt: skip
    arrival = "arrival" if kind == "iterations" else "arrival_seconds"
    shown = table[table["column"].isin(["error", "scaled", kind, arrival])]
    chart(
        bands(
            shown, RATIOS, ("noise ε of the target", "Q-Transform over random starts"),
            "What Q-Transform saves, over the noise of the data", logarithmic=(True, False),
            one="no advantage",
        ),
        "Below 1 Q-Transform is better. Arrived: within 1 % of the error that random restarts end "
        "at; the solver stops later, when it gains too little.",
        name="starts_noise", origin=origin, table=table,
    )  # fmt: skip


def _weights(study: StudyResult, origin: str) -> None:
    table = spread(study, "weights", "seconds")
    solvers = dict.fromkeys(column.split("_")[0] for column in LABELS)
    chart(
        bands(
            table, study.labels, ("particles M", "seconds"), "Time to find Stein weights",
            logarithmic=(True, True),
            groups=[[f"{solver}_{kind}" for kind in KINDS] for solver in solvers],
        ),
        "Solid: random parameters; dashed: those of solved NMFs. Where both coincide, the time "
        "depends on the number of particles only.",
        name="starts_weights", origin=origin, table=table,
    )  # fmt: skip


def what_holds(study: StudyResult) -> None:
    """The paper's claims beside our numbers, and how they were measured."""
    with st.expander("What holds of the paper's claims, and what does not"):
        for found in claims(study):
            st.markdown(f"- {found.claim}: **{found.verdict}**. {found.numbers}")
        for note in study.notes:
            st.caption(note)


def libraries() -> None:
    """Download a library of transforms, or bring one in."""
    with st.expander("Libraries of transforms: download one, bring one in"):
        left, right = st.columns(2, gap="medium")
        with left:
            _download()
        with right:
            _bring_in()


def _download() -> None:
    free = [key for key, process in PROCESSES.items() if not process.needs_target]
    rank = st.number_input("Transfer rank", 1, 10, 3, key="library_rank")
    process = st.selectbox(
        "Learned on", free, format_func=lambda key: PROCESSES[key].label, key="library_process"
    )

    def content() -> bytes:
        buffer = io.BytesIO()
        library.transform_library(int(rank), process=process).save(buffer)
        return buffer.getvalue()

    st.download_button(
        "Download 100 pairs (NPZ)", content, f"transforms_{process}_{rank}.npz",
        key="library_download", on_click="ignore",
    )  # fmt: skip
    st.caption("Q_A (100, R, R) and Q_W (100, R, R): A ≈ A_SVD Q_A and W ≈ Q_W W_SVD.")


def _bring_in() -> None:
    file = st.file_uploader("Bring in a library (NPZ)", "npz", key="library_upload")
    if file is None:
        st.caption("Learned elsewhere, for instance on data like yours: arrays Q_A and Q_W.")
        return
    try:
        found = TransformLibrary.load(io.BytesIO(file.getvalue()))
        key = library.keep(found)
    except BNMFError as error:
        st.error(plain(str(error)))
        return
    st.success(
        f"Kept: {found.count} pairs of transfer rank {found.rank}. On the Run page, give this key "
        "as “Library of transforms” among Q-Transform's further settings:"
    )
    st.code(key, language=None)
