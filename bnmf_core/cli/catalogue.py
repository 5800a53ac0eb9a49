"""``samples``: what can be run, on what, and how it can be set."""

import argparse
import dataclasses
from typing import Any

from bnmf_core.cli.output import Output
from bnmf_core.data.samples import SAMPLES
from bnmf_core.data.synthetic import GENERATORS
from bnmf_core.nouns.settings import Declaration, declarations
from bnmf_core.probability import MODELS
from bnmf_core.registry import ALGORITHMS


def add_commands(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add ``samples``."""
    words = "list samples, generators, algorithms and models with their settings"
    command = commands.add_parser("samples", parents=parents, help=words, description=words)
    command.set_defaults(act=samples)


def samples(options: argparse.Namespace, output: Output) -> None:
    """Print what there is."""
    document = {
        "samples": [
            {"key": s.key, "label": s.label, "summary": s.summary, "rank": s.suggested_rank}
            for s in SAMPLES.values()
        ],
        "generators": [_described(entry) for entry in GENERATORS.values()],
        "algorithms": [
            _described(entry) | {"family": entry.family, "reference": entry.reference,
                                 "models": [m.key for m in MODELS.values() if entry.works_with(m)]}
            for entry in ALGORITHMS.values()
        ],
        "models": [_described(entry) for entry in MODELS.values()],
    }  # fmt: skip

    def show() -> None:
        output.table(
            ["sample", "rank", "what it is"],
            [(s["key"], s["rank"], s["summary"]) for s in document["samples"]],
        )
        for kind, option in (
            ("generators", "--data-set"), ("algorithms", "--set"), ("models", "--model-set"),
        ):  # fmt: skip
            for entry in document[kind]:
                title = f"{kind[:-1]} {entry['key']}: {entry['summary']}"
                rows = [
                    (s["key"], _default(s["default"]), s["allowed"], s["label"])
                    for s in entry["settings"]
                ]
                if rows:
                    output.table([f"{option} …", "default", "allowed", "what it is"], rows, title)
                else:
                    output.say(title)

    output.result(document, show)


def _described(entry: Any) -> dict[str, Any]:
    return {
        "key": entry.key,
        "label": entry.label,
        "summary": entry.summary,
        "settings": [
            _setting(name, field, declared)
            for name, (field, declared) in declarations(entry.Settings).items()
        ],
    }


def _setting(name: str, field: dataclasses.Field, declared: Declaration) -> dict[str, Any]:
    low, high = declared.minimum, declared.maximum
    if declared.choices:
        allowed = ", ".join(declared.choices)
    elif isinstance(field.default, bool):
        allowed = "true, false"
    elif declared.pattern:
        allowed = "text"
    else:
        bounds = [f"{sign} {bound:g}" for sign, bound in (("≥", low), ("≤", high))
                  if bound is not None]  # fmt: skip
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


def _default(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
