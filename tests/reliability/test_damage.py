"""Stores whose disk has gone bad: what is shown is what was stored, or is said to be damaged."""

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bnmf_core.analysis import posterior
from bnmf_core.analysis.stages import STAGES
from bnmf_core.store import files, folders, integrity, manifest
from bnmf_core.store.lost import Brought
from tests.reliability import damage
from tests.reliability.counted import Counted
from tests.reliability.damage import SORTS, Refused, Whole, same

KINDS = ("flip", "cut", "gone", "zeros", "ones", "swapped", "junk", "empty", "shifted")
# Stages that take no long.
QUICK = ("structure", "islands", "mixing", "quality", "conclusions")
LONGEST = 300.0  # seconds
# One by one, these have no list that says what should be there.
UNLISTED = ("notes", "shares")


@pytest.fixture(scope="module", autouse=True)
def soon_given_up():
    """Chains within modes are given up soon, also where the test is a long one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "LONGEST", posterior.SHORTEST)
        yield


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return damage.made(tmp_path_factory.mktemp("quick") / "store", QUICK)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return damage.made(tmp_path_factory.mktemp("whole") / "store")


def damaged(path: Path, kind: str, others: Sequence[Path], rng: np.random.Generator) -> bool:
    """Do to a file what disks do; whether it is another one now."""
    before = path.read_bytes()
    content = bytearray(before)
    at = int(rng.integers(max(len(content), 1)))
    if kind == "gone":
        path.unlink()
        return True
    if kind == "flip" and content:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del content[at:]
    elif kind == "zeros":
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    elif kind == "ones":
        content[at : at + 512] = b"\xff" * len(content[at : at + 512])
    elif kind == "junk":
        content += rng.bytes(int(rng.integers(1, 600)))
    elif kind == "empty":
        content.clear()
    elif kind == "shifted":
        content[at:at] = rng.bytes(int(rng.integers(1, 16)))
    elif kind == "swapped":
        alike = [one for one in others if one.suffix == path.suffix and one != path]
        if alike:
            content[:] = alike[rng.integers(len(alike))].read_bytes()
    path.write_bytes(bytes(content))
    return bytes(content) != before


def sorts(whole: Whole) -> dict[str, list[Path]]:
    """The files of a store by their sort, each sort of result by its stage."""
    patterns = SORTS | {f"stage {key}": f"analyses/*/{key}-*/**/*" for key in whole.stages}
    found = {
        sort: sorted(path.relative_to(whole.root) for path in whole.root.glob(pattern))
        for sort, pattern in patterns.items()
    }
    kept = {sort: [p for p in paths if (whole.root / p).is_file()] for sort, paths in found.items()}
    assert [sort for sort, paths in kept.items() if not paths] in ([], ["stage tree"])
    return {sort: paths for sort, paths in kept.items() if paths}


def judge(counted: Counted, whole: Whole, where: str, hit: Path, now: dict[str, Any]) -> None:
    """Hold what is read of a store of which one file is damaged against what was stored."""
    concerned, part = hit.parts[0], hit.parts[1] if len(hit.parts) > 1 else ""
    for key, before in whole.held.items():
        found = now[key]
        if key == "said" or same(found, before):
            continue
        own = {
            "data": concerned == "datasets",
            "notes": concerned == "notes",
            "note on 1": concerned == "notes",
            "note on 2": concerned == "notes",
            "links": concerned == "shares",
            "studies": concerned == "ranks",
        }.get(key, f"run {part}" == key)
        if isinstance(found, Refused):
            if not own:
                counted.fault("losses", f"{where}: {key}: {found}")
        elif key.startswith("run "):
            judge_run(
                counted, f"{where}: {key}", own or concerned.startswith("index"), before, found
            )
        elif key in ("notes", "links"):
            less = len(found) < len(before) and all(
                any(same(one, other) for other in before) for one in found
            )
            if not less:
                counted.fault("silent changes", f"{where}: {key} {found}")
            elif not own:
                counted.fault("losses", f"{where}: {key}")
        elif key == "studies":
            changed = [k for k, one in found.items() if not same(one, before.get(k))]
            wrong = [k for k in changed if not isinstance(found[k], Refused)]
            if wrong:
                counted.fault("silent changes", f"{where}: studies {wrong}")
            elif not own:
                counted.fault("losses", f"{where}: {key}")
        elif not (own and concerned in UNLISTED and found == ""):
            counted.fault("silent changes", f"{where}: {key}: {str(found)[:200]}")


def judge_run(
    counted: Counted, where: str, own: bool, before: dict[str, Any], now: dict[str, Any]
) -> None:
    """Whatever is shown of a run is as it was; what is left out is said, and was hit itself."""
    there = np.isin(before["ids"], now["ids"])
    for name in ("A", "W", "log_joint", "error"):
        if not same(before[name][there], now[name]):
            counted.fault("silent changes", f"{where}: {name}")
    for name in ("spec", "diagnostics", "trace"):
        if there.all() and not same(before[name], now[name]) and not now["said"]:
            counted.fault("silent changes", f"{where}: {name}")
    if there.all():
        return
    if not now["said"]:
        counted.fault("silent changes", f"{where}: {there.sum()} of {there.size}, unsaid")
    if not own:
        counted.fault("losses", f"{where}: {there.sum()} of {there.size}")


def judge_computed(
    counted: Counted, whole: Whole, where: str, hit: Path, now: dict[str, Any]
) -> None:
    """Results are the same numbers again; where their runs or data are damaged it is said."""
    if "refused" in now:
        if hit.parts[0] not in ("runs", "datasets"):
            counted.fault("losses", f"{where}: computed: {now['refused']}")
        return
    for key, before in whole.computed.items():
        if not same(before, now.get(key)):
            counted.fault("silent changes", f"{where}: {key}: {str(now.get(key))[:300]}")


def tried(whole: Whole, folder: Path, count: int, seed: int) -> Counted:
    """Damage a file of so many stores, of every sort in turn, and look at all that they hold."""
    counted, slowest = Counted("damaged files"), 0.0
    rng, by_sort = np.random.default_rng(seed), sorts(whole)
    names = sorted(by_sort)
    for number in range(count):
        sort, kind = names[number % len(names)], KINDS[number % len(KINDS)]
        hit = by_sort[sort][rng.integers(len(by_sort[sort]))]
        copy = folder / f"copy{number}"
        shutil.copytree(whole.root, copy)
        changed = damaged(copy / hit, kind, [copy / one for one in by_sort[sort]], rng)
        where, began = f"{number} of seed {seed}: {hit} {kind}", time.monotonic()
        try:
            look(counted, whole, where, hit, copy)
        except Exception as error:
            counted.fault("tracebacks", f"{where}: {type(error).__name__}: {error}")
        slowest = max(slowest, time.monotonic() - began)
        if time.monotonic() - began > LONGEST:
            counted.fault("hangs", where)
        counted.tried[kind if changed else "unchanged"] += 1
        shutil.rmtree(copy)
    kinds = ", ".join(f"{kind} {many}" for kind, many in sorted(counted.tried.items()))
    counted.said = f"({kinds}; {len(names)} sorts of files; slowest {slowest:.0f} s)"
    return counted


def look(counted: Counted, whole: Whole, where: str, hit: Path, copy: Path) -> None:
    """Read, compute and resume what the damaged file may concern."""
    code, _ = damage.asked(copy, "runs")
    now = damage.read_all(copy, whole)
    judge(counted, whole, where, hit, now)
    runs = [one for key, one in now.items() if key.startswith("run ") or key == "data"]
    refused = any(
        isinstance(one, Refused) or (isinstance(one, dict) and one["said"]) for one in runs
    )
    broken = any(f"run {one}" in now and hit.parts[1:2] == (one,) for one in whole.broken_off)
    if code not in (0, 3) or (refused and code != 3 and not broken):
        counted.fault("silent changes", f"{where}: `bnmf runs` ended with {code}")
    if hit.parts[0] in ("analyses", "datasets", "index.sqlite", "index.sqlite-wal") or (
        hit.parts[0] == "runs" and hit.parts[1] in whole.compared
    ):
        same_members = all(
            not isinstance(one := now[f"run {run_id}"], Refused) and not one["said"]
            for run_id in whole.compared
        )
        if same_members:
            judge_computed(counted, whole, where, hit, damage.compute(copy, whole))
    if hit.parts[0] == "runs" and hit.parts[1] in whole.broken_off:
        for run_id, found in damage.resume(copy, whole).items():
            if isinstance(found, Refused) and hit.parts[1] != run_id:
                counted.fault("losses", f"{where}: {run_id} resumed: {found}")
            elif not isinstance(found, Refused) and not same(found, whole.resumed[run_id]):
                counted.fault("silent changes", f"{where}: {run_id} resumed")


@pytest.mark.slow
def test_a_damaged_file_of_every_sort_changes_nothing_in_silence(quick, tmp_path, promise):
    counted = tried(quick, tmp_path, 27, seed=1)
    assert not any(counted.faults.values()), counted.first
    promise(counted.row)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_five_hundred_damaged_files_change_nothing_in_silence(whole, tmp_path, promise):
    counted = tried(whole, tmp_path, 540, seed=2)
    assert not any(counted.faults.values()), counted.first
    assert min(counted.tried[kind] for kind in KINDS) >= 40
    assert set(STAGES) - {"tree"} <= {sort.removeprefix("stage ") for sort in sorts(whole)}
    promise(counted.row)


# A trial that could not see a fault would promise nothing.


def unsealed(text):
    value = json.loads(text)
    value.pop(integrity.SEAL, None)
    return value[integrity.VALUE] if value.keys() == {integrity.VALUE} else value


def no_manifest(patch):
    patch.setattr(manifest, "is_whole", lambda folder, what: (folder / manifest.DONE).exists())
    patch.setattr(integrity, "unsealed", unsealed)


def no_checksums_of_runs(patch):
    patch.setattr(folders, "_verified", lambda particles, meta: particles)


def a_traceback(patch):
    def raw(path):
        return json.loads(path.read_text())

    patch.setattr(files, "read_json", raw)


def a_loss(patch):
    patch.setattr(damage, "bring_back", lambda store: Brought((), 0, ()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, fault, sort, harm",
    [
        ("silent changes", no_manifest, "stage structure", "swapped"),
        ("silent changes", no_checksums_of_runs, "arrays", "swapped"),
        ("tracebacks", a_traceback, "particles", "cut"),
        ("losses", a_loss, "list", "empty"),
    ],
)
def test_a_planted_fault_is_counted(quick, tmp_path, monkeypatch, kind, fault, sort, harm):
    of_sort = sorts(quick)[sort]
    monkeypatch.setattr(sys.modules[__name__], "KINDS", (harm,))
    monkeypatch.setattr(sys.modules[__name__], "sorts", lambda whole: {sort: of_sort})
    for number, planted in enumerate((lambda patch: None, fault)):
        place = tmp_path / str(number)
        place.mkdir()
        planted(monkeypatch)
        counted = tried(quick, place, 6, seed=3)
        assert bool(counted.faults[kind]) == bool(number), counted.faults
