"""Registry of findings: functions that return facts of an answer and the key of their page."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.described import dominant_lines
from bnmf_core.analysis.mode_table import LITTLE, largest_mass
from bnmf_core.compare.unseen import Unseen
from bnmf_core.core.names import percent
from bnmf_core.core.registry import Registry
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.findings import components, labels
from bnmf_core.findings.facts import Fact, fact
from bnmf_core.findings.ranks import beside, of_counts, of_rank
from bnmf_core.solvers.solution import GAIN

if TYPE_CHECKING:
    from bnmf_core.findings.answer import Answer

# Largest number of labels whose conclusions are reported.
LABELS = 2
# Limits of the probability that the next restart finds a new mode: more restarts are advised above
# the first if a mode found once fits as well as the best or has mass, another number of components
# above the second.
NEW, MOSTLY_NEW = 0.05, 0.5
# The key of a page, and facts: the finding, then its doubts.
Found = tuple[str, Sequence[Fact]]


@dataclass(frozen=True)
class Source:
    """A kind of finding.

    key, label : of the kind, and its subject in words. find : the findings of an answer, each with
    the key of its page; without facts for none. first : whether it comes before the others.
    """

    key: str
    label: str
    find: Callable[["Answer"], Iterable[Found]]
    first: bool = False


def _of_modes(*subjects: str) -> Callable[["Answer"], Iterable[Found]]:
    return lambda answer: [("overview", [one for key in subjects for one in answer.facts[key]])]


def _uncertainty(answer: "Answer") -> Iterable[Found]:
    """Nothing if chains within the mode have not settled: see ``Answer.withheld``."""
    found = answer.posterior
    if found is not None and found.modes and found.modes[0].settled:
        facts = components.uncertainty(answer.comparison, answer.modes, found, answer.named)
        yield "components", facts


def _chains(answer: "Answer") -> Iterable[Found]:
    if answer.verdicts is not None and answer.verdicts.settled is not None:
        verdicts = sorted(answer.verdicts.by_run.values(), key=lambda verdict: verdict.settled)
        facts = [fact("reason", said=verdict.sentence) for verdict in verdicts]
        if not answer.verdicts.settled:
            facts.append(fact("unsettled"))
        elif any(verdict.modes > 1 for verdict in verdicts):
            facts.append(fact("staying"))
        yield "traces", facts


def _components(answer: "Answer") -> Iterable[Found]:
    facts = components.shared(answer.comparison, answer.modes, answer.table, answer.named)
    yield "components", facts


def _labels(answer: "Answer") -> Iterable[Found]:
    # Conclusions cannot be compared without optima.
    if answer.conclusions is not None and answer.comparison.optima.any():
        for facts in labels.facts(answer.conclusions, answer.weighty)[:LABELS]:
            yield "downstream", facts


def _rank(answer: "Answer") -> Iterable[Found]:
    if answer.rank_study is not None:
        found, model = answer.comparison, answer.comparison.runs[0].spec.model
        facts = of_rank(answer.rank_study, found.rank) + of_counts(answer.rank_study)
        yield "rank", facts + beside(answer.rank_study, model, found.root, found.runs[0].dataset)


def _next(answer: "Answer") -> Iterable[Found]:
    if not answer.passing:
        facts = what_next(answer.comparison, answer.unseen, answer.table, answer.rank_study)
        asks_ranks = bool(facts) and facts[0].key.startswith("compare_ranks")
        yield "rank" if asks_ranks else "run", facts


# Least ratio of the fit to the expected noise, or its inverse, that is reported.
UNLIKE = 2.0


def fit(comparison: Comparison) -> list[Fact]:
    """How well the optima fit, and whether they have converged."""
    errors = comparison.members["error"].to_numpy()[comparison.optima]
    if not errors.size:
        return []
    if comparison.loss is None:  # a range of different measures is meaningless
        return convergence(comparison)
    low, high = float(errors.min()), float(errors.max())
    if explains := comparison.loss.explains:
        parts = {"least": 1.0 - high, "most": 1.0 - low}
        same = percent(parts["least"]) == percent(parts["most"])
        return [
            fact(f"explained.{'alike' if same else 'range'}", what=explains, **parts),
            *convergence(comparison),
        ]
    key = "errors.alike" if f"{low:.3g}" == f"{high:.3g}" else "errors.range"
    head, per, rest = comparison.measure.partition(" per ")
    words = {"measure": comparison.measure, "measures": f"{head}s{per}{rest}"}
    axis = comparison.measure_axis
    return [
        fact(key, low=low, high=high, axis=axis, **words),
        *_beside_expected(low, comparison.loss.expected),
        *_dominated(comparison),
        *convergence(comparison),
    ]


def _dominated(comparison: Comparison) -> list[Fact]:
    """A warning that one line of X dominates the squared errors."""
    squares = comparison.loss is not None and comparison.loss.key == SQUARED_ERROR.key
    sentence = dominant_lines(comparison.dataset) if squares else ""
    return [fact("reason", said=sentence)] if sentence else []


def _beside_expected(best: float, expected: float | None) -> list[Fact]:
    """A fact on a fit far from the expected noise."""
    if expected is None or expected / UNLIKE <= best <= UNLIKE * expected:
        return []
    return [fact(f"expected.{'above' if best > expected else 'below'}", expected=expected)]


def convergence(comparison: Comparison) -> list[Fact]:
    """Numbers of members that have converged, and that lie on a ridge."""
    members = comparison.members[comparison.members["movement"].notna()]
    done, count = int(members["converged"].sum()), len(members)
    if not count:
        return [fact("converged.unknown")]
    most = members.loc[~members["converged"], "movement"].max()
    # Some may turn by little and still exceed the allowed gain.
    some = "some" if most > comparison.resolution else "unsure"
    statement = fact(
        f"converged.{'all' if done == count else some if done else 'none'}",
        done=done,
        count=count,
        left=count - done,
        resolution=comparison.resolution,
        most=most,
    )
    ridge = members[members["ridge"]]
    if ridge.empty:
        return [statement]
    return [statement, fact("ridge", count=len(ridge), most=ridge["movement"].max(), nats=GAIN)]


def what_next(
    comparison: Comparison,
    unseen: Unseen | None,
    table: pd.DataFrame,
    study: RankStudy | None = None,
) -> list[Fact]:
    """The most informative next step; empty if nothing is missing."""
    if unseen is None or not comparison.optima.any():
        advised = comparison.advised
        return [fact("run_advised", advised=advised)] if advised or comparison.optima.any() else []
    weighed = table["weighed"] > 0
    left = weighed & ~table["stays"]
    if study is None and weighed.sum() > 1 and left.sum() > 0.5 * weighed.sum():
        return [fact("compare_ranks", rank=comparison.rank)]
    chance = unseen.new_probability
    if study is None and chance > MOSTLY_NEW:
        return [fact("compare_ranks_first", rank=comparison.rank, probability=chance)]
    if chance > NEW:
        once = np.rint(table["found_by"] * unseen.restarts) == 1
        if (table["as_good_as_best"] | (largest_mass(table) >= LITTLE))[once].any():
            return [fact("more_restarts", restarts=unseen.restarts, probability=chance)]
    if comparison.dataset.labels and not comparison.holdout:
        return [fact("cross_validate")]
    return []


FINDINGS: Registry[Source] = Registry(
    "finding",
    Source,
    (
        Source("found", "how many modes there are", _of_modes("found", "separate")),
        Source("probable", "how probable they are", _of_modes("probable")),
        Source("uncertainty", "how far draws of components lie from the best fit", _uncertainty),
        Source("chains", "whether chains have settled", _chains),
        Source("missing", "what no restart has found", _of_modes("missing")),
        Source("components", "which components all modes share", _components),
        Source("labels", "whether the choice changes a conclusion", _labels),
        Source("rank", "how many components there are", _rank),
        Source("fit", "how well the optima fit", lambda one: [("quality", fit(one.comparison))]),
        Source("next", "what to do next", _next),
    ),
    "bnmf.findings",
)
