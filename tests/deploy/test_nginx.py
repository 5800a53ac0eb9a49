"""The app behind a real nginx with the configuration that is shipped."""

import re
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from tests.browser.conftest import browser_page, running_server, settle

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed."),
]
SHIPPED = Path(__file__).parents[2] / "deploy" / "nginx.conf"
# One of each kind: text, forms, charts, tables, a script of our own.
PAGES = ("", "data", "overview", "samples", "runs", "lessons")
TRUSTING = ssl._create_unverified_context()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def proxied(folder: Path, app: str):
    """The shipped configuration, with this machine's ports, name and certificate; its address."""
    port = free_port()
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    made = [*words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    changes = {
        "127.0.0.1:8501": app.removeprefix("http://"),
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "server_name bnmf.example.org": "server_name localhost",
        r"https://bnmf\.example\.org$": rf"https://localhost:{port}$",
        "/etc/ssl/bnmf/certificate.pem": str(certificate),
        "/var/log/nginx/access.log": str(folder / "access.log"),
        "/etc/ssl/bnmf/key.pem": str(key),
    }
    text = SHIPPED.read_text()
    for shipped, here in changes.items():
        assert shipped in text, shipped
        text = text.replace(shipped, here)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = folder / "nginx.conf"
    whole.write_text(
        f"pid {folder}/nginx.pid; error_log {folder}/error.log; daemon off; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{text} }}\n"
    )
    process = subprocess.Popen(["nginx", "-c", str(whole), "-p", str(folder)])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"https://localhost:{port}", folder / "access.log"
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="module")
def address(served):
    """Where the proxy is."""
    return served[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Where the proxy is, and its log."""
    home = tmp_path_factory.mktemp("proxied")
    # More points than a browser draws, so that some cover others.
    settings = {"chains": 2, "warm_up": 20, "thinning": 1}
    specs = [RunSpec("gibbs", 3, particles=600, seed=s, settings=settings) for s in range(2)]
    specs.append(RunSpec("random_restarts", 3, particles=20))
    with closing(JobRunner(RunStore(home))) as runner:
        runner.wait_analysis(runner.start(laurberg("two", noise=0.01), specs))
    with running_server(home) as app, proxied(tmp_path_factory.mktemp("nginx"), app) as found:
        yield found


def answered(address: str, *lines: str) -> int:
    """The status of the answer to a request of these lines."""
    where = urlsplit(address)
    with ExitStack() as open_:
        line = open_.enter_context(
            socket.create_connection((where.hostname, where.port), timeout=10)
        )
        if where.scheme == "https":
            line = open_.enter_context(TRUSTING.wrap_socket(line, server_hostname=where.hostname))
        first, *rest = lines
        whole = [f"{first} HTTP/1.1", f"Host: {where.netloc}", *rest, "", ""]
        line.sendall("\r\n".join(whole).encode())
        return int(line.recv(64).split()[1])


def websocket(address: str, *origin: str) -> int:
    """The status that a websocket is answered with, from a page of this origin."""
    return answered(
        address,
        "GET /_stcore/stream",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        *(f"Origin: {one}" for one in origin),
    )


def test_the_first_page_keeps_a_browser_to_this_host(address):
    with urlopen(address, context=TRUSTING) as answer:
        headers = answer.headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "http" not in policy and "*" not in policy
    assert "frame-ancestors 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert not re.search(r"\d", headers["Server"])


def test_a_websocket_is_for_pages_of_this_host_only(address):
    assert websocket(address) == 403  # says nothing of where it comes from
    assert websocket(address, "https://elsewhere.example") == 403
    assert websocket(address, f"{address}.elsewhere.example") == 403
    assert websocket(address, address) == 101


def test_the_log_leaves_the_secret_of_a_link_out(served):
    address, log = served
    assert answered(address, "GET /overview?shown=SECRET") == 200
    for _ in range(100):
        if "GET /overview" in log.read_text():
            break
        time.sleep(0.05)
    told = log.read_text()
    assert '"GET /overview" 200' in told and "SECRET" not in told


def test_the_unit_tells_the_app_the_name_that_the_proxy_has(tmp_path):
    name = re.search(r"server_name (\S+);", SHIPPED.read_text())[1]
    unit = SHIPPED.with_name("bnmf.service").read_text()
    command = re.search(r"ExecStart=.*app\.py (.*)", unit)[1]
    options = command.replace("--server.port 8501", "").split()
    for given, status in (((), 403), (options, 101)):
        with running_server(tmp_path, options=given) as app:
            assert websocket(app, f"https://{name}") == status


def test_what_is_too_large_is_refused_before_the_app_sees_it(address):
    size = f"Content-Length: {257 * 2**20}"
    assert answered(address, "PUT /_stcore/upload_file/a/b", size) == 413


def test_pages_of_every_kind_are_drawn_under_the_policy(address):
    with browser_page(trusting=True) as page:
        refused = []
        page.on(
            "console",
            lambda said: refused.append(said.text) if "Content Security" in said.text else None,
        )
        for where in PAGES:
            page.goto(f"{address}/{where}")
            page.get_by_role("heading", level=1).first.wait_for()
            settle(page)
            assert refused == [], where
        page.goto(f"{address}/modes")
        page.locator(".js-plotly-plot .points path").nth(100).wait_for(state="attached")
        assert refused == []
