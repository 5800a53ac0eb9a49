"""Each promise is told in one line, with what was counted; all of them stand at the end."""

from collections.abc import Callable

import pytest

PROMISE = "promise"


@pytest.fixture
def promise(record_property) -> Callable[[str], None]:
    """Tell what was counted."""
    return lambda line: record_property(PROMISE, line)


def pytest_terminal_summary(terminalreporter):
    told = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == PROMISE and getattr(report, "when", "") == "call"
    ]
    if told:
        terminalreporter.section("what was promised, and counted")
        for line in told:
            terminalreporter.line(line)
