"""What a lesson is: one idea, one picture to touch, three steps, three questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Facts = Callable[[], Mapping[str, float | str]]
# Writes the one sentence that says what a picture shows above it.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Question:
    """A question and its answer, which unfolds."""

    asked: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    ``key`` stands in the address; ``idea`` is one sentence; ``paper`` says where it comes from.
    ``steps`` are three texts and ``questions`` three questions with answers. ``show`` draws the
    picture as the step, 1 to 3, has it, and says in one sentence what it shows now, before what
    takes long to draw.
    ``page`` is where to try it on one's own data, and ``on_your_data`` how. What texts name in
    braces, as in ``{angle:.0f}``, is computed by ``facts``.
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

    def said(self, text: str) -> str:
        """One of its texts, with the numbers that it names."""
        return text.format_map(self.facts())
