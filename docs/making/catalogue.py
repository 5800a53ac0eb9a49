"""A page for each algorithm and each model, and one for all distances and all criteria.

Everything stands in the registries: what is added there, by a package too, has its page.
"""

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType

from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core.algorithm import AnyAlgorithm
from bnmf_core.core.model import Capability, Model
from bnmf_core.core.papers import cited
from bnmf_core.core.settings import declarations
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS
from docs.making.docstrings import as_markdown
from docs.making.markdown import code, escaped, listed, table
from pages.frame import declared

# What an algorithm is, in words, by what it makes.
KINDS = {
    "factorizations": (
        "Explorers",
        "They look for many good factorizations. Where they end says nothing of how probable a "
        "place is.",
    ),
    "draws": (
        "Samplers",
        "Their chains leave the posterior of their model invariant: run for long enough, they are "
        "in each place as often as it is probable.",
    ),
    "outputs": (
        "Chains that make no draws",
        "They move as samplers do, and leave no posterior invariant. What they put out is called "
        "output, and each says why.",
    ),
}
FAVOURS = {
    "optimizers": "optimizers, which look for the best fit",
    "draws": "draws, which lie where the posterior has its mass",
    "": "nobody",
}
BETTER = {
    "more": "More is better.",
    "less": "Less is better.",
    "": "Neither more nor less is better.",
}


def documents() -> dict[str, str]:
    """Path in the site → Markdown."""
    found = {"algorithms/index.md": _algorithms(), "models/index.md": _models()}
    found |= {f"algorithms/{key}.md": _algorithm(one) for key, one in ALGORITHMS.items()}
    found |= {f"models/{key}.md": _model(one) for key, one in MODELS.items()}
    return found | {"distances.md": _distances(), "criteria.md": _criteria()}


def _algorithms() -> str:
    parts = [
        "# Algorithms",
        "Each page says what an algorithm does, with which models it works, what can be set, and "
        "where it was published. [Which one when](../guide/samplers.md) begins with your question.",
    ]
    for kind, (title, about) in KINDS.items():
        mine = {key: one for key, one in ALGORITHMS.items() if one.members == kind}
        if mine:
            links = (
                f"[{escaped(a.label)}]({key}.md): {escaped(a.summary)}" for key, a in mine.items()
            )
            parts += [f"## {title}", about, listed(links)]
    return "\n\n".join(parts)


def _algorithm(one: AnyAlgorithm) -> str:
    models = [model for model in MODELS.values() if one.works_with(model)]
    links = ", ".join(f"[{escaped(model.label)}](../models/{model.key}.md)" for model in models)
    facts = [
        ("Key", f"`{one.key}`"),
        ("Kind", f"[{KINDS[one.members][0]}](index.md)"),
        ("Makes", one.members),
        ("Stops", "when it has converged" if one.runs_to_optima else "after the work it was given"),
        ("Models", links),
        *_published(one.reference),
    ]
    parts = [f"# {escaped(one.label)}", escaped(one.summary), table(["", ""], facts)]
    if one.caveat:
        parts.append(f"> **No draws.** {escaped(one.caveat)}")
    return "\n\n".join(
        [*parts, *_how(one, ALGORITHMS), *_settings(one.Settings), *_run(one, models)]
    )


def _published(reference: str) -> list[tuple[str, str]]:
    """Where something comes from, in short and in full."""
    works = "; ".join(work.rstrip(".") for work in cited(reference))
    return [("Published", escaped(reference)), *([("In full", escaped(works))] if works else [])]


def _run(one: AnyAlgorithm, models: list[Model]) -> Iterator[str]:
    model = "" if any(m.key == "gaussian" for m in models) else f" --model {models[0].key}"
    data = "ink" if model == " --model boolean" else "faces"
    yield "## To run it"
    yield (
        "On the page [Analyse](../pages/run.md) it stands under *Advanced*. On the "
        "[command line](../guide/command-line.md):"
    )
    yield code(f"bnmf run {data} --algorithm {one.key} --rank 10{model}", "console")


def _models() -> str:
    links = (f"[{escaped(m.label)}]({key}.md): {escaped(m.summary)}" for key, m in MODELS.items())
    return "\n\n".join(
        [
            "# Models",
            "A model says how probable a factorization is: how noise arises, and what is believed "
            "of A and W beforehand. What is said of posterior mass holds under the model that is "
            "named beside it.",
            listed(links),
        ]
    )


def _model(one: Model) -> str:
    able = ", ".join(what.value for what in Capability if what in one.capabilities)
    links = ", ".join(
        f"[{escaped(a.label)}](../algorithms/{key}.md)"
        for key, a in ALGORITHMS.items()
        if a.works_with(one)
    )
    facts = [
        ("Key", f"`{one.key}`"),
        ("Where A and W live", escaped(f"{one.support_A.of('A')}; {one.support_W.of('W')}")),
        ("It has", able),
        ("Algorithms", links),
        *_published(one.reference),
    ]
    parts = [f"# {escaped(one.label)}", escaped(one.summary), table(["", ""], facts)]
    return "\n\n".join([*parts, *_how(one, MODELS), *_settings(one.Settings)])


def _distances() -> str:
    parts = [
        "# Distances",
        "How far apart two factorizations are. Components are paired first, so that the costs of "
        "the pairs sum to least; their order never counts. The "
        "[mathematics](mathematics/distances.md) has the formulas.",
    ]
    for key, one in DISTANCES.items():
        facts = [
            ("Key", f"`{key}`"),
            ("Unit", escaped(one.unit) or "none"),
            ("Largest at rank 5", "no bound" if one.upper is None else f"{one.upper(5):g}"),
            ("Triangle inequality", "holds" if one.is_metric else "may fail"),
            ("Scale of components", "taken out" if one.scale_free else "counts"),
            *_published(one.reference),
        ]
        parts += [f"## {escaped(one.label)}", escaped(one.summary), table(["", ""], facts)]
    return "\n\n".join(parts)


def _criteria() -> str:
    parts = [
        "# Criteria of the scoreboard",
        "Every number that the page [Scoreboard](pages/scoreboard.md) compares methods by, and "
        "whom it favours by what it measures. No single one says which method is the best.",
    ]
    for key, one in CRITERIA.items():
        facts = [
            ("Key", f"`{key}`"),
            (
                "Unit",
                {"": "none", "distance": "that of the distance in use"}.get(one.unit, one.unit),
            ),
            ("Flatters", FAVOURS[one.favours]),
            ("Comes from", f"[{escaped(declared.page(one.page).title)}](pages/{one.page}.md)"),
        ]
        about = f"{escaped(one.about)} {BETTER[one.better]}"
        parts += [f"## {escaped(one.label)}", about, table(["", ""], facts)]
    return "\n\n".join(parts)


def _how(entry: object, registry: Mapping[str, object]) -> Iterator[str]:
    """What the module says that declares the entry."""
    home = _home(entry)
    if home is not None and home.__doc__:
        yield "## How it works"
        yield as_markdown(home.__doc__, level=3)
        yield f"In the code: `{home.__name__}`."


def _home(entry: object) -> ModuleType | None:
    """The module that declares an entry, the program's own or a package's."""
    for name in sorted(sys.modules):
        module = sys.modules[name]
        if any(getattr(module, own, None) is entry for own in ("ALGORITHM", "MODEL")):
            return module
    return None


def _settings(of: type) -> Iterator[str]:
    rows = []
    for name, (field, declared_as) in declarations(of).items():
        rows.append(
            (
                f"**{escaped(declared_as.label)}** <br> `{name}`",
                f"`{_default(field.default)}`",
                _allowed(field, declared_as.minimum, declared_as.maximum, declared_as.choices),
                escaped(declared_as.unit),
                escaped(declared_as.help),
            )
        )
    if rows:
        yield "## Settings"
        yield table(["setting", "default", "allowed", "unit", "what it does"], rows)


def _default(value: object) -> str:
    if value is None:
        return "left open"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _allowed(
    field: dataclasses.Field[object],
    low: float | None,
    high: float | None,
    choices: tuple[str, ...],
) -> str:
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    if isinstance(field.default, bool):
        return "`true`, `false`"
    if "str" in str(field.type):
        return "text"
    bounds = [f"{sign} {bound:g}" for sign, bound in (("≥", low), ("≤", high)) if bound is not None]
    return " and ".join(bounds) or "any number"
