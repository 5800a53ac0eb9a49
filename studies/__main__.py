"""The studies on the command line: ``python -m studies boolean|coverage|… --help``."""

import sys
from importlib import import_module

from bnmf_core.core.errors import BNMFError

STUDIES = (
    "coverage",
    "stein",
    "rrt",
    "transfer",
    "boolean",
    "topics",
    "counts",
    "atlas",
    "practice",
)


def main(arguments: list[str]) -> int:
    """Make the study named by the first argument, with the options after it."""
    if not arguments or arguments[0] not in STUDIES:
        print(f"usage: python -m studies {{{','.join(STUDIES)}}} [--help]", file=sys.stderr)
        return 2
    report = import_module(f"studies.{arguments[0]}.report").REPORT
    try:
        return report.main(arguments[1:])
    except BNMFError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
