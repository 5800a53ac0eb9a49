"""Selection of a rank study: a stored one, or a new one with its cost."""

from concurrent.futures import Executor
from functools import partial

import streamlit as st

from bnmf_core import Dataset, JobRunner
from bnmf_core.analysis import ranks
from bnmf_core.analysis.ranks import RESTARTS, WITHOUT_EVIDENCE, RankQuestion, RankWork
from bnmf_core.core.model import Capability
from bnmf_core.evidence.criteria import no_evidence
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.figures.ranks import rank_criteria
from bnmf_core.likelihoods import MODELS
from pages.frame import view
from pages.frame.services import place, runner, store
from pages.frame.words import duration, labelled, plain, shown
from pages.parts import make_study, proposed

NEW = ""
NOISES = {"free": "fitted at each rank", "same": "the same at all ranks"}
CALLED = {"free": "free noise", "same": "one noise"}
LARGEST = 40


def question(dataset: Dataset) -> RankQuestion:
    """Select a stored study of the dataset, the newest first, or a new one."""
    found = {stored.key: stored for stored in ranks.answered(store().root, dataset.hash)}
    being_made = _being_made(dataset)
    if being_made is not None:
        return being_made.question
    for sentence in ranks.damaged(store().root, dataset.hash):
        st.warning(plain(sentence))
    labels = {key: described(stored) for key, stored in found.items()} | {NEW: "another one…"}
    if found:
        key = st.selectbox(
            "Study", list(labels), format_func=labelled(labels), key=f"rank_study_{dataset.hash}"
        )
        if key != NEW:
            return found[key]
    return _new(dataset)


def choose(dataset_id: str, study: str, model: str) -> None:
    """Show a stored study by its key, or the form of a new one under a model."""
    st.session_state[f"rank_study_{dataset_id}"] = study
    st.session_state[f"rank_model_{dataset_id}"] = model


def described(question: RankQuestion) -> str:
    """A question in a few words."""
    first, last = question.ranks[0], question.ranks[-1]
    model = MODELS[question.model]
    is_gaussian = Capability.GAUSSIAN_NOISE in model.capabilities
    return f"ranks {first} to {last}, {CALLED[question.noise] if is_gaussian else model.label}"


def answer(question: RankQuestion, dataset: Dataset) -> RankStudy:
    """The study; until it is complete, show cost, button or progress, and end the page."""
    work = RankWork(store().root, question, dataset, partial(_cluster, runner(), dataset.hash))
    if not work.ready():
        low, high = question.seconds(dataset)
        if _being_made(dataset) is None:
            by, depends = "The error on held-out entries recommends", "converge slowly"
            if question.evidence:
                by = "The evidence and the error on held-out entries recommend"
                depends = f"have {question.most_modes:d} modes or more"
            st.markdown(
                f"{by} a rank. Stability and the number of modes stand beside. "
                f"**On an idle computer it takes roughly {plain(duration(low))}, up to "
                f"{plain(duration(high))} where ranks {depends}.** It goes on when you close this "
                "tab."
            )
            if work.parts and place().status(work).status == "none":
                st.info(
                    "It was started before and did not end. Its results are stored; it "
                    "continues from there."
                )
        first, last = question.ranks[0], question.ranks[-1]
        button = f"Compare ranks {first} to {last}"
        make_study.made(work, button, "rank", partial(_so_far, work))
    with view.report_errors():
        study = ranks.read(work.folder)
    return study


@st.cache_data(max_entries=8, show_spinner=False)
def _known(folder: str, parts: tuple[str, ...], _work: RankWork) -> RankStudy | None:
    """The partial study, read again only after new parts."""
    return _work.so_far()


def _so_far(work: RankWork) -> None:
    found = _known(str(work.folder), work.parts, work)
    if found is None:
        return
    known = int(found.table["log_evidence"].notna().sum())
    weighed = f"The evidence of {known} is known" if known else "The evidence comes last"
    if no_evidence(found.criteria):
        weighed = "There is no evidence"
    view.chart(
        rank_criteria(found.table, found.criteria, work.question.loss.measure),
        f"So far {len(found.table)} of {len(work.question.ranks)} ranks are tried. {weighed}. The "
        "recommendation follows when all are done.",
        name="rank_so_far",
        origin=described(work.question),
        table=found.table,
    )


def _cluster(runner: JobRunner, dataset_id: str) -> Executor | None:
    return runner.cluster_of([run.id for run in runner.store.runs() if run.dataset == dataset_id])


def _being_made(dataset: Dataset) -> RankWork | None:
    works = [work for work in place().at_work(RankWork.lane) if isinstance(work, RankWork)]
    return next((work for work in works if work.question.dataset == dataset.hash), None)


def _new(dataset: Dataset) -> RankQuestion:
    largest = min(dataset.D, dataset.N, LARGEST)
    if largest < 2:
        view.nothing("These data have one feature or one observation: only rank 1 is possible.")
    first, last = st.slider(
        "Ranks",
        1,
        largest,
        ranks.usual_ranks(dataset),
        key=f"rank_range_{dataset.hash}",
        help="The noise is estimated at the largest, so it should exceed the expected number.",
    )
    offered, proposal = ranks.models_for(dataset), proposed.of(dataset.hash)
    key = st.selectbox(
        "Model",
        offered,
        offered.index(proposal.model) if proposal.model in offered else 0,
        format_func=labelled({key: MODELS[key].label for key in offered}),
        key=f"rank_model_{dataset.hash}",
        help=plain(
            "Says how probable a factorization is, and by what fits are measured. "
            f"{proposal.sentence}"
        ),
    )
    evidence, tried = True, tuple(range(first, last + 1))
    lacking = MODELS[key].unnormalised(dataset, MODELS[key].Settings())
    if lacking:
        st.caption(plain(f"No evidence: {lacking}"))
    else:
        usual = RankQuestion(dataset.hash, tried, model=key)
        seconds = usual.seconds(dataset)[0]
        evidence = st.checkbox(
            "Compute the log evidence",
            usual.in_time(dataset).evidence,
            key=f"rank_evidence_{dataset.hash}_{key}_{last}",
            help=plain(
                "It says how probable each rank is. With it, comparing takes about "
                f"{duration(seconds)} or more. Held-out entries do without it."
            ),
        )
    noise = "free"
    if evidence and Capability.GAUSSIAN_NOISE in MODELS[key].capabilities:
        noise = st.radio(
            "Noise level",
            list(NOISES),
            format_func=shown(NOISES),
            key="rank_noise",
            help="The evidence compares ranks under this σ. “The same”: from the residual of the "
            "largest rank. “Free”: the most probable σ of each rank.",
        )
    with st.expander("Settings"):
        number = RESTARTS if evidence else WITHOUT_EVIDENCE
        restarts = st.number_input(
            "Restarts of each rank", 2, 200, number, key=f"rank_restarts_{number}"
        )
        modes = st.number_input(
            "Modes in the evidence",
            1,
            20,
            RankQuestion.most_modes,
            key="rank_modes",
            help="The evidence of a rank is summed over this number of modes, the best first.",
        )
        seed = st.number_input("Seed", 0, 2**31, 0, key="rank_seed", help="Same seed, same result.")
    return RankQuestion(
        dataset.hash,
        tried,
        noise,
        restarts=int(restarts),
        most_modes=int(modes),
        seed=int(seed),
        model=key,
        evidence=evidence,
    )
