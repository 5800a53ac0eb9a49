"""Messages that no browser sends: the server says nothing of others, and goes on as before."""

import math
import re
import urllib.error
import urllib.request
import uuid

import numpy as np
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from bnmf_core.store.home import OWNERS
from pages.frame import declared
from pages.serving import identity
from tests.browser.conftest import ROOT, running_server
from tests.pages.visitors import Visitor
from tests.reliability.people import person

pytestmark = pytest.mark.slow

# What widgets are told in place of what they expect.
VALUES = {
    "trigger_value": True,
    "bool_value": True,
    "double_value": math.nan,
    "int_value": 2**62,
    "string_value": "../../etc/passwd\0<script>alert(1)</script>" + "x" * 10_000,
    "json_value": '{"selection": {"points": [{"customdata": [[]]}], "box": 7}}' * 3,
    "bytes_value": b"\xff\xfe\x00",
    "string_trigger_value": "no such option",
    "json_trigger_value": "[[[[",
    "double_array_value": [math.inf, -math.inf],
    "int_array_value": [-1, 2**62],
    "string_array_value": ["no such option"] * 3,
}
ADDRESSES = (
    *("../../etc/passwd", "no_such_page", "%2e%2e/%2e%2e", "x" * 5_000, "runs/../../app", "\0"),
    "overview?runs=1&runs=2",
)
QUERIES = (
    *("runs=" + "," * 3_000, "runs=%00%ff", "shown=../../x", "=&=&&&", "threshold=nan"),
    "a" * 9_000,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A shared server, two people who have runs on it, and its log."""
    home = tmp_path_factory.mktemp("forged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BNMF_HOME", str(home))
        patch.setenv("BNMF_SHARED", "1")
        people = [person(home, number) for number in range(2)]
        with running_server(home) as address:
            yield address, people, home / "server.log"


@pytest.fixture
def visitor(shared):
    address, (me, _), _ = shared
    found = Visitor(address, {identity.COOKIE: identity.signed(me.owner)})
    yield found
    found.close()


def ends_of_tracebacks(log: str) -> list[str]:
    """The innermost file of each traceback in a log."""
    parts = re.split(r"Traceback \(most recent call last\)", log)[1:]
    return [re.findall(r'^ *File "([^"]+)"', part, re.MULTILINE)[-1] for part in parts]


@pytest.fixture(autouse=True)
def goes_on_as_before(shared):
    """Whatever was sent, others are served, and nothing failed but Streamlit's own reading of it.

    A value of another kind than a widget has ends in Streamlit, which cannot read it.
    """
    address, (_, other), log = shared
    begun = len(log.read_text())
    yield
    visitor = Visitor(address, {identity.COOKIE: identity.signed(other.owner)})
    assert other.word.encode() in visitor.visit("overview", runs=other.runs)
    visitor.close()
    ours = [end for end in ends_of_tracebacks(log.read_text()[begun:]) if str(ROOT) in end]
    assert not [end for end in ours if ".venv" not in end]


@pytest.mark.parametrize("kind", VALUES)
def test_widgets_that_are_told_something_else(shared, visitor, kind):
    me, other = shared[1]
    rng = np.random.default_rng(list(VALUES).index(kind))
    for page in rng.permutation(declared.PAGES)[:8]:
        asked = {"runs": me.runs} if "runs" in page.parameters else {}
        visitor.visit(page.address, **asked)
        sent = visitor.forge(page.address, kind, VALUES[kind], **asked)
        assert other.word.encode() not in sent and b"Traceback" not in sent


def test_pages_and_queries_that_there_are_not(shared, visitor):
    other = shared[1][1]
    for address in ADDRESSES:
        assert other.word.encode() not in visitor.visit(address, runs=other.runs)
    for query in QUERIES:
        assert other.word.encode() not in visitor.ask("overview", query)


def test_runs_of_another_by_every_page(shared, visitor):
    me, other = shared[1]
    for page in declared.PAGES:
        asked = dict.fromkeys(page.parameters, other.runs) | {"data": other.data}
        sent = visitor.visit(page.address, **asked)
        assert other.word.encode() not in sent
    assert me.word.encode() in visitor.visit("overview", runs=me.runs)


def test_what_streamlit_would_do_for_a_developer(shared, visitor):
    me, _ = shared[1]
    for kind in ("clear_cache", "debug_shutdown_runtime", "debug_disconnect_websocket"):
        visitor.send(BackMsg(**{kind: True}))
    installing = BackMsg()
    installing.backend_operation_request.install_skills.SetInParent()
    visitor.send(installing)
    assert me.word.encode() in visitor.visit("overview", runs=me.runs)


def test_bytes_that_are_no_message(shared):
    address, (me, _), log = shared
    rng = np.random.default_rng(0)
    for _ in range(20):
        visitor = Visitor(address, {identity.COOKIE: identity.signed(me.owner)})
        visitor.send(rng.bytes(int(rng.integers(1, 200))) + b"\xff\xff")
        visitor.close()
    assert "not one of Streamlit's" in log.read_text()


def test_files_of_another_session(shared):
    address = shared[0]
    for path in ("upload_file", "media"):
        for name in (f"{uuid.uuid4()}/{uuid.uuid4()}", "../../etc/passwd", "%2e%2e/%2e%2e/app.py"):
            for method in ("GET", "PUT", "DELETE"):
                request = urllib.request.Request(
                    f"{address}/_stcore/{path}/{name}", data=b"x" * (method == "PUT"), method=method
                )
                try:
                    sent = urllib.request.urlopen(request, timeout=10).read()
                except urllib.error.HTTPError as refused:
                    assert refused.code in (400, 403, 404, 405)
                else:  # the first page, which every address leads to
                    assert b"<title>Streamlit</title>" in sent and method == "GET"


def test_a_cookie_that_somebody_made_is_nobody(shared):
    address, (me, other), log = shared
    number = identity.signed(other.owner).partition(".")[0]
    for cookie in (number, f"{number}.AAAA", identity.signed(me.owner)[:-1], "../" * 50, ""):
        visitor = Visitor(address, {identity.COOKIE: cookie})
        sent = visitor.visit("runs") + visitor.visit("overview", runs=other.runs)
        assert me.word.encode() not in sent and other.word.encode() not in sent
        visitor.close()
    owners = {folder.name for folder in (log.parent / OWNERS).iterdir()}
    assert {me.owner, other.owner} <= owners and all(map(identity.NUMBER.fullmatch, owners))
