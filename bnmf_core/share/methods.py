"""A methods section for a paper: data, model, runs, modes, programs."""

import platform
from collections.abc import Iterator
from importlib.metadata import version as version_of

from bnmf_core.analysis import chains
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core import settings
from bnmf_core.core.names import listed
from bnmf_core.core.papers import by_authors, cited
from bnmf_core.findings.answer import Answer
from bnmf_core.likelihoods import MODELS
from bnmf_core.posterior.places import problem_of
from bnmf_core.registry import ALGORITHMS, FOREIGN
from bnmf_core.runs.launch import in_words
from bnmf_core.version import VERSION

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "plotly")
OF_CHAINS, OF_MASS = "Vehtari & others 2021", "Neal 2001"


def references(answer: Answer) -> list[tuple[str, str]]:
    """Algorithms, models and distance in use, each with its short reference."""
    comparison, distance = answer.comparison, DISTANCES[answer.metric]
    models = dict.fromkeys(run.spec.model for run in comparison.runs)
    return [
        *dict.fromkeys(_works(comparison)),
        *(
            (f"Model, {MODELS[key].label}", MODELS[key].reference)
            for key in models
            if key in MODELS
        ),
        (f"Distance, {distance.label}", distance.reference),
    ]


def _works(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Label and references of the algorithm of every run that this program made."""
    for run, particles in zip(comparison.runs, comparison.particles, strict=True):
        algorithm = ALGORITHMS.get(run.spec.algorithm)
        if algorithm is None:
            continue
        works = algorithm.reference
        if algorithm.works is not None:
            chosen = settings.build(algorithm.Settings, run.spec.settings, algorithm.label)
            works = algorithm.works(problem_of(particles, comparison.dataset), chosen)
        yield algorithm.label, works


def packages() -> str:
    """Numerical packages with their versions."""
    return ", ".join(f"{package} {version_of(package)}" for package in PACKAGES)


def methods(answer: Answer) -> str:
    """Return two paragraphs of plain text, and a line for each cited work.

    Masses and chains are mentioned only if they have been computed.
    """
    comparison, dataset = answer.comparison, answer.comparison.dataset
    distance, cited_works = DISTANCES[answer.metric], references(answer)
    own = [run for run in comparison.runs if run.spec.algorithm != FOREIGN]
    models = [
        f"“{MODELS[key].label}” ({MODELS[key].reference})"
        for key in dict.fromkeys(run.spec.model for run in own)
        if key in MODELS
    ]
    under = f", under the model {listed(models)}" if models else ""
    runs, works = [], _works(comparison)
    for run in comparison.runs:
        source = f"{next(works)[1]}; " if run.spec.algorithm in ALGORITHMS else ""
        imported = run.spec.algorithm == FOREIGN
        runs.append(in_words(run.spec) + f" ({source}seed {run.spec.seed})" * (not imported))
    missing = f", of which {dataset.missing:,} were missing" if dataset.missing else ""
    holdout = sorted({run.spec.holdout for run in comparison.runs if run.spec.holdout})
    shares = listed(f"{one:.0%}" for one in holdout or [0])
    sampled = f" Weights are shown of a random sample of {dataset.N:,} observations."
    held = sampled * (
        dataset.whole is not None
    ) + f" {shares} of the observations were held out." * bool(holdout)
    made = listed(dict.fromkeys(run.version for run in comparison.runs if run.version))
    count, verdicts = answer.modes.count, chains.STAGE.perhaps(comparison)
    best = float(comparison.members["error"].min())
    paragraphs = [
        f"The matrix {dataset.name} of {dataset.D:,} {dataset.feature_noun} and {dataset.all_N:,} "
        f"observations{missing} was approximated by non-negative matrix factorization, X ≈ A W, "
        f"with {comparison.rank} components{under}."
        f"{_model_settings(comparison)}{held} The factorizations were {listed(runs)}. The best has "
        f"a {comparison.measure_heading} of {comparison.format_measure(best)}.",
        f"Factorizations were compared by {_inside(distance.label)} between their matched "
        f"components ({distance.reference}), and grouped into modes by complete linkage: any two "
        f"factorizations that make a mode are at most {answer.modes.threshold:.3g}"
        f"{distance.unit_behind} apart. There {'is' if count == 1 else 'are'} {count} "
        f"mode{'s' * (count > 1)}.",
    ]
    weighed = int((answer.table["weighed"] > 0).sum()) if answer.evidence is not None else 0
    if answer.evidence is not None and not answer.evidence.problem and weighed > 1:
        paragraphs[1] += f" Posterior masses were computed by annealed populations ({OF_MASS})."
        cited_works.append(("Masses", OF_MASS))
    if verdicts is not None and verdicts.by_run:
        state = "had" if verdicts.settled else "had not"
        paragraphs[1] += f" Chains {state} settled by rank-normalized R̂ and ESS ({OF_CHAINS})."
        cited_works.append(("Chains", OF_CHAINS))
    paragraphs[1] += (
        f" The runs were made by bnmf {made or VERSION}, this text by bnmf {VERSION}, with Python "
        f"{platform.python_version()}, {packages()}."
    )
    in_full = cited("; ".join(short for _, short in cited_works))
    return by_authors("\n\n".join([*paragraphs, "\n".join(in_full)])) + "\n"


def _model_settings(comparison: Comparison) -> str:
    """A sentence on the settings of each model; "" without settings."""
    found = {}
    for run, particles in zip(comparison.runs, comparison.particles, strict=True):
        values = particles.info.get("model_settings", run.spec.model_settings) or {}
        numbers = {key: value for key, value in values.items() if isinstance(value, int | float)}
        if numbers and run.spec.model in MODELS:
            found[run.spec.model] = listed(f"{key} = {value:.4g}" for key, value in numbers.items())
    return "".join(
        f" Settings of “{MODELS[key].label}” were {text}." for key, text in found.items()
    )


def _inside(label: str) -> str:
    """A label in lower case for use within a sentence."""
    return label[:1].lower() + label[1:]
