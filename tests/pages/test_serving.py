"""What every answer of the server has, and who is known by it."""

import asyncio
import importlib
import json
import logging
import sys
import threading
from itertools import zip_longest
from unittest import mock

import pytest
import streamlit as st
from streamlit import logger
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import media_file_manager
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner.exec_code import modified_sys_path

from bnmf_core.core.errors import NotFoundError
from pages.frame import declared, services
from pages.serving import first, front, health, identity, logs, media, messages


async def empty(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["type"] == "http":
        await send({"type": "http.response.body", "body": b""})


def asked(headers=(), kind="http", path="/", method="GET", scheme="http", app=empty):
    """What is sent back for a request, as (name, value) or, of a websocket, its messages."""
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "method": method, "path": path, "scheme": scheme}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers]
    asyncio.run(front.Front(app)(scope, receive, send))
    return sent


def cookies(sent) -> list[str]:
    return [v.decode() for name, v in sent[0]["headers"] if name == b"set-cookie"]


PAGE = [("accept", "text/html,*/*")]


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    monkeypatch.setenv("BNMF_SHARED", "1")


def test_every_answer_keeps_a_browser_to_this_host():
    headers = {name.decode(): value.decode() for name, value in asked()[0]["headers"]}
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "http" not in policy and "*" not in policy
    assert "unsafe-eval" not in policy and "frame-ancestors 'self'" in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_a_page_begins_with_the_programs_own_script_and_nothing_else_does():
    streamlit = b'<head></head><script type="module" src="x.js"></script>'

    async def app(scope, receive, send):
        kept = {b"if-none-match", b"accept-encoding"} & dict(scope["headers"]).keys()
        length = str(len(streamlit)).encode()
        start = {"type": "http.response.start", "status": 304 if kept else 200}
        await send({**start, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": streamlit[:20], "more_body": True})
        await send({"type": "http.response.body", "body": streamlit[20:]})

    packed = [("if-none-match", "it"), ("accept-encoding", "gzip")]
    start, *parts = asked([*PAGE, *packed], path="/modes", app=app)
    body = b"".join(part["body"] for part in parts)
    assert (
        start["status"] == 200 and (b"content-length", str(len(body)).encode()) in start["headers"]
    )
    before, own, behind = body.partition(b"<script>" + first.SCRIPT.read_bytes() + b"</script>")
    assert own and before + behind == streamlit and behind.startswith(first.PLACE)
    for path, headers in (("/modes", []), ("/media/chart.html", PAGE)):
        _, *parts = asked(headers, path=path, app=app)
        assert b"".join(part["body"] for part in parts) == streamlit


def test_a_websocket_that_does_not_say_where_it_comes_from_is_refused():
    (closed,) = asked(kind="websocket")
    assert closed["type"] == "websocket.close"
    (passed,) = asked([("origin", "http://127.0.0.1:8501")], kind="websocket")
    assert passed["type"] == "http.response.start"


def test_a_browser_that_has_no_number_is_given_one_with_a_page_and_keeps_it(shared):
    (cookie,) = cookies(asked(PAGE))
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    value = cookie.partition("=")[2].partition(";")[0]
    assert identity.owner_of({identity.COOKIE: value})
    kept = [*PAGE, ("cookie", f"other=1; {identity.COOKIE}={value}")]
    assert cookies(asked(kept)) == []
    # Another number under the same signature, and the same number under another one. The last
    # letter of a signature is left alone: two of its bits mean nothing.
    for place in (0, value.index(".") + 1):
        letter = "0" if value[place] != "0" else "1"
        forged = f"{identity.COOKIE}={value[:place]}{letter}{value[place + 1 :]}"
        (again,) = cookies(asked([*PAGE, ("cookie", forged)]))
        assert value not in again
    # Parts of a page come side by side: each would have another number.
    assert cookies(asked([("accept", "*/*")])) == []


def test_behind_tls_a_number_is_never_sent_without_it(shared):
    assert "Secure" in cookies(asked(PAGE, scheme="https"))[0]
    assert "Secure" in cookies(asked([*PAGE, ("x-forwarded-proto", "https")]))[0]


def test_a_server_of_one_person_numbers_nobody(monkeypatch):
    monkeypatch.delenv("BNMF_SHARED", raising=False)
    assert cookies(asked(PAGE)) == []


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/metrics/", "/base/_stcore/metrics"])
def test_numbers_on_sessions_are_sent_only_where_that_was_asked_for(path, monkeypatch):
    assert [part.get("status") for part in asked(path=path)] == [404, None]
    assert asked(path="/_stcore/health")[0]["status"] == 200
    monkeypatch.setenv("BNMF_METRICS", "1")
    assert asked(path=path)[0]["status"] == 200


def heard(*sent):
    """What reaches Streamlit of these messages: their kinds, and how the connection ends."""
    told = [{"type": "websocket.receive", "bytes": one} for one in sent]
    told.append({"type": "websocket.disconnect", "code": 1000})

    async def receive():
        return told.pop(0)

    async def all_of_it():
        hear, found = messages.allowed(receive), []
        while not found or found[-1]["type"] == "websocket.receive":
            found.append(await hear())
        return found

    *received, end = asyncio.run(all_of_it())
    kinds = [BackMsg.FromString(one["bytes"]).WhichOneof("type") for one in received]
    return kinds, end["code"]


def test_a_browser_clears_nobodys_caches_and_writes_no_files():
    kept = [BackMsg(), BackMsg(), BackMsg(app_heartbeat=True)]
    kept[0].rerun_script.page_name = "runs"
    kept[1].backend_operation_request.deferred_file.file_id = "0"
    refused = [BackMsg(clear_cache=True), BackMsg(debug_shutdown_runtime=True), BackMsg()]
    refused.append(BackMsg())
    refused[-1].backend_operation_request.install_skills.SetInParent()
    both = [one for pair in zip_longest(refused, kept) for one in pair if one is not None]
    kinds, code = heard(*(one.SerializeToString() for one in both))
    assert kinds == ["rerun_script", "backend_operation_request", "app_heartbeat"]
    assert code == 1000
    assert heard(kept[0].SerializeToString(), b"\xff\xff", kept[0].SerializeToString()) == (
        ["rerun_script"],
        messages.PROTOCOL_ERROR,
    )


def test_a_download_of_what_was_deleted_leaves_no_traceback(caplog):
    def failing(error):
        def make():
            raise error

        return make

    logs.quiet()
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    handler = DeferredFileHandler(lambda: manager)
    logger.get_logger(logs.DOWNLOADS).propagate = True
    for error in (NotFoundError("There is no run."), ZeroDivisionError("0/0")):
        with mock.patch.object(media_file_manager, "_get_session_id", lambda: "anna"):
            file_id = manager.add_deferred(failing(error), None, "main.1", "made.txt")
        asked_for = BackMsg().backend_operation_request
        asked_for.deferred_file.file_id = file_id
        answer = asyncio.run(handler.handle(asked_for, "anna"))
        assert answer.error_msg
    told = [record for record in caplog.records if record.name == logs.DOWNLOADS]
    assert {str(record.exc_info[1]) for record in told} == {"Callable execution failed: 0/0"}


def test_health_counts_analyses_and_studies(server):
    class Endless:
        key, lane, done = "endless", "long stage", threading.Event()

        def make(self, report, stopped):
            self.done.wait(10)

    job = Endless()
    services.places().scheduler.submit(job, "anna")
    told = json.loads(health.answer(None).body)
    assert (told["analyses_running"], told["analyses_waiting"]) == (1, 0)
    assert told["runs_running"] == told["studies_running"] == told["studies_waiting"] == 0
    job.done.set()


def test_health_knows_disk_store_and_queue_and_nobodys_data(server, monkeypatch, tmp_path):
    answer = health.answer(None)
    told = json.loads(answer.body)
    assert answer.status_code == 200 and told["well"] and told["wrong"] == []
    assert told["runs_running"] == told["runs_waiting"] == 0 < told["disk_free_bytes"]
    monkeypatch.setattr(health, "LEAST_FREE", 10**18)
    answer = health.answer(None)
    assert answer.status_code == 503 and "nearly full" in answer.body.decode()


def test_health_tells_a_folder_that_cannot_be_read(monkeypatch, tmp_path):
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    st.cache_resource.clear()
    (tmp_path / "index.sqlite").mkdir()
    answer = health.answer(None)
    assert answer.status_code == 503 and "cannot be read" in answer.body.decode()
    assert str(tmp_path) not in answer.body.decode()
    services.places().close()
    st.cache_resource.clear()


def test_no_address_is_written_down():
    """It holds the secret of a link; Streamlit sets its log up anew when it reads its settings."""
    importlib.import_module("app")
    logger.init_uvicorn_logs()
    log = logging.getLogger("uvicorn.access")
    assert not log.filter(logging.makeLogRecord({"msg": "GET /overview?shown=SECRET"}))


def test_scripts_that_run_change_no_list_that_an_import_goes_through():
    """Else a library is not found now and then, when many people come at once."""
    importlib.import_module("app")
    before = [*sys.path]
    with modified_sys_path(str(declared.SHELL)):
        assert sys.path == before
    assert sys.path == before


def test_a_download_can_still_be_made_after_its_page_was_drawn_anew(monkeypatch):
    now = 0.0
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    manager.remove_orphaned_files = media.seldom(manager.remove_orphaned_files, lambda: now)
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: "anna")
    button = manager.add_deferred(lambda: b"made", None, "main.1", "made.txt")
    manager.clear_session_refs("anna")  # her page is being drawn anew, and another's has ended
    manager.remove_orphaned_files()
    made = manager.execute_deferred(button).removeprefix("/media/")
    for _ in range(2):  # pages of others end before her browser fetches the file
        manager.remove_orphaned_files()
    assert manager.read_file(made.partition(".")[0]).content == b"made"
    for now in (60, 120):  # noqa: B007
        manager.remove_orphaned_files()
    assert manager.read_file(made.partition(".")[0]) is None
    with pytest.raises(MediaFileStorageError, match="not found"):
        manager.execute_deferred(button)
