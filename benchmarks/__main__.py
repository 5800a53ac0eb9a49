"""Benchmarks, one after the other; writes RESULTS.md: ``python -m benchmarks [NAME …] [--quick]``.

Without names all of them; with names, sections of the others stay as they are. With ``--quick``
nothing is written: the smoke test prints its tables. Nor is what was measured while other programs
kept the machine busy, unless ``--busy`` says that it may.
"""

import argparse
import re
import sys
import traceback
from datetime import date
from pathlib import Path

from benchmarks import (
    boolean,
    chains,
    convergence,
    counts,
    distances,
    gibbs,
    growth,
    harness,
    journeys,
    masses,
    overdispersion,
    pages,
    particles,
    residual,
    scale,
    scale_poisson,
    scale_wide,
    state,
    stein,
    workers,
)
from benchmarks.tables import as_markdown, as_text

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
BENCHMARKS = {
    "particles": particles,
    "residual": residual,
    "convergence": convergence,
    "counts": counts,
    "gibbs": gibbs,
    "chains": chains,
    "distances": distances,
    "growth": growth,
    "scale": scale,
    "scale_poisson": scale_poisson,
    "scale_wide": scale_wide,
    "stein": stein,
    "masses": masses,
    "overdispersion": overdispersion,
    "boolean": boolean,
    "pages": pages,
    "journeys": journeys,
    "workers": workers,
}
BUSY = (
    f"{{name}} is not written: other programs used more than {state.FREE:.0%} of the cores. End "
    "them and measure again, or keep it nevertheless with --busy."
)


def main() -> int:
    """Run the named benchmarks; a failed one has its error in its section."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="a smoke test: numbers mean little")
    parser.add_argument("--busy", action="store_true", help="write also on a busy machine")
    options = parser.parse_args()
    if unknown := set(options.names) - BENCHMARKS.keys():
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    failed = False
    for name in options.names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        before = state.now()
        try:
            result = BENCHMARKS[name].measure(options.quick)
        except Exception as error:
            traceback.print_exc()
            failed = True
            words = f"failed: {type(error).__name__}: {error}"
            result = {"title": name.capitalize(), "summary": [words], "tables": []}
        after = state.now()
        result["summary"].append(f"Measured on {date.today()}. {state.describe(before, after)}")
        print(as_text(result), flush=True)
        if options.quick:
            continue
        if (before.busy or after.busy) and not options.busy:
            print(BUSY.format(name=name), file=sys.stderr)
            failed = True
            continue
        earlier = sections(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(document(earlier | {name: as_markdown(result)}))
    return 1 if failed else 0


def sections(text: str) -> dict[str, str]:
    """The sections of RESULTS.md by the names of their benchmarks.

    >>> sections(document({"gibbs": "## Gibbs"}))
    {'gibbs': '## Gibbs'}
    """
    _, *parts = re.split(r"^<!-- (\w+) -->$", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))


def document(texts: dict[str, str]) -> str:
    """RESULTS.md, from sections by the names of their benchmarks."""
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
        "",
    ]
    for name in BENCHMARKS:
        if name in texts:
            lines += [f"<!-- {name} -->", "", texts[name].strip(), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
