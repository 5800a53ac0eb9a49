"""Limits come from one file; whatever is wrong in it is named."""

from pathlib import Path

import pytest

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.limits import NAMED_BY, Limits, read_limits

SHIPPED = Path(__file__).resolve().parents[2] / "deploy" / "limits.toml"


def test_without_a_file_there_are_those_of_one_person(monkeypatch):
    monkeypatch.delenv(NAMED_BY, raising=False)
    assert read_limits() == Limits()


def test_a_file_is_named_by_the_environment_and_sets_what_it_names(monkeypatch, tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text("disk = 2.5\nruns_waiting = 7\n")
    monkeypatch.setenv(NAMED_BY, str(path))
    assert read_limits() == Limits(disk=2.5, runs_waiting=7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("disc = 2", "'disc', which is no limit"),
        ("disk = -1", "'disk' was -1"),
        ("disk = true", "'disk' was True"),
        ("runs_waiting = 0", "a whole number from 1 on"),
        ("runs_at_once = 1.5", "'runs_at_once' was 1.5"),
        ("disk = ", "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, said):
    path = tmp_path / "limits.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said):
        read_limits(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_limits(tmp_path / "none.toml")


def test_the_file_that_is_shipped_names_every_limit():
    assert set(vars(read_limits(SHIPPED))) == set(vars(Limits()))
    for name in vars(Limits()):
        assert f"\n{name} = " in SHIPPED.read_text()
