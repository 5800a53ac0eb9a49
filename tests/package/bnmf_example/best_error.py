"""A finding: the least relative error of all factorizations that are compared."""

from collections.abc import Iterator

from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import fact
from bnmf_core.findings.sources import Found, Source


def _find(answer: Answer) -> Iterator[Found]:
    least = float(answer.comparison.members["error"].min())
    yield "quality", [fact("bnmf_example:best_error", least=least)]


FINDING = Source("best_error", "the least error", _find)
