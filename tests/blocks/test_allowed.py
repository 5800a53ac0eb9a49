"""A server opens what lies in the folders that it allows, and nothing else."""

import os
from pathlib import Path

import pytest

from bnmf_core.blocks.allowed import allowed_folders, allowed_path
from bnmf_core.core.errors import DataError, NotFoundError


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "open"
    inner.mkdir()
    (inner / "cells.npy").touch()
    (tmp_path / "secret.npy").touch()
    return inner


def test_a_path_in_an_allowed_folder_is_opened(folder):
    there = (folder / "cells.npy").resolve()
    assert allowed_path(str(folder / "cells.npy"), [folder]) == there
    assert allowed_path("cells.npy", [folder.parent / "other", folder]) == there


def test_what_lies_outside_is_refused_and_no_other_folder_is_named(folder):
    (folder / "link.npy").symlink_to(folder.parent / "secret.npy")
    (folder / "circle").symlink_to(folder / "circle")
    beside = folder.parent / "open too"
    beside.mkdir()
    (beside / "x.npy").touch()
    outside = ("../secret.npy", "link.npy", "/etc/passwd", "/nowhere/at/all", "a\0b", "circle")
    for text in (*outside, str(beside / "x.npy")):
        with pytest.raises(DataError, match="lies outside the folders that this server") as caught:
            allowed_path(text, [folder])
        assert str(folder) in str(caught.value)
        assert "secret" not in str(caught.value) or "secret" in text


def test_what_is_missing_in_an_allowed_folder_is_said(folder):
    with pytest.raises(NotFoundError):
        allowed_path("x" * 5000, [folder])
    with pytest.raises(NotFoundError, match="no file or folder 'other.npy'"):
        allowed_path("other.npy", [folder])


def test_folders_come_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("BNMF_FOLDERS", os.pathsep.join([str(folder), "", "/data"]))
    assert allowed_folders() == (folder, Path("/data"))
    monkeypatch.delenv("BNMF_FOLDERS")
    assert allowed_folders() == ()
    with pytest.raises(DataError, match="opens no folder"):
        allowed_path("cells.npy", ())
