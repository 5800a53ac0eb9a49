"""Equal analyses of public data are computed once for all owners, and nobody can tell of others."""

import dataclasses
import shutil
from contextlib import ExitStack, closing

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis.stages import STAGES
from bnmf_core.core.limits import Limits
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.runs.executors import Executors
from bnmf_core.store import manifest

pytestmark = pytest.mark.slow

PUBLIC = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
OWN = dataclasses.replace(PUBLIC, source="The file two.csv.")
SPEC = RunSpec("random_restarts", rank=3, particles=8)
WANTED = ("structure", "quality", "stein", "mixing")


@pytest.fixture
def computed(monkeypatch):
    """Which stages were computed, by the folder of the store."""
    found: list[tuple[str, str]] = []

    def noting(key, compute):
        def noted(comparison, folder, *rest, **further):
            found.append((comparison.root.name, key))
            compute(comparison, folder, *rest, **further)

        return noted

    for key, stage in STAGES.items():
        changed = dataclasses.replace(stage, compute=noting(key, stage.compute))
        monkeypatch.setitem(STAGES, key, changed)
    return found


@pytest.fixture
def owners(tmp_path):
    """Makes runners of owners on one server."""
    with ExitStack() as stack:
        scheduler = stack.enter_context(closing(Scheduler(Limits())))
        steps = stack.enter_context(closing(Executors(workers=1)))

        def owner(name: str) -> JobRunner:
            store = RunStore(tmp_path / name)
            return stack.enter_context(closing(JobRunner(store, scheduler, steps)))

        owner.scheduler = scheduler
        yield owner


def analysed(runner, data, spec=SPEC):
    run_ids = runner.start(data, [spec])
    return runner.wait_analysis(run_ids, *WANTED)


def made_by(computed, name):
    return {key for owner, key in computed if owner == name}


def test_equal_analyses_are_computed_once_and_say_the_same(owners, computed):
    one, other = owners("one"), owners("other")
    first, second = analysed(one, PUBLIC), analysed(other, PUBLIC)
    assert first.content == second.content and first.run_ids != second.run_ids
    # Results that name the runs are their owners' own.
    assert made_by(computed, "one") >= {*WANTED}
    assert {*WANTED} & made_by(computed, "other") == {"mixing"}
    for key in WANTED:
        ours, theirs = (STAGES[key].folder(found) for found in (first, second))
        names = sorted(path.name for path in ours.iterdir())
        assert names == sorted(path.name for path in theirs.iterdir())
    distances = STAGES["structure"].of(second).linkage("max_angle")
    np.testing.assert_array_equal(STAGES["structure"].of(first).linkage("max_angle"), distances)
    assert STAGES["quality"].of(second).comparison.run_ids == second.run_ids


def test_other_data_settings_or_diagnostics_are_not_equal(owners):
    one, other = owners("one"), owners("other")
    first = analysed(one, PUBLIC)
    second = analysed(other, PUBLIC, dataclasses.replace(SPEC, seed=1))
    assert first.content != second.content
    # Whoever opens an archive decides what it says of the same factorizations.
    (particles,) = first.particles
    forged = dataclasses.replace(particles, log_joint=particles.log_joint + 1.0)
    assert forged.digest == particles.digest and forged.fingerprint != particles.fingerprint
    slower = dataclasses.replace(particles, seconds=particles.seconds + 1.0)
    assert slower.fingerprint == particles.fingerprint


def test_of_data_that_people_bring_everybody_has_an_analysis_of_their_own(owners, computed):
    one, other = owners("one"), owners("other")
    analysed(one, OWN)
    analysed(other, OWN)
    assert made_by(computed, "other") >= {*WANTED}
    assert not owners.scheduler.results


def test_a_server_may_share_all_equal_analyses(owners, computed):
    owners.scheduler.limits = Limits(share_results=True)
    analysed(owners("one"), OWN)
    analysed(owners("other"), OWN)
    assert {*WANTED} & made_by(computed, "other") == {"mixing"}


def test_what_was_deleted_or_damaged_is_computed_again(owners, computed):
    one, other = owners("one"), owners("other")
    first, second = analysed(one, PUBLIC), analysed(other, PUBLIC)
    one.close()  # their later stages would compute it again
    other.close()
    ours = STAGES["distances"].folder(first)
    before = np.array(STAGES["structure"].of(first).linkage("max_angle"))
    damaged = next(ours.glob("*.npy"))
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)  # in place, as a disk does: it is the other's file, too
    for found in (first, second):
        assert not manifest.is_whole(STAGES["distances"].folder(found), "distances")
    computed.clear()
    third = analysed(owners("third"), PUBLIC)
    assert "distances" in {key for _, key in computed}
    assert STAGES["distances"].ready(third)
    np.testing.assert_array_equal(STAGES["structure"].of(third).linkage("max_angle"), before)


def test_one_owner_who_deletes_takes_nothing_from_another(owners):
    one, other = owners("one"), owners("other")
    first = analysed(one, PUBLIC)
    second = analysed(other, PUBLIC)
    one.close()
    shutil.rmtree(first.root)
    assert all(STAGES[key].ready(second) for key in WANTED)
    assert STAGES["quality"].of(second) is not None
