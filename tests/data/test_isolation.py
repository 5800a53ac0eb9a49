"""Files parsed in a process of their own: the same result, and limits that hold."""

import json
import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.core.limits import NAMED_BY, Limits
from bnmf_core.data import isolation, worker
from bnmf_core.data.contents import inspect_content
from bnmf_core.data.isolation import REQUEST, ReaderProcess, Server
from bnmf_core.data.load import inspect_file, load_file
from tests.data.layout import csv, frame, saved, with_column
from tests.data.written import MOST, read

TABLE = csv(with_column(frame(), 0, "group", ["x", "y", "x", ""]), index=False)
SPARSE = saved(sparse.save_npz, sparse.csc_array(np.eye(4)))


@pytest.mark.parametrize("content", [TABLE, SPARSE, saved(np.save, np.ones((3, 4)))])
def test_a_reader_process_reads_what_its_parent_would(content, tmp_path):
    reading = inspect_content(content, "", {}, MOST)
    assert inspect_file(content) == reading
    there, path = read(content, "a"), tmp_path / "a"
    path.write_bytes(content)
    for data in (load_file(content, filename="a", reading=reading), load_file(path)):
        assert data.hash == there.hash
        assert data.features == there.features and data.labels.keys() == there.labels.keys()


def test_what_is_wrong_with_a_file_comes_back_as_its_sentence():
    with pytest.raises(DataError, match="damaged NPY header"):
        inspect_file(b"\x93NUMPY")


@pytest.mark.slow
def test_a_reader_process_that_takes_too_much_memory_or_time_is_ended():
    content = b"a,b\n" + b"1,2\n" * 500_000
    with ReaderProcess(content, "", "reading", limits=Limits(reading_memory=0.005)) as reader:
        message = told(reader)
    assert "needs more than 0.0274 GB of memory" in message
    assert "raise `reading_memory` in the file that BNMF_LIMITS names" in message
    began = time.monotonic()
    with ReaderProcess(content, "", "reading", limits=Limits(reading_seconds=0.2)) as reader:
        message = told(reader)
    assert "took longer than 0.3 s" in message  # a little more for 2 MB
    assert "raise `reading_seconds` in the file that BNMF_LIMITS names" in message
    assert time.monotonic() - began < 20


def test_a_reader_process_that_dies_or_is_stopped_is_one_sentence():
    with ReaderProcess(TABLE, "", "reading") as reader:
        reader._wish.close()
        with pytest.raises(DataError, match="malformed: what read it broke off"):
            reader.reading()
    with ReaderProcess(TABLE, "", "reading") as reader:
        folder = reader._folder
        reader.kill()
        with pytest.raises(DataError, match="was stopped"):
            reader.reading()
    assert not folder.exists()


def test_a_reader_that_is_given_up_is_gone():
    with ReaderProcess(b"a,b\n" + b"1,2\n" * 500_000, "", "reading") as reader:
        assert not reader.done
        reader.kill()
        assert reader.done and reader.elapsed < 5


def test_a_server_that_died_begins_anew(monkeypatch):
    server = Server()
    monkeypatch.setattr(isolation, "SERVER", server)
    for _ in range(2):
        assert inspect_file(TABLE).label_columns == (1,)
        server._process.kill()
        server._process.wait()
    server.close()


def test_a_file_that_is_cut_off_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 4)))
    with ReaderProcess(path, "a.npy", "both") as reader:
        assert reader.wait(30)
        path.write_bytes(b"")
        with pytest.raises(DataError, match="was changed while it was read"):
            reader.parts()


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("reading_megabytes = 0.00001", "larger than 9.537e-06 MB, the most that is read"),
        ("reading_seconds = 0.000001", "took longer than 0 s to read"),
    ],
)
def test_limits_come_from_the_file_that_says_them(limit, said, monkeypatch, tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(limit)
    monkeypatch.setenv(NAMED_BY, str(path))
    name = limit.partition(" ")[0]
    with pytest.raises(DataError, match=f"{said}.*raise `{name}` in the file that BNMF_LIMITS"):
        load_file(TABLE)
    path.write_text(f"{name} = 0")
    assert load_file(TABLE).D == 3


SCRIPT = """
import os, sys
from bnmf_core import load_file
data = load_file(b"1,2\\n3,4\\n")
if sys.argv[1] == "fork" and os.fork() == 0:
    assert load_file(b"1,2\\n3,4\\n").hash == data.hash
    sys.exit()
if sys.argv[1] == "fork":
    assert os.wait()[1] == 0
print(load_file(b"1,2\\n3,5\\n").D)
"""


@pytest.mark.parametrize("way", ["plain", "fork"])
def test_a_script_of_a_few_lines_reads_and_is_quiet_at_its_end(way, tmp_path):
    command = [sys.executable, "-P", "-W", "error", "-c", SCRIPT, way]
    # An empty part of it would be the folder in which the script is started.
    given = filter(None, [str(isolation.PACKAGE), os.environ.get("PYTHONPATH")])
    paths = os.pathsep.join(given)
    options = {"cwd": tmp_path, "env": os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": paths}}
    # What lies about where it is started is not imported.
    (tmp_path / "json.py").write_text("raise SystemExit")
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    assert (done.stdout, done.stderr, done.returncode) == ("2\n", "", 0)
    assert os.listdir(tmp_path) == ["json.py"]


def test_a_disk_without_room_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(isolation.tempfile, "tempdir", str(tmp_path))
    full = OSError(28, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(isolation.Path, "write_bytes", Mock(side_effect=full))
        with pytest.raises(DataError, match="could not be read: No space left on device, on the"):
            load_file(TABLE)
    assert not list(tmp_path.iterdir())
    (tmp_path / REQUEST).write_text(
        json.dumps({"wanted": "rows", "limit_bytes": 9, "memory_bytes": 0, "seconds": 9})
    )
    with monkeypatch.context() as patch:
        patch.setattr(worker, "_limit", lambda *_: None)
        patch.setattr(worker.signal, "setitimer", lambda *_: None)
        assert worker.work(tmp_path)["error"].startswith("The file could not be read: No such file")


def test_a_key_that_interrupts_us_leaves_the_server_as_it_is():
    assert inspect_file(TABLE).label_columns == (1,)
    server = isolation.SERVER._process
    server.send_signal(signal.SIGINT)
    assert inspect_file(TABLE).label_columns == (1,)
    assert server is isolation.SERVER._process and server.poll() is None


def told(reader):
    with pytest.raises(DataError) as caught:
        reader.reading()
    return str(caught.value)
