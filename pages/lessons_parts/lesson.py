"""A lesson: one idea, one interactive picture, three steps, three questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Facts = Callable[[], Mapping[str, float | str]]
# Writes the sentence above a picture.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Question:
    """A question and its answer in a fold."""

    text: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    ``key`` is part of the address; ``idea`` is one sentence; ``paper`` is the source.
    ``steps`` are three texts and ``questions`` three questions with answers. ``show`` draws the
    picture of the step, 1 to 3, and writes one sentence about it before any
    slow drawing.
    ``page`` is where to try it on one's own data, and ``on_your_data`` how. Placeholders in
    texts, such as ``{angle:.0f}``, are computed by ``facts``.
    """

    key: str
    title: str
    idea: str
    paper: str
    steps: tuple[str, str, str]
    questions: tuple[Question, Question, Question]
    show: Callable[[int, Say], None]
    page: str
    on_your_data: str
    facts: Facts = field(default=dict)

    def filled(self, text: str) -> str:
        """A text with its placeholders filled."""
        return text.format_map(self.facts())
