"""Single files: written whole, read whole, or refused."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from bnmf_core.core.errors import DamagedError, StoreError
from bnmf_core.store import files


def damaged(content, trial, within, rng):
    """Every second one is cut off; the others have another byte among the first so many."""
    changed = bytearray(content)
    if trial % 2:
        return changed[: rng.integers(len(changed))]
    changed[rng.integers(within)] = rng.integers(256)
    return changed


def test_damaged_files_are_never_anything_but_a_store_error(tmp_path):
    path = tmp_path / "some.npz"
    whole = {"A": np.arange(6.0).reshape(2, 3), "meta": np.array("{}")}
    files.write_arrays(path, whole)
    content, rng = path.read_bytes(), np.random.default_rng(1)
    for trial in range(400):
        path.write_bytes(damaged(content, trial, len(content), rng))
        try:
            found = files.read_arrays(path)
        except StoreError as error:
            assert "some.npz cannot be read" in str(error)
        else:  # a byte that does not matter, or a changed name of an array
            for name in set(found) & set(whole):
                np.testing.assert_array_equal(found[name], whole[name])


def test_a_damaged_array_or_json_is_a_store_error(tmp_path):
    path = tmp_path / "some.npy"
    files.write_array(path, np.arange(60.0).reshape(20, 3))
    content, rng = path.read_bytes(), np.random.default_rng(2)
    for trial in range(300):
        path.write_bytes(damaged(content, trial, 128, rng))
        try:
            files.read_array(path)
        except StoreError as error:
            assert "some.npy cannot be read" in str(error)
    (tmp_path / "some.json").write_bytes(b'{"a": \xff')
    with pytest.raises(StoreError, match=r"some\.json cannot be read"):
        files.read_json(tmp_path / "some.json")
    for read in (files.read_arrays, files.read_array, files.read_json):
        with pytest.raises(StoreError, match="nowhere cannot be read"):
            read(tmp_path / "nowhere")


def test_a_file_is_whole_though_python_failed_to_parse_its_header(tmp_path, monkeypatch):
    """As Python 3.11 does while another thread parses code."""
    files.write_array(tmp_path / "one.npy", np.arange(3.0))
    files.write_arrays(tmp_path / "two.npz", {"a": np.arange(4.0)})
    load, calls = np.load, []

    def sometimes(*given, **named):
        calls.append(given)
        if len(calls) % 3:
            raise SystemError("AST constructor recursion depth mismatch (before=183, after=66)")
        return load(*given, **named)

    monkeypatch.setattr(np, "load", sometimes)
    np.testing.assert_array_equal(files.read_array(tmp_path / "one.npy"), np.arange(3.0))
    np.testing.assert_array_equal(files.read_arrays(tmp_path / "two.npz")["a"], np.arange(4.0))
    monkeypatch.setattr(files, "TRIES", 2)
    with pytest.raises(DamagedError, match="recursion depth"):
        files.read_array(tmp_path / "one.npy")


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "some.json"
    files.write_json(path, 1)

    def broken(file):
        file.write(b"half of")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        files.write(path, broken)
    assert files.read_json(path) == 1


def test_what_killed_writers_left_is_swept_and_what_is_being_written_is_not(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    old = time.time() - 2 * files.SILENT
    left = {
        "a.npz.{}-7.part": (dead.pid, old, True),
        "fresh.npz.{}-7.part": (dead.pid, time.time(), False),  # of another machine, perhaps
        "alive.npz.{}-7.part": (os.getppid(), old, False),
        "again.npz.{}-7.part": (os.getpid(), old, True),  # a number that was another's before
        "foreign.part": ("", old, False),
    }
    (tmp_path / "runs").mkdir()
    for name, (number, when, _) in left.items():
        path = tmp_path / "runs" / name.format(number)
        path.write_bytes(b"half")
        os.utime(path, (when, when))
    assert files.sweep(tmp_path) == 2
    for name, (number, _, removed) in left.items():
        assert (tmp_path / "runs" / name.format(number)).exists() != removed, name
    assert files.sweep(tmp_path / "nowhere") == 0


@pytest.mark.parametrize("value", [{"a": [1.5, None], "3": "x"}, [1, {"b": 2}], 7, "seal", None])
def test_json_with_any_flipped_bit_is_what_was_written_or_refused(tmp_path, value):
    path = tmp_path / "some.json"
    files.write_json(path, value)
    whole = path.read_bytes()
    assert files.read_json(path) == value
    for at in range(len(whole)):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << bit
            path.write_bytes(flipped)
            try:
                read = files.read_json(path)
            except DamagedError:
                continue
            if isinstance(read, dict) and not isinstance(value, dict):
                read = read.get("sealed value")  # the name of the checksum was hit
            if isinstance(value, dict):
                read = {key: read[key] for key in value}
            assert read == value, flipped
