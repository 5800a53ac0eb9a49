"""Whoever wants to goes with all that is theirs; nobody else loses anything."""

import shutil

import pytest
import streamlit as st

from bnmf_core import RunSpec, laurberg
from bnmf_core.core.errors import NotFoundError
from bnmf_core.store.home import OWNERS
from pages.frame import owners, services
from tests.pages.apps import page, words


def contents(folder):
    """What lies there, but for the lists, which whoever looks into them writes beside."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("index.")
    }


@pytest.fixture
def served(finished_once, tmp_path, monkeypatch):
    """Two on a shared server with the same runs, each of whom shows them to others."""
    root, run_ids = finished_once
    for owner in ("anna", "ben"):
        shutil.copytree(root, tmp_path / OWNERS / owner)
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    monkeypatch.setenv("BNMF_SHARED", "1")
    monkeypatch.setattr(owners, "owner", lambda: "anna")
    st.cache_resource.clear()
    places = services.places()
    tokens = {owner: places.shares.make(owner, run_ids).token for owner in ("anna", "ben")}
    yield places, tokens
    places.close()
    st.cache_resource.clear()


def test_not_a_byte_is_left_of_whoever_goes_and_others_keep_all(served, tmp_path):
    places, tokens = served
    host = places.shown(tokens["anna"]).store
    assert len(host.runs()) == 2
    before = contents(tmp_path / OWNERS / "ben")
    app = page("runs")
    app.button(key="ask_to_forget").click().run()
    (said,) = [element.value for element in app.warning]
    assert "2 runs, 1 dataset, 0 names and notes and 1 link shown to others" in said
    assert contents(tmp_path / OWNERS / "anna")  # nothing has gone yet
    app.button(key="forget").click().run()
    assert not app.exception and not app.error
    assert "Nothing has been run yet." in words(app)
    left = [path for path in (tmp_path / OWNERS / "anna").rglob("*") if path.is_file()]
    assert all(path.name.startswith("index.") or path.name == "seen" for path in left)
    assert sorted(path.name for path in (tmp_path / OWNERS).iterdir()) == ["anna", "ben"]
    with pytest.raises(NotFoundError, match="was taken back"):
        places.shown(tokens["anna"])
    assert contents(tmp_path / OWNERS / "ben") == before
    assert len(places.shown(tokens["ben"]).store.runs()) == 2


def test_whoever_thinks_again_keeps_everything(served, tmp_path):
    before = contents(tmp_path / OWNERS / "anna")
    app = page("runs")
    app.button(key="ask_to_forget").click().run()
    app.button(key="keep_everything").click().run()
    assert not app.exception and not app.warning
    assert {path for path in contents(tmp_path / OWNERS / "anna") if path.name != "seen"} == {
        path for path in before if path.name != "seen"
    }


def test_what_is_running_stops_first(served, tmp_path):
    places, _ = served
    runner = places.of("anna").runner
    endless = RunSpec("gibbs", rank=3, particles=50_000)
    (run_id,) = runner.start(laurberg("two"), [endless])
    while not runner.store.run(run_id).done:
        runner.scheduler.wait(places.of("anna"), 0.01)
    app = page("runs")
    app.button(key="ask_to_forget").click().run()
    assert "1 that are running stop" in app.warning[0].value
    app.button(key="forget").click().run()
    assert not app.exception and not app.error
    assert places.of("anna").store.runs() == [] and places.of("anna").at_work() == []
    assert not (tmp_path / OWNERS / "anna" / "runs").exists()


def test_of_a_server_of_one_person_all_goes_but_what_is_the_servers(server, finished, tmp_path):
    assert (tmp_path / "runs").is_dir()
    services.places().forget(owners.EVERYBODY)
    assert list(contents(tmp_path)) == []
    assert services.places().of(owners.EVERYBODY).store.runs() == []


def test_whoever_an_operator_has_removed_begins_anew(served, tmp_path):
    places, _ = served
    assert len(places.of("anna").store.runs()) == 2
    shutil.rmtree(tmp_path / OWNERS / "anna")
    assert places.of("anna").store.runs() == []
    app = page("runs")
    assert not app.exception and "Nothing has been run yet." in words(app)
