"""Headers of every answer: security policy, and the cookie that identifies a browser.

A page also has a script before Streamlit's: see ``first.py``.

Streamlit accepts a websocket without an origin, sends no content security policy for a
page, and shows everybody the number of sessions; this middleware does all three.
"""

import os
from typing import TYPE_CHECKING

from bnmf_core.core import events
from pages.frame.owners import is_shared
from pages.serving import first, identity, messages

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Streamlit's first page holds a script, and it and Plotly make styles while a page is shown:
# without 'unsafe-inline' nothing is drawn. Nothing is loaded from, sent to or framed by another
# host.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'unsafe-inline' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' blob: data:",
    "media-src": "'self' blob:",
    "worker-src": "'self' blob:",
    "frame-src": "'self' blob: data:",
    "frame-ancestors": "'self'",
    "form-action": "'self'",
    "base-uri": "'self'",
    "manifest-src": "'self'",
    "object-src": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(" ".join(part) for part in POLICY.items()),
    "x-frame-options": "SAMEORIGIN",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
FORBIDDEN = 4403
# Numbers on sessions and memory, which Streamlit sends to whoever asks. BNMF_METRICS=1 opens them.
METRICS, OPENED_BY = "/_stcore/metrics", "BNMF_METRICS"
NOT_FOUND = 404


class Front:
    """An ASGI middleware around the whole app."""

    def __init__(self, app: "ASGIApp") -> None:
        self.app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request, or refuse a websocket that no page of this host opened."""
        received = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope.get("headers", ())
        }
        if scope["type"] == "websocket" and "origin" not in received:
            events.tell("refused", what="websocket", why="no origin")
            await receive()
            await send({"type": "websocket.close", "code": FORBIDDEN})
            return
        if scope["type"] == "websocket":
            receive = messages.allowed(receive)
        if scope["type"] == "http":
            send = _with(send, [*HEADERS.items(), *_known(scope, received)])
            if _is_closed(scope):
                await send({"type": "http.response.start", "status": NOT_FOUND, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            if first.is_page(scope):
                scope, send = first.whole(scope), first.with_script(send)
        await self.app(scope, receive, send)


def _is_closed(scope: "Scope") -> bool:
    is_metrics = scope["path"].rstrip("/").endswith(METRICS)
    return is_metrics and os.environ.get(OPENED_BY, "") != "1"


def _known(scope: "Scope", received: dict[str, str]) -> list[tuple[str, str]]:
    """The cookie for a browser that requests a page without one."""
    page = scope["method"] == "GET" and "text/html" in received.get("accept", "")
    if not is_shared() or not page:
        return []
    if identity.owner_of(identity.cookies_in(received.get("cookie", ""))):
        return []
    secure = "https" in (scope["scheme"], received.get("x-forwarded-proto"))
    return [("set-cookie", identity.cookie(identity.new_owner(), secure))]


def _with(send: "Send", headers: list[tuple[str, str]]) -> "Send":
    further = [(name.encode(), value.encode("latin-1")) for name, value in headers]

    async def sending(message: "Message") -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *further]}
        await send(message)

    return sending
