"""Memory that is free goes back to the system."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from bnmf_core.numerics import memory

STATUS = Path("/proc/self/status")


def resident(kind="VmRSS:"):
    return int(STATUS.read_text().split(kind)[1].split()[0]) / 1e3


def test_what_was_held_is_given_back():
    if memory._trim() is None or not STATUS.is_file():
        pytest.skip("the C library of this system gives memory back by itself")
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [library.malloc(60_000) for _ in range(2_000)]
    for block in blocks:
        ctypes.memset(block, 1, 60_000)
    *others, last = blocks  # one that stays keeps the C library from giving back by itself
    for block in others:
        library.free(block)
    held = resident()
    memory.give_back()
    assert resident() < held - 80
    library.free(last)
    memory.give_back()  # with nothing left to give


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(memory, "_trim", lambda: None)
    memory.give_back()


def test_what_is_mapped_is_let_go_and_read_again(tmp_path):
    if not STATUS.is_file():
        pytest.skip("this system does not tell what of a file is in memory")
    content = np.arange(4_000_000.0).reshape(2000, 2000)
    np.save(tmp_path / "large.npy", content)
    mapped = np.load(tmp_path / "large.npy", mmap_mode="r")
    before = resident("RssFile:")
    assert mapped.sum() == content.sum()
    read = resident("RssFile:")
    memory.let_go([np.asarray(mapped)[1:], content])
    assert read - before > 25 and resident("RssFile:") - before < 5
    np.testing.assert_array_equal(mapped, content)
