"""Recommended runs for a dataset, their description in words and their cost.

The page Analyse, the examples and ``bnmf analyse`` share these specs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

import numpy as np

from bnmf_core.analysis import evidence
from bnmf_core.core.algorithm import AnyAlgorithm
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.names import distinct_labels, listed
from bnmf_core.core.plain import Value
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import build, declarations
from bnmf_core.core.spec import USUAL_MODEL, RunSpec
from bnmf_core.likelihoods import MODELS
from bnmf_core.passes.descent import MOST_PASSES, TYPICAL_PASSES
from bnmf_core.registry import ALGORITHMS, label_of
from bnmf_core.runs.engine import WORKERS
from bnmf_core.runs.estimate import (
    FIRST_GUESS,
    GUESSED,
    Estimate,
    estimate,
    problem_of,
    slowdown,
    spoken,
    together,
)
from bnmf_core.runs.foreign import ALGORITHM as FOREIGN
from bnmf_core.runs.memory import sized
from bnmf_core.runs.on_blocks import bytes_of_a_pass, seconds_of_reading, sweep_work
from bnmf_core.runs.planning import check
from bnmf_core.samplers.gibbs import work_per_sweep
from bnmf_core.store.records import RunRecord

# Numbers of factorizations of each explorer, reduced if they take too long.
COUNTS = (60, 40, 20, 10)
# The same for X in blocks, the divisor of a plan's number, and the time limit in seconds.
COUNTS_ON_BLOCKS, FEWER_ON_BLOCKS, PATIENCE_ON_BLOCKS = (20, 10, 5), 3, 1800.0
# Draws of each chain, their least number, and the largest number of stored values.
DRAWS, FEWEST_DRAWS, NUMBERS = 100, 50, 2**26
# Time limit in seconds for explorers and for chains, estimated from multiply-adds.
PATIENCE = 300.0
# R̂ needs several chains.
CHAINS = 4
SETTINGS: Mapping[str, Mapping[str, Value]] = MappingProxyType(
    {"gibbs": {"chains": CHAINS}, "hmc": {"chains": CHAINS}}
)
# Limits of the longest adaptive warm-up in sweeps; draws may take as many again.
SHORTEST, LONGEST = 1_024, 200_000
# Time for distances, modes and paths relative to the time of the runs.
COMPARING = 1.0
# Slowdown from which a machine is reported as busy.
BUSY = 1.5
# Nouns for the factorizations of explorers.
CALLED = {
    "random_restarts": "random restart{s}",
    "box_restarts": "box restart{s}",
    "q_transform": "start{s} of Q-Transform",
}


@dataclass(frozen=True)
class Kind:
    """A kind of factorization: its model and recommended algorithms."""

    label: str
    model: str
    explorers: tuple[str, ...]
    chain: str


# Parts that add up, or tiles of a binary matrix.
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "parts": Kind(
            "Parts that add up", USUAL_MODEL, ("random_restarts", "q_transform"), "gibbs"
        ),
        "tiles": Kind("Tiles of a binary matrix", "boolean", ("box_restarts",), "box_gibbs"),
    }
)


@dataclass(frozen=True)
class Plan:
    """A plan of a launch: the largest number of factorizations of each explorer, and the chains.

    samplers : keys of further samplers.
    """

    label: str
    help: str
    most: int = COUNTS[0]
    samplers: tuple[str, ...] = ()


QUICK = "quick"
PLANS: Mapping[str, Plan] = MappingProxyType(
    {
        QUICK: Plan("Quick", "What a first look needs."),
        "thorough": Plan("Thorough", "More restarts, so that rarer modes are found.", most=200),
        "compare": Plan(
            "Compare samplers",
            "Gibbs, HMC and Mode jumps beside the restarts.",
            samplers=("hmc", "mode_jumps"),
        ),
    }
)


@dataclass(frozen=True)
class Preset:
    """The runs recommended for a dataset.

    specs : of the runs. left_out : sentences on what is left out, and why.
    """

    specs: tuple[RunSpec, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Expected duration of a launch on an idle machine, as ranges in seconds.

    findings : until the first findings. weighing : of the modes, after that; None if not done.
    shared : whether other programs keep this machine busy.
    """

    findings: tuple[float, float]
    weighing: tuple[float, float] | None
    shared: bool = False

    @property
    def sentence(self) -> str:
        """The cost in a sentence or two."""
        parts = [
            f"First findings in {spoken(*self.findings)}.",
            "The modes are not weighed."
            if self.weighing is None
            else f"Weighing the modes then takes {spoken(*self.weighing)}.",
            "The machine is busy." * self.shared,
        ]
        return " ".join(parts).rstrip()


def preset(
    dataset: Dataset,
    rank: int,
    seed: int = 0,
    holdout: float = 0.0,
    restarts: int | None = None,
    kind: str = "parts",
    plan: str = QUICK,
    model: str | None = None,
) -> Preset:
    """The runs recommended for a dataset and a number of components.

    Restarts and Q-Transform run until they converge, ``restarts`` of each or by default 60, fewer
    if these take too long; and four chains if time allows. ``kind`` : "parts", or "tiles" of a
    binary matrix, by box restarts and box Gibbs. ``plan`` : a key of ``PLANS``. ``model`` : a key,
    such as that of :func:`~bnmf_core.analysis.proposal.proposal`; None for that of the kind.
    Algorithms that do not support the model are left out.

    Raises
    ------
    BNMFError
        When the rank or the holdout does not fit the data.

    Examples
    --------
    >>> from bnmf_core import laurberg, preset
    >>> recommended = preset(laurberg("two"), rank=3)
    >>> [(spec.algorithm, spec.particles) for spec in recommended.specs]
    [('random_restarts', 60), ('q_transform', 60), ('gibbs', 400)]
    """

    runs, wanted = KINDS[kind], PLANS[plan]
    under = MODELS[model or runs.model]
    explorers = [
        key for key in runs.explorers if ALGORITHMS[key].works_with(under) and _able(key, dataset)
    ]
    counts: tuple[int, ...] = COUNTS
    patience, size = PATIENCE, "large"
    if dataset.whole is not None:
        counts, patience, size = COUNTS_ON_BLOCKS, PATIENCE_ON_BLOCKS, "read in blocks"

    def specs_of(count: int) -> list[RunSpec]:
        return [RunSpec(key, rank, under.key, count, seed, holdout=holdout) for key in explorers]

    def seconds(specs: Sequence[RunSpec]) -> float:
        return max(together([estimate(dataset, spec) for spec in specs])) / GUESSED

    left_out: list[str] = []
    if restarts is None:
        most = wanted.most if dataset.whole is None else wanted.most // FEWER_ON_BLOCKS
        offered = {most, *counts}
        fits = [count for count in offered if seconds(specs_of(count)) <= patience]
        restarts = max(fits, default=counts[-1])
        if restarts < wanted.most:
            left_out.append(
                f"The data are {size}, so there are {restarts} factorizations of each kind instead "
                f"of {wanted.most}; the fewer there are, the less is known of what none has found."
            )
    specs = specs_of(restarts)
    chain = chains_of(dataset, rank, seed, holdout, kind, under.key)
    keys = [
        key
        for key in wanted.samplers
        if kind == "parts" and key != chain.algorithm and ALGORITHMS[key].works_with(under)
    ]
    if unable := [key for key in keys if not _able(key, dataset)]:
        left_out.append(
            f"{listed(map(label_of, unable))} "
            f"{'needs' if len(unable) == 1 else 'need'} all data in memory, and "
            f"{'is' if len(unable) == 1 else 'are'} left out."
        )
    others = [
        replace(chain, algorithm=key, settings=dict(SETTINGS.get(key, {})))
        for key in keys
        if key not in unable
    ]
    chains = [spec for spec in others if not _refused(dataset, spec)]
    if dataset.whole is None or not _refused(dataset, chain):
        chains.insert(0, chain)
    affordable = [spec for spec in chains if seconds([spec]) <= PATIENCE]
    specs += affordable
    if len(affordable) < len(chains):
        missing = [label_of(s.algorithm) for s in chains if s not in affordable]
        left_out.append(
            f"{listed(missing)} would take too long on data of this size, and "
            f"{'is' if len(missing) == 1 else 'are'} left out."
        )
    return Preset(tuple(specs), tuple(left_out))


def _able(key: str, dataset: Dataset) -> bool:
    """Whether an algorithm supports data of this size."""
    return dataset.whole is None or ALGORITHMS[key].on_blocks is not None


def _refused(dataset: Dataset, spec: RunSpec) -> bool:
    try:
        check(dataset, spec)
    except BNMFError:
        return True
    return False


def chains_of(
    dataset: Dataset,
    rank: int,
    seed: int = 0,
    holdout: float = 0.0,
    kind: str = "parts",
    model: str | None = None,
) -> RunSpec:
    """The chains recommended for a dataset and a number of components.

    Four chains warm up until they are stationary, within a time limit; see
    :mod:`bnmf_core.samplers.adaptive`. ``kind`` and ``model`` as in :func:`preset`. If the kind's
    sampler does not support the model, the first sampler that does is used.
    """
    runs, under = KINDS[kind], MODELS[model or KINDS[kind].model]
    able = [a.key for a in ALGORITHMS.values() if a.exact and a.works_with(under)]
    able = [key for key in able if _able(key, dataset)] or able
    chain = runs.chain if runs.chain in able else able[0]
    settings = dict(SETTINGS.get(chain, {}))
    numbers = rank * (dataset.D + dataset.N) * CHAINS
    draws = int(np.clip(NUMBERS // numbers, FEWEST_DRAWS, DRAWS)) * CHAINS
    if "longest" in declarations(ALGORITHMS[chain].Settings):
        problem = Problem(dataset, under, under.Settings(), rank)
        work, reading = work_per_sweep(problem), 0.0
        if dataset.whole is not None:
            work, reading = sweep_work(problem), seconds_of_reading(dataset.whole, 1)
        sweep = work * CHAINS / FIRST_GUESS
        longest = WORKERS * PATIENCE / (2.0 * sweep + 2.0 * WORKERS * reading)
        settings["longest"] = int(np.clip(longest, SHORTEST, LONGEST))
    return RunSpec(chain, rank, under.key, draws, seed, settings, holdout=holdout)


def longer(spec: RunSpec, times: int = 10) -> RunSpec:
    """Chains that are ``times`` as long.

    This multiplies the limit of an adaptive warm-up, so that with the same seed the chains repeat
    their path and continue, else warm-up and thinning.
    """
    declared = declarations(ALGORITHMS[spec.algorithm].Settings)
    settings = dict(spec.settings)
    for name in ["longest"] if settings.get("longest") else ["warm_up", "thinning", "sweeps"]:
        if name in declared:
            field, declaration = declared[name]
            value = settings.get(name, field.default)
            if isinstance(value, int):
                most = value * times if declaration.maximum is None else declaration.maximum
                settings[name] = int(min(value * times, most))
    return replace(spec, settings=settings)


def cost(
    dataset: Dataset, spec: RunSpec, estimates: Sequence[Estimate], slower: float | None = None
) -> Cost:
    """Expected duration of a launch with these estimates, including its analysis.

    spec : of one run. slower : slowdown compared with an idle machine; None to use its load.
    """
    slower = slowdown() if slower is None else slower
    low, high = together(estimates)
    weighing = evidence.expected_seconds(problem_of(dataset, spec))
    if weighing is not None:
        weighing = weighing[0], weighing[1] * slower
    findings = low, high * (1 + COMPARING) * slower
    return Cost(findings, weighing, shared=slower > BUSY)


def passes_in_words(
    dataset: Dataset, specs: Sequence[RunSpec], estimates: Sequence[Estimate]
) -> str:
    """A sentence on the passes over X of runs with these estimates; "" if X is in memory."""
    if dataset.whole is None or not specs:
        return ""
    makers: dict[int, list[str]] = {}
    for spec, one in zip(specs, estimates, strict=True):
        label = label_of(spec.algorithm)
        if label not in (known := makers.setdefault(one.passes, [])):
            known.append(label)
    each = [f"about {count:,} passes of {listed(of)}" for count, of in sorted(makers.items())]
    text = f"Each run makes about {min(makers):,} passes" if len(makers) == 1 else listed(each)
    hard = min(makers) == TYPICAL_PASSES
    longest = f", or up to {MOST_PASSES} where data hardly determine components;" * hard
    return (
        f"{text[:1].upper()}{text[1:]}{' go' * (len(makers) > 1)} over all "
        f"{dataset.whole.N:,} observations{longest or ';'} each pass reads "
        f"{sized(bytes_of_a_pass(dataset.whole))}, and all runs take "
        f"{spoken(*together(estimates))} on an idle machine."
    )


def in_words(spec: RunSpec) -> str:
    """Describe a run, such as "60 random restarts run until they converge".

    Examples
    --------
    >>> from bnmf_core import RunSpec
    >>> in_words(RunSpec("gibbs", 3, particles=100, settings={"chains": 4}))
    '4 Gibbs chains of 25 draws'
    """
    what = _what(spec)
    return f"{what}, at most {spec.seconds:g} s of processor time" if spec.seconds else what


def _what(spec: RunSpec) -> str:
    many = f"{spec.particles:,}"
    if spec.algorithm == FOREIGN:
        return f"{many} factorizations of another program"
    if spec.algorithm not in ALGORITHMS:
        return f"{many} factorizations by {spec.algorithm}"
    algorithm = ALGORITHMS[spec.algorithm]
    try:
        settings = vars(build(algorithm.Settings, spec.settings, algorithm.label))
    except BNMFError:  # of another version
        settings = {}
    if "chains" in settings:
        return _chains(algorithm, spec.particles, settings["chains"])
    plural = "s" if spec.particles != 1 else ""
    kind = CALLED.get(spec.algorithm, f"factorization{plural} by {algorithm.label}")
    what = f"{many} {kind.format(s=plural)}"
    if "movement" not in settings:
        return what
    if settings.get("tolerance") is not None:
        return f"{what}, stopped as published"
    return f"{what} run until {'they converge' if plural else 'it converges'}"


def _chains(algorithm: AnyAlgorithm, particles: int, chains: int) -> str:
    chains, label, made = min(chains, particles), algorithm.label, algorithm.members
    if chains == 1:
        # The article follows the pronunciation: an HMC chain.
        vowels = "AEFHILMNORSX" if label[:2].isupper() else "AEIO"
        article = "an" if label.startswith(tuple(vowels)) else "a"
        return f"{article} {label} chain of {particles:,} {made}"
    each, rest = divmod(particles, chains)
    of_each = f", {particles:,} {made} together" if rest else f" of {each:,} {made}"
    return f"{chains} {label} chains{of_each}"


def runs_in_words(specs: Sequence[RunSpec]) -> str:
    """Describe runs in one sentence; runs that differ only in the seed are counted."""
    counts = Counter(in_words(spec) for spec in specs)
    text = listed(f"{count} × {one}" if count > 1 else one for one, count in counts.items())
    return f"{text[:1].upper()}{text[1:]}."


def run_label(run: RunRecord) -> str:
    """Name of a run, or of its algorithm."""
    return run.name or label_of(run.spec.algorithm)


def run_names(runs: Iterable[RunRecord]) -> dict[str, str]:
    """Names of runs by id, with the seed and then the time to make them distinct."""
    runs = list(runs)
    seeded = {run.id: f"{run_label(run)}, seed {run.spec.seed}" for run in runs}
    begun = {run.id: f"{seeded[run.id]}, {moment(run.created)}" for run in runs}
    return distinct_labels({run.id: run_label(run) for run in runs}, seeded, begun)


def group_names(
    runs: Iterable[RunRecord], groups: Mapping[str, Sequence[str]], *, counted: bool = True
) -> dict[str, str]:
    """Names of groups of runs by the id of the first run; ``groups`` : first id → all ids.

    counted : whether names have the number of runs. Equal names are replaced by those of the first
    runs, see :func:`run_names`.
    """
    runs = list(runs)
    labels = {run.id: run_label(run) for run in runs if run.id in groups}
    if counted:
        sizes = {group: len(ids) for group, ids in groups.items()}
        labels = {
            group: f"{label} × {sizes[group]}" if sizes[group] > 1 else label
            for group, label in labels.items()
        }
    return distinct_labels(labels, run_names(runs))


def moment(time: float) -> str:
    """A time stamp as day and time of day."""
    return datetime.fromtimestamp(time).strftime("%d %b %H:%M")
