"""Every benchmark, one after the other; writes RESULTS.md: ``python -m benchmarks [--quick]``.

With ``--quick`` nothing is written: the smoke test prints its tables.
"""

import argparse
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks import (
    boolean,
    convergence,
    distances,
    gibbs,
    growth,
    harness,
    masses,
    pages,
    particles,
    stein,
)
from benchmarks.tables import as_markdown, as_text

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
BENCHMARKS = {
    "particles": particles,
    "convergence": convergence,
    "gibbs": gibbs,
    "distances": distances,
    "growth": growth,
    "stein": stein,
    "masses": masses,
    "boolean": boolean,
    "pages": pages,
}


def main() -> int:
    """Measure everything; a benchmark that fails says so in its place."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test: numbers mean little")
    quick = parser.parse_args().quick
    began, results, failed = time.perf_counter(), [], []
    for name, module in BENCHMARKS.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            result = module.measure(quick)
        except Exception as error:
            traceback.print_exc()
            failed.append(name)
            words = f"failed: {type(error).__name__}: {error}"
            result = {"title": name.capitalize(), "summary": [words], "tables": []}
        results.append(result)
        print(as_text(result), flush=True)
    if not quick:
        RESULTS.write_text(document(results, time.perf_counter() - began))
    return 1 if failed else 0


def document(results: list[dict[str, Any]], took: float) -> str:
    """RESULTS.md."""
    here = harness.machine()
    versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. “of target” is 100 % where a number is exactly what was asked "
        "for, more where it is better. Ratios are medians over pairs measured in turn, with the "
        "least and the largest pair.",
        "",
        f"- Machine: {here['system']}, {here['processor']}, {here['cores']} cores, "
        f"{here['memory']} of memory",
        f"- Versions: {versions}",
        f"- Duration of the whole: {took / 60:.0f} minutes",
        "",
        *[as_markdown(result) for result in results],
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
