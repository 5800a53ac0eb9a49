"""The request: the number of components, and under Advanced everything else."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from bnmf_core import Dataset, RunSpec, preset
from bnmf_core.analysis import ranks
from bnmf_core.boolean.analysis import tiles
from bnmf_core.core.plain import Value
from bnmf_core.data.samples import SAMPLES
from bnmf_core.findings.ranks import OPEN, recommend
from bnmf_core.likelihoods import MODELS
from bnmf_core.passes.descent import BLOCK_SUMS
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.launch import DRAWS, KINDS, PLANS, QUICK, SETTINGS, Preset
from pages.frame import link
from pages.frame.options import pick_one
from pages.frame.services import store
from pages.frame.words import plain, shown
from pages.parts import forms, proposed

USUAL_RANK = 5
# Kind of result → the work of the algorithms that make it.
MAKERS = {
    "factorizations": "look for many good factorizations",
    "draws": "draw from a posterior",
    "outputs": "run along chains, but their outputs are not draws from a posterior",
}
RECOMMENDED = "recommended_runs"


@dataclass(frozen=True)
class Request:
    """specs : the runs. left_out : sentences on omitted algorithms. name : of the launch."""

    specs: list[RunSpec]
    left_out: tuple[str, ...]
    name: str


def rank(dataset: Dataset, dataset_id: str) -> int:
    """Select the number of components."""
    samples = {sample.label: sample.suggested_rank for sample in SAMPLES.values()}
    made = dataset.truth[0].A.shape[1] if dataset.truth else None
    suggested = made or samples.get(dataset.name)
    # Newest first: the default is the rank of the last analysis of these data.
    last = next((run.spec.rank for run in store().runs() if run.dataset == dataset_id), None)
    study = ranks.newest(store().root, dataset_id)
    advice = None if study is None else recommend(study)
    advised = advice.rank if advice is not None and advice.grade != OPEN else None
    largest = min(dataset.D, dataset.N)
    # At full rank the factorization is trivial.
    guess = min(USUAL_RANK, max(1, largest // 2))
    usual = min(advised or last or suggested or guess, largest)
    reason = (
        f"These data were made of {made}."
        if made
        else f"The page Rank recommends {advised}."
        if advised
        else f"{suggested} is suggested for this sample."
        if suggested
        else f"{last} is what these data were last analysed with. The page Rank compares several."
        if last
        else f"{usual} is a first guess. The page Rank compares several."
    )
    key = f"rank_{dataset_id}"
    st.session_state[key] = st.session_state.get(key, usual)
    if (wanted := link.get("rank")) is not None:  # once: afterwards the widget counts
        st.session_state[key] = min(max(1, wanted), largest)
        link.put("rank", None)
        link.share("rank")
    return int(
        st.number_input(
            "Number of components",
            1,
            largest,
            key=key,
            help=plain(
                f"Number of components in the factorization (rank R), 1 to {largest:,}. {reason}"
            ),
        )
    )


def kind(dataset: Dataset) -> str:
    """Select components, or tiles of a binary matrix if the data are binary."""
    if dataset.whole is not None:  # tiles need all of X in memory
        return "parts"
    if tiles.refusal(dataset):
        if few := tiles.nearly(dataset):
            st.caption(plain(f"No binary tiles: {few}. The page Data can change that."))
        return "parts"
    return str(
        pick_one(
            "Look for",
            {key: kind.label for key, kind in KINDS.items()},
            "parts",
            "kind",
            help="Tiles are sets of rows and columns that are yes together, and may overlap. "
            "Parts add up, as in any non-negative table.",
        )
    )


def plan(kind: str) -> str:
    """Select the purpose of the launch; tiles have one plan."""
    if kind != "parts":
        return QUICK
    return str(
        pick_one(
            "Plan",
            {key: entry.label for key, entry in PLANS.items()},
            QUICK,
            "plan",
            help=plain(" ".join(f"{entry.label}: {entry.help}" for entry in PLANS.values())),
        )
    )


def everything(dataset: Dataset, dataset_id: str, rank: int, kind: str, plan: str) -> Request:
    """All other settings in groups; the defaults are recommended."""
    # Other data, and another kind, reset the model to the proposed one.
    of = f"{kind} {dataset_id}"
    same, st.session_state["model_of"] = st.session_state.get("model_of") == of, of
    first = proposed.of(dataset_id).model if kind == "parts" else None
    chosen = st.session_state.get("model", first) if same else first
    # The launch refuses unsuitable models; another one can be selected here.
    fits = chosen is None or not (MODELS[chosen].unfit(dataset) or _not_in_blocks(dataset, chosen))
    recommended = preset(dataset, rank, kind=kind, plan=plan, model=chosen if fits else None)
    _begin_with(recommended, recommended.specs[0].model if fits else str(chosen))
    one, two, three, four = st.tabs(
        ["Algorithms", "Model", "Settings of the algorithms", "Seed, repetitions, budget, name"]
    )
    with one:
        keys, particles, draws = _algorithms()
    with two:
        model, model_settings = _model()
    with four:
        seed, repeats, holdout, seconds, name = _seed()
    with three:
        first = {spec.algorithm: spec.settings for spec in recommended.specs}
        settings = {key: _settings(key, first.get(key, SETTINGS.get(key))) for key in keys}
    specs = []
    for key in keys:
        count = draws if ALGORITHMS[key].family == "sampler" else particles
        for one in range(seed, seed + repeats):
            arguments = (key, rank, model, count, one, settings[key], model_settings)
            specs.append(RunSpec(*arguments, holdout, seconds))
    untouched = {(spec.algorithm, spec.particles) for spec in specs} == {
        (spec.algorithm, spec.particles) for spec in recommended.specs
    }
    return Request(specs, recommended.left_out if untouched else (), name)


def _not_in_blocks(dataset: Dataset, model: str) -> bool:
    """Whether data are in blocks, for which the model has no algorithm."""
    chosen = MODELS[model]
    return dataset.whole is not None and chosen.loss(chosen.Settings()).key not in BLOCK_SUMS


def _begin_with(recommended: Preset, model: str) -> None:
    """Set the widgets to the recommended values, if these have changed or widgets are new.

    Present values are set again: a browser on a slow line that receives a widget at the
    second redraw only would take an unset one for an empty one.
    """
    explorers = [s for s in recommended.specs if ALGORITHMS[s.algorithm].family == "explorer"]
    samplers = [s for s in recommended.specs if ALGORITHMS[s.algorithm].family == "sampler"]
    first = {
        "algorithms": [spec.algorithm for spec in recommended.specs],
        "particles": explorers[0].particles,
        "draws": samplers[0].particles if samplers else DRAWS,
        "model": model,
    }
    proposal = [first, [spec.settings for spec in recommended.specs]]
    changed = st.session_state.get(RECOMMENDED) != proposal
    st.session_state[RECOMMENDED] = proposal
    for spec in recommended.specs if changed else ():
        for name in spec.settings:  # their fields begin with what is recommended now
            st.session_state.pop(f"settings_{spec.algorithm}_{name}", None)
    for key, value in first.items():
        st.session_state[key] = value if changed else st.session_state.get(key, value)


def _algorithms() -> tuple[list[str], int, int]:
    """Keys of the algorithms that run in parallel, and the numbers of factorizations and draws."""
    keys = st.pills(
        "Run in parallel",
        list(ALGORITHMS),
        selection_mode="multi",
        format_func=shown({key: algorithm.label for key, algorithm in ALGORITHMS.items()}),
        key="algorithms",
    )
    left, right = st.columns(2)
    particles = left.number_input(
        "Factorizations",
        1,
        100_000,
        key="particles",
        help="For each algorithm whose factorizations are independent of one another.",
    )
    draws = right.number_input(
        "Draws", 1, 100_000, key="draws", help="For each sampler, over all its chains."
    )
    for members, does in MAKERS.items():
        st.caption(plain(f"These {does}:"))
        lines = [a for a in ALGORITHMS.values() if a.members == members]
        st.caption("\n".join(f"- **{plain(a.label)}**: {plain(a.summary)}" for a in lines))
    return keys, int(particles), int(draws)


def _model() -> tuple[str, Mapping[str, object]]:
    key = st.selectbox(
        "Model",
        list(MODELS),
        format_func=lambda key: MODELS[key].label,
        key="model",
        help="Says how probable a factorization is.",
    )
    st.caption(plain(MODELS[key].summary))
    return key, forms.settings_form(MODELS[key].Settings, f"model_{key}")


def _settings(key: str, first: Mapping[str, Value] | None) -> Mapping[str, object]:
    """The settings of one algorithm; the defaults are recommended."""
    algorithm = ALGORITHMS[key]
    with st.expander(f"Settings of {plain(algorithm.label)}"):
        st.caption(plain(f"{algorithm.summary} ({algorithm.reference})"))
        return forms.settings_form(algorithm.Settings, f"settings_{key}", first)


def _seed() -> tuple[int, int, float, float, str]:
    """First seed, number of seeds, held-out fraction, time budget, and the launch's name."""
    first, second, third, fourth, fifth = st.columns(5)
    seed = first.number_input("Seed", 0, 2**31, 0, key="seed", help="Same seed, same result.")
    repeats = second.number_input(
        "Repetitions",
        1,
        20,
        1,
        key="repeats",
        help="Runs of each algorithm, with this seed and the next ones. The page Scoreboard shows "
        "which differences are chance.",
    )
    holdout = third.number_input(
        "Hold out (%)",
        0,
        50,
        0,
        key="holdout",
        help="Observations that no factorization sees; labels are then predicted for those only.",
    )
    seconds = fourth.number_input(
        "Budget (s)",
        0.0,
        86_400.0,
        0.0,
        5.0,
        format="%g",
        key="budget",
        help="Seconds of processor time for each run, the same for all, so that methods can be "
        "compared at equal cost. Factorizations and draws are then the most that a run makes: one "
        "that has made them ends sooner, so ask for more of them than there is time for. 0: no "
        "budget.",
    )
    name = fifth.text_input(
        "Name", key="launch_name", max_chars=60, placeholder="data and components", help="Of all."
    )
    return int(seed), int(repeats), holdout / 100, float(seconds), name.strip()
