"""``samples``: list samples, generators, algorithms, models and their settings."""

import argparse
import dataclasses
from typing import Any

from bnmf_core.cli.output import Commands, Output
from bnmf_core.core.plain import Value
from bnmf_core.core.settings import Declaration, declarations
from bnmf_core.data.samples import SAMPLES
from bnmf_core.data.synthetic import GENERATORS
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS


def add_commands(commands: Commands) -> None:
    """Add ``samples``."""
    words = "list samples, generators, algorithms and models with their settings"
    commands.add("samples", words, samples)


def samples(options: argparse.Namespace, output: Output) -> None:
    """Print the lists."""
    known = {
        "generators": [_described(entry) for entry in GENERATORS.values()],
        "algorithms": [
            _described(entry)
            | {
                "family": entry.family,
                "reference": entry.reference,
                "models": [model.key for model in MODELS.values() if entry.works_with(model)],
            }
            for entry in ALGORITHMS.values()
        ],
        "models": [_described(entry) for entry in MODELS.values()],
    }
    options_of = {"generators": "--data-set", "algorithms": "--set", "models": "--model-set"}

    def show() -> None:
        output.table(
            ["sample", "rank", "what it is"],
            [(s.key, s.suggested_rank, s.summary) for s in SAMPLES.values()],
        )
        for kind, option in options_of.items():
            for entry in known[kind]:
                title = f"{kind[:-1]} {entry['key']}: {entry['summary']}"
                rows = [
                    (s["key"], _default(s["default"]), s["allowed"], s["label"])
                    for s in entry["settings"]
                ]
                if rows:
                    output.table([f"{option} …", "default", "allowed", "what it is"], rows, title)
                else:
                    output.say(title)

    listed = [
        {"key": s.key, "label": s.label, "summary": s.summary, "rank": s.suggested_rank}
        for s in SAMPLES.values()
    ]
    output.result({"samples": listed} | known, show)


def _described(entry: Any) -> dict[str, Any]:
    """An algorithm, a model or a generator as plain values."""
    return {
        "key": entry.key,
        "label": entry.label,
        "summary": entry.summary,
        "settings": [
            _setting(name, field, declared)
            for name, (field, declared) in declarations(entry.Settings).items()
        ],
    }


def _setting(
    name: str, field: dataclasses.Field[Value], declared: Declaration
) -> dict[str, object]:
    low, high = declared.minimum, declared.maximum
    if declared.choices:
        allowed = ", ".join(declared.choices)
    elif isinstance(field.default, bool):
        allowed = "true, false"
    elif declared.pattern:
        allowed = "text"
    else:
        bounds = [
            f"{sign} {bound:g}" for sign, bound in (("≥", low), ("≤", high)) if bound is not None
        ]
        allowed = " and ".join(bounds) or "any number"
    return {
        "key": name,
        "default": field.default,
        "allowed": allowed,
        "minimum": low,
        "maximum": high,
        "choices": declared.choices,
        "label": declared.label,
        "help": declared.help,
        "unit": declared.unit,
    }


def _default(value: object) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
