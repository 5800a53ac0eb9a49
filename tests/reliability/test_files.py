"""Files that are damaged or made to harm: each is read as it is, or refused in a sentence."""

import re
import shutil
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, DataError
from bnmf_core.core.limits import Limits
from bnmf_core.data import isolation
from bnmf_core.data.formats import FORMATS
from bnmf_core.data.isolation import ReaderProcess
from bnmf_core.data.load import dataset_of, inspect_file, load_file
from tests.reliability.brought import REFUSED, SAID, WHOLE, harmed, otherwise
from tests.reliability.counted import Counted
from tests.reliability.readers import READERS, held

LIMITS = Limits(reading_seconds=10.0)
# Seconds beyond its limit in which a file has to be given up.
GRACE = 5.0
# Of ten files, so many are only packed or written otherwise, and so many called what they are not.
SAME, CALLED_OTHERWISE = 0.1, 0.1


def tried(count: int, seed: int) -> Counted:
    """Read so many files, and count what goes wrong."""
    rng, counted = np.random.default_rng(seed), Counted(f"files of {len(WHOLE)} kinds")
    names, taken, compared, slowest = list(WHOLE), 0, 0, 0.0
    folder = Path(tempfile.mkdtemp(prefix="tried-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        for number in range(count):
            kind = names[number % len(names)]
            content, expected = WHOLE[kind]
            counted.tried[kind] += 1
            line = f"file {number} of seed {seed}, {kind}"
            began = time.perf_counter()
            if rng.random() < SAME:
                found = read(otherwise(kind, content, rng), kind, line, counted, whole=True)
            else:
                content = harmed(content, rng)
                called = (
                    names[rng.integers(len(names))] if rng.random() < CALLED_OTHERWISE else kind
                )
                found = read(content, called, line, counted)
                expected = None if found is None else other(content, kind, found)
            slowest = max(slowest, time.perf_counter() - began)
            taken += found is not None
            compared += found is not None and expected is not None
            if found and expected is not None and not same(seen(found[0]), expected):
                counted.fault("silent changes", f"{line}, read as {found[1].what}")
    counted.faults["leaks"] += [*map(str, folder.iterdir()), *children_of_server()]
    shutil.rmtree(folder)
    counted.said = (
        f"{taken:,} were read, {compared:,} of them compared with what they hold; the slowest took "
        f"{slowest:.1f} s"
    )
    return counted


def read(content, name, line, counted, whole=False):
    """The dataset and its reading; None when it is refused."""
    began = time.perf_counter()
    reader = ReaderProcess(content, name, "both", limits=LIMITS)
    try:
        with reader, warnings.catch_warnings():
            warnings.simplefilter("error")  # what warns has taken something on trust
            return dataset_of(reader.parts(), name, reader.reading()), reader.reading()
    except BNMFError as error:
        if whole:
            counted.fault("losses", f"{line}, which is whole: {error}")
        elif not 10 < len(str(error)) < 4000:
            counted.fault("tracebacks", f"{line} says {str(error)[:90]!r}")
    except Exception as error:
        counted.fault("tracebacks", f"{line}: {error!r}")
    finally:
        if (took := time.perf_counter() - began) > reader.seconds + GRACE:
            counted.fault("hangs", f"{line} took {took:.0f} s")
    return None


def other(content, kind, found):
    """What another reader reads; None where it cannot, or something new was doubted aloud."""
    if doubts_of(found[1]) - doubts_of_whole(kind):
        return None
    try:
        return held(content, found[1])
    except Exception:  # it knows well-formed files only
        return None


def doubts_of(reading):
    """What is doubted, whatever the numbers in the sentences."""
    return {re.sub(r"\d+", "0", doubt) for doubt in reading.doubts}


@cache
def doubts_of_whole(kind):
    return doubts_of(inspect_file(WHOLE[kind][0], filename=kind))


def seen(data: Dataset) -> np.ndarray:
    """X, NaN where nothing was seen."""
    return data.dense() if data.mask is None else np.where(data.mask, data.dense(), np.nan)


def same(one: np.ndarray, another: np.ndarray) -> bool:
    return np.array_equal(one, another, equal_nan=True)


def children_of_server() -> list[str]:
    """Processes that read files and have not ended some seconds later."""
    server = isolation.SERVER._process
    listed = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    for _ in range(50):
        if not (found := listed.read_text().split()):
            break
        time.sleep(0.1)
    return [f"process {one}" for one in found]


@pytest.mark.parametrize("kind", WHOLE)
def test_every_kind_is_read_as_what_it_holds(kind):
    content, matrix = WHOLE[kind]
    reading = inspect_file(content, filename=kind)
    data = load_file(content, filename=kind, reading=reading)
    np.testing.assert_array_equal(seen(data), matrix)
    assert SAID.get(kind, "") in " ".join(reading.doubts)
    np.testing.assert_array_equal(held(content, reading), matrix)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_as_one_quantity_is_refused(kind):
    content, words = REFUSED[kind]
    with pytest.raises(DataError, match=words):
        load_file(content, filename=kind)


def test_every_format_is_among_them_and_has_another_reader():
    formats = {inspect_file(content, filename=kind).format for kind, (content, _) in WHOLE.items()}
    assert formats == {*READERS} == {*FORMATS}


@pytest.mark.slow
def test_hostile_files(promise):
    counted = tried(8 * len(WHOLE), seed=1)
    assert not any(counted.faults.values()), counted.first
    promise(counted.row)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_hostile_files(promise):
    counted = tried(10_000, seed=2)
    assert not any(counted.faults.values()), counted.first
    assert min(counted.tried.values()) >= 40
    promise(counted.row)


def planted(monkeypatch, name, change):
    """The faults that a short trial counts while a method of the readers does something else."""
    right = getattr(ReaderProcess, name)
    with monkeypatch.context() as patch:
        patch.setattr(ReaderProcess, name, lambda self: change(right, self))
        counted = tried(len(WHOLE), seed=3)
    return {kind for kind, lines in counted.faults.items() if lines}


def test_a_trial_sees_what_is_not_told_in_a_sentence(monkeypatch):
    def fail(right, self):
        raise KeyError(right(self)["X"].shape)

    assert planted(monkeypatch, "parts", fail) == {"tracebacks"}


def test_a_trial_sees_numbers_that_are_a_little_other(monkeypatch):
    def changed(right, self):
        parts = right(self)
        return parts | {"X": parts["X"] * (1 + 1e-15)}

    assert planted(monkeypatch, "parts", changed) == {"silent changes"}


def test_a_trial_sees_whole_files_that_are_refused(monkeypatch):
    def refuse(right, self):
        right(self)
        raise DataError("This file is not to be read.")

    assert planted(monkeypatch, "parts", refuse) == {"losses"}


def test_a_trial_sees_files_that_take_longer_than_they_may(monkeypatch):
    def slow(right, self):
        found = right(self)
        self.seconds = -GRACE
        return found

    assert planted(monkeypatch, "parts", slow) == {"hangs"}


def test_a_trial_sees_folders_and_processes_that_stay(monkeypatch):
    kept = []
    found = planted(monkeypatch, "stop", lambda right, self: kept.append((right, self)))
    for right, reader in kept:
        right(reader)
    assert found == {"leaks"} and kept
