"""Where people sign in, an account is one person from any browser, and nobody else is anybody."""

import json
import threading
import time
from collections.abc import Iterator
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from bnmf_core.store.home import OWNERS
from tests.browser.conftest import free_port, running_server
from tests.pages.visitors import Visitor

pytestmark = pytest.mark.slow
KEY = RSAKey.generate_key(2048, {"kid": "one"}, private=True)


class Provider(BaseHTTPRequestHandler):
    """An OpenID provider that takes everybody for ``server.account``."""

    def do_GET(self) -> None:
        there = f"http://{self.headers['Host']}"
        asked = {key: value[0] for key, value in parse_qs(urlsplit(self.path).query).items()}
        if self.path.startswith("/authorize"):
            code = urlencode({"code": asked.get("nonce", ""), "state": asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{code}")
            self.end_headers()
            return
        self.answer(
            {"keys": [KEY.as_dict(private=False)]}
            if self.path.startswith("/keys")
            else {
                "issuer": there,
                "authorization_endpoint": f"{there}/authorize",
                "token_endpoint": f"{there}/token",
                "jwks_uri": f"{there}/keys",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    def do_POST(self) -> None:
        sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        account = self.server.account
        claims = {
            "iss": f"http://{self.headers['Host']}",
            "aud": "dashboard",
            "sub": account,
            "email": f"{account}@example.org",
            "nonce": sent["code"][0],
            "iat": int(time.time()),
            "exp": int(time.time()) + 600,
        }
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)
        self.answer({"access_token": "x", "token_type": "Bearer", "id_token": token})

    def answer(self, told: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def provider() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def address(tmp_path, monkeypatch, provider) -> Iterator[str]:
    """A server that knows people by the accounts of the provider."""
    port, secrets = free_port(), tmp_path / "secrets.toml"
    secrets.write_text(
        "[auth]\n"
        f'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
        f'cookie_secret = "{"s" * 40}"\n'
        'client_id = "dashboard"\nclient_secret = "known to both"\n'
        f'server_metadata_url = "http://127.0.0.1:{provider.server_port}/configuration"\n'
    )
    monkeypatch.setenv("BNMF_SHARED", "sign-in")
    with running_server(tmp_path, options=["--secrets.files", str(secrets)], port=port) as found:
        yield found


def signed_in(address: str, provider: ThreadingHTTPServer, account: str) -> dict[str, str]:
    """The cookies of a browser in which an account has signed in."""
    provider.account = account
    jar = CookieJar()
    browser: OpenerDirector = build_opener(HTTPCookieProcessor(jar))
    tab = Visitor(address, {})
    tab.press("", "Sign in")
    (path,) = tab.sent_to
    tab.close()
    for asked in ("_stcore/health", path.lstrip("/")):
        browser.open(f"{address}/{asked}", timeout=20).read()
    return {cookie.name: cookie.value for cookie in jar}


def test_accounts_have_runs_of_their_own_from_any_browser(address, provider, tmp_path):
    stranger = Visitor(address, {})
    for page in ("", "runs", "data", "study"):
        sent = stranger.visit(page)
        assert b"Sign in" in sent and b"New analysis" not in sent
    stranger.close()
    anna = signed_in(address, provider, "anna")
    first, again = (
        Visitor(address, cookies) for cookies in (anna, signed_in(address, provider, "anna"))
    )
    other = Visitor(address, signed_in(address, provider, "berta"))
    assert b"Signed in as anna" in first.visit("runs")
    first.press("", "Analyse a matrix with exactly two answers")
    assert b"exactly two answers" in again.visit("runs")
    sent = other.visit("runs")
    assert b"Signed in as berta" in sent and b"two answers" not in sent and b"anna" not in sent
    assert len(list((tmp_path / OWNERS).iterdir())) == 2
    # A cookie that somebody made, or of which a letter is changed, is nobody's.
    name = "_streamlit_user"
    for made in (anna[name][:-3] + "AAA", "2|1:0|10:1|4:user|8:e30=|abc"):
        forged = Visitor(address, anna | {name: made})
        sent = forged.visit("runs")
        assert b"Signed in as" not in sent and b"Sign in" in sent
        forged.close()
    for tab in (first, again, other):
        tab.close()
