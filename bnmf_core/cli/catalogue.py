"""``samples``: what can be run, on what, and how it can be set."""

import argparse
import dataclasses
from typing import Protocol, Required, TypedDict

from bnmf_core.cli.output import Commands, Output
from bnmf_core.core.algorithm import AnyAlgorithm
from bnmf_core.core.plain import Value
from bnmf_core.core.settings import Declaration, declarations
from bnmf_core.data.samples import SAMPLES
from bnmf_core.data.synthetic import GENERATORS
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS


class Entry(Protocol):
    """What algorithms, models and generators have in common."""

    @property
    def key(self) -> str:
        """It is called so on the command line."""

    @property
    def label(self) -> str:
        """It is called so on screen."""

    @property
    def summary(self) -> str:
        """One sentence."""

    @property
    def Settings(self) -> type:
        """A dataclass of declared settings."""


class SettingRow(TypedDict):
    """A setting as plain values; ``allowed`` in words."""

    key: str
    default: object
    allowed: str
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    label: str
    help: str
    unit: str


class Described(TypedDict, total=False):
    """An entry as plain values; the last three are an algorithm's."""

    key: Required[str]
    label: Required[str]
    summary: Required[str]
    settings: Required[list[SettingRow]]
    family: str
    reference: str
    models: list[str]


def add_commands(commands: Commands, parents: list[argparse.ArgumentParser]) -> None:
    """Add ``samples``."""
    words = "list samples, generators, algorithms and models with their settings"
    command = commands.add_parser("samples", parents=parents, help=words, description=words)
    command.set_defaults(act=samples)


def samples(options: argparse.Namespace, output: Output) -> None:
    """Print what there is."""
    known = {
        "generators": [_described(entry) for entry in GENERATORS.values()],
        "algorithms": [_described_algorithm(entry) for entry in ALGORITHMS.values()],
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


def _described(entry: Entry) -> Described:
    return {
        "key": entry.key,
        "label": entry.label,
        "summary": entry.summary,
        "settings": [
            _setting(name, field, declared)
            for name, (field, declared) in declarations(entry.Settings).items()
        ],
    }


def _described_algorithm(entry: AnyAlgorithm) -> Described:
    told = _described(entry)
    told["family"] = entry.family
    told["reference"] = entry.reference
    told["models"] = [model.key for model in MODELS.values() if entry.works_with(model)]
    return told


def _setting(name: str, field: dataclasses.Field[Value], declared: Declaration) -> SettingRow:
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
