"""Sentences made from numbers: each study keeps its templates in a ``words.toml``."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from studies.result import StudyResult

T = TypeVar("T")


@cache
def words(study: str, file: str = "words") -> dict[str, Any]:
    """The sentences of a study in ``words.toml``, or its plan in ``plan.toml``."""
    path = Path(__file__).resolve().parent / study / f"{file}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def declared(kind: Callable[..., T], entries: Mapping[str, Mapping[str, Any]]) -> dict[str, T]:
    """Entries of a table by key; each entry also has its key."""
    return {key: kind(key=key, **constant(entry)) for key, entry in entries.items()}


def constant(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry whose lists are tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in entry.items()}


@dataclass(frozen=True)
class Finding:
    """A sentence about a study: a template, and the function that fills it.

    Attributes
    ----------
    template : its key. measure : ``(study, *about) → numbers by their names in the template``, one
        mapping for each sentence, none without measurements.
    about : further arguments of ``measure``, such as a noise or a model.
    """

    template: str
    measure: Callable[..., Iterable[Mapping[str, Any]]]
    about: tuple[Any, ...] = ()


def sentences(
    study: StudyResult, findings: Iterable[Finding], templates: Mapping[str, str]
) -> list[str]:
    """Every finding in words, in their order."""
    return [
        templates[finding.template].format_map(numbers)
        for finding in findings
        for numbers in finding.measure(study, *finding.about)
    ]


def in_parts(
    joint: str, **beside: Callable[[StudyResult], str]
) -> Callable[[Callable[..., Iterable[str]]], Callable[..., Iterator[dict[str, str]]]]:
    """Let a function that yields parts of one sentence fill its template's ``parts``, if any.

    beside : further names in the template, each made from the study.
    """

    def decorate(function: Callable[..., Iterable[str]]) -> Callable[..., Iterator[dict[str, str]]]:
        def measure(study: StudyResult, *about: Any) -> Iterator[dict[str, str]]:
            parts = joint.join(function(study, *about))
            if parts:
                yield {"parts": parts} | {name: make(study) for name, make in beside.items()}

        return measure

    return decorate


def of(part: int, whole: int) -> str:
    """A count of something in all there are: "2 of 3", "none of 3"."""
    return f"{part if part else 'none'} of {whole}"


def listed(names: Iterable[str]) -> str:
    """Names in brackets behind a space; nothing where there are none."""
    joined = ", ".join(names)
    return f" ({joined})" if joined else ""


def clause(template: str, value: str) -> str:
    """A filled template, or "" for an empty value."""
    return template.format(value) if value else ""


def titled(entry: tuple[str, str] | list[str]) -> str:
    """A quantity's title and, in brackets, where the paper shows it."""
    title, where = entry
    return f"{title} ({where})" if where else title
