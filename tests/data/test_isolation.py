"""Files parsed in a process of their own: the same result, and limits that hold."""

import time

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.data import isolation
from bnmf_core.data.isolation import ReaderProcess, Server
from bnmf_core.data.load import LIMIT_BYTES, inspect_file, load_file
from tests.data.layout import csv, frame, saved, with_column

TABLE = csv(with_column(frame(), 0, "group", ["x", "y", "x", ""]), index=False)
SPARSE = saved(sparse.save_npz, sparse.csc_array(np.eye(4)))


@pytest.mark.parametrize("content", [TABLE, SPARSE, saved(np.save, np.ones((3, 4)))])
def test_a_reader_process_reads_what_its_parent_would(content):
    reading = inspect_file(content, apart=True)
    assert reading == inspect_file(content)
    data = load_file(content, reading=reading, apart=True)
    assert data.hash == load_file(content, reading=reading).hash


def test_what_is_wrong_with_a_file_comes_back_as_its_sentence():
    with pytest.raises(DataError, match="damaged NPY header"):
        inspect_file(b"\x93NUMPY", apart=True)


@pytest.mark.slow
def test_a_reader_process_that_takes_too_much_memory_or_time_is_ended():
    content = b"a,b\n" + b"1,2\n" * 500_000
    with ReaderProcess(content, "", LIMIT_BYTES, chosen={}, memory_bytes=30 * 2**20) as reader:
        message = told(reader)
    assert "needs more than 0.0293 GB of memory" in message
    began = time.monotonic()
    with ReaderProcess(content, "", LIMIT_BYTES, chosen={}, seconds=0.2) as reader:
        message = told(reader)
    assert "took longer than 0 s" in message
    assert time.monotonic() - began < 20


def test_a_reader_process_that_dies_or_is_stopped_is_one_sentence(monkeypatch):
    with ReaderProcess(TABLE, "", LIMIT_BYTES, chosen={}) as reader:
        reader._wish.close()
        with pytest.raises(DataError, match="malformed: what read it broke off"):
            reader.reading()
    with ReaderProcess(TABLE, "", LIMIT_BYTES, chosen={}) as reader:
        folder = reader._folder
        reader.kill()
        with pytest.raises(DataError, match="was stopped"):
            reader.reading()
    assert not folder.exists()
    monkeypatch.setattr(isolation, "SECONDS", 0.0)
    with pytest.raises(DataError, match="took longer"):
        inspect_file(TABLE, apart=True)


def test_a_reader_that_is_given_up_is_gone():
    with ReaderProcess(b"a,b\n" + b"1,2\n" * 500_000, "", LIMIT_BYTES, chosen={}) as reader:
        assert not reader.done
        reader.kill()
        assert reader.done and reader.elapsed < 5


def test_a_server_that_died_begins_anew(monkeypatch):
    server = Server()
    monkeypatch.setattr(isolation, "SERVER", server)
    for _ in range(2):
        assert inspect_file(TABLE, apart=True) == inspect_file(TABLE)
        server._process.kill()
        server._process.wait()
    server.close()


def told(reader):
    with pytest.raises(DataError) as caught:
        reader.reading()
    return str(caught.value)
