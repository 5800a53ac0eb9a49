"""What was tried and what went wrong, as one row of the table in docs/reliability.md."""

from collections import Counter
from dataclasses import dataclass, field

FAULTS = ("tracebacks", "hangs", "silent changes", "losses", "leaks")


@dataclass
class Counted:
    """How often something was tried, and each kind of fault.

    tried : of each kind of thing, how many. faults : of each of :data:`FAULTS`, one line for each
    time it happened. said : what else is worth telling, such as the slowest.
    """

    what: str
    tried: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FAULTS})
    said: str = ""

    def fault(self, kind: str, line: str) -> None:
        """Note that something went wrong."""
        self.faults[kind].append(line)

    @property
    def row(self) -> str:
        """The row of the table: what, how many, and the number of each fault."""
        cells = [f"{self.tried.total():,} {self.what}", *(str(len(self.faults[k])) for k in FAULTS)]
        return f"| {' | '.join(cells)} |" + f" {self.said}" * bool(self.said)

    @property
    def first(self) -> list[str]:
        """The first lines of what went wrong, for an assertion's message."""
        return [f"{kind}: {line}" for kind, lines in self.faults.items() for line in lines[:3]]
