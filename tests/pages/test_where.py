"""A visitor cannot make the server connect to anything that its operator has not listed."""

import socket
import threading

import pytest
from streamlit.testing.v1 import AppTest

from bnmf_core import RunSpec, laurberg
from bnmf_core.core.errors import SchedulerError
from bnmf_core.runs.executors import allowed_schedulers
from tests.pages.apps import page, words


@pytest.fixture
def listening():
    """Something that would be a scheduler, on the loopback; its address and its callers."""
    callers = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        closing = threading.Event()

        def listen() -> None:
            while not closing.is_set():
                try:
                    connection, caller = server.accept()
                except TimeoutError:
                    continue
                callers.append(caller)
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}", callers
        closing.set()
        thread.join()


def test_without_a_list_there_is_nothing_to_choose(server, listening):
    server.store.add_dataset(laurberg("two"))
    app = page("run", scheduler=listening[0])
    assert "this machine" in words(app)
    assert "scheduler" not in [box.key for box in (*app.selectbox, *app.text_input)]


def test_an_address_that_is_not_listed_is_never_called(server, listening, monkeypatch):
    address, callers = listening
    specs = [RunSpec("random_restarts", 3, particles=3)]
    for listed in ("", "tcp://127.0.0.1:1"):
        monkeypatch.setenv("BNMF_SCHEDULERS", listed)
        with pytest.raises(SchedulerError, match="operator lists"):
            server.start(laurberg("two"), specs, scheduler=address)
    (run_id,) = server.start(laurberg("two"), specs)
    server.wait([run_id])
    server.store.database.write("UPDATE runs SET status = 'cancelled' WHERE id = ?", (run_id,))
    with pytest.raises(SchedulerError, match="operator lists"):
        server.resume(run_id, address)
    app = page("run", scheduler=address)
    app.number_input(key="particles").set_value(3)
    app.pills(key="algorithms").set_value(["random_restarts"]).run()
    app.button(key="go").click().run()
    assert not app.exception
    server.wait([run.id for run in server.store.runs()])
    assert callers == []


def test_the_operators_schedulers_are_offered_once_each(server, monkeypatch):
    monkeypatch.setenv("BNMF_SCHEDULER", "tcp://b:1")
    monkeypatch.setenv("BNMF_SCHEDULERS", " tcp://a:1, tcp://b:1 ,,")
    assert allowed_schedulers() == ["tcp://b:1", "tcp://a:1"]
    server.store.add_dataset(laurberg("two"))
    box = page("run").selectbox(key="scheduler")
    assert box.options == ["this machine", "tcp://b:1", "tcp://a:1"]
    assert box.value == "tcp://b:1"


def test_a_page_says_that_an_analysis_has_come_back_from_a_lost_cluster():
    def page():
        from types import SimpleNamespace  # noqa: PLC0415
        from unittest.mock import patch  # noqa: PLC0415

        from bnmf_core.jobs.job import JobStatus  # noqa: PLC0415
        from pages.frame import watch  # noqa: PLC0415

        words = "The connection was lost. It is computed on this machine now."
        status = JobStatus("running", 0.4, "Weighing the modes", words)
        runner = SimpleNamespace(analyse=lambda *asked: None, analysis_status=lambda found: status)
        stage = SimpleNamespace(
            key="evidence", label="Weighing the modes", ready=lambda found: False
        )
        with patch.object(watch, "runner", lambda: runner):
            watch.analysis_until(SimpleNamespace(run_ids=[]), stage, "The mass")

    shown = AppTest.from_function(page).run()
    assert not shown.exception
    assert [one.value for one in shown.caption] == [
        "The connection was lost. It is computed on this machine now."
    ]
