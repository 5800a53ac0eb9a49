"""What archives of strangers have brought in breaks no page."""

import numpy as np
import pytest

from bnmf_core.core.errors import BNMFError
from bnmf_core.share.opening import open_archive
from tests.pages.apps import EXPLORE, page
from tests.pages.conftest import server  # noqa: F401
from tests.reliability.altered import Altered
from tests.reliability.archives import KINDS
from tests.reliability.counted import Counted
from tests.reliability.test_archives import whole  # noqa: F401

STAGES = ("structure", "islands", "chains", "mixing")
ALTERED = ("numbers", "of_a_run", "of_a_run_twice", "shapes", "listed", "of_the_data", "of_a_note")


def seen(runner, files, folder, count: int, seed: int) -> Counted:
    """Open so many archives, and pages of what was taken: all of them for one in ten."""
    rng, counted = np.random.default_rng(seed), Counted("pages of hostile archives")
    for number in range(count):
        kind = ALTERED[number % len(ALTERED)]
        path = folder / f"{number}.zip"
        path.write_bytes(KINDS[kind](Altered(files, rng)))
        try:
            run_ids = open_archive(runner.store, path).run_ids[:1]
        except BNMFError:
            continue
        runner.wait_analysis(run_ids, *STAGES)
        for name in ("runs", "data", *(EXPLORE if number % 10 == 0 else ("overview",))):
            counted.tried[name] += 1
            if found := page(name, runs=",".join(run_ids)).exception:
                counted.fault("tracebacks", f"{kind} {number}, {name}: {found[0].message}"[:600])
    return counted


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(10, marks=pytest.mark.slow),
        pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
    ],
)
def test_pages_show_what_was_taken(server, whole, tmp_path_factory, promise, count):  # noqa: F811
    counted = seen(server, whole[0], tmp_path_factory.mktemp("altered"), count, seed=4)
    assert not any(counted.faults.values()), counted.first
    promise(counted.row)


@pytest.mark.slow
def test_a_planted_break_is_counted(server, whole, tmp_path, monkeypatch):  # noqa: F811
    def broken(*arguments):
        raise KeyError("planted")

    monkeypatch.setattr("pages.runs_parts.opening.show", broken)
    counted = seen(server, whole[0], tmp_path, 1, seed=4)
    assert [name for name, lines in counted.faults.items() if lines] == ["tracebacks"]
