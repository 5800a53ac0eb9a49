"""What a browser runs of a page before anything else: a script put into Streamlit's first HTML."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

SCRIPT = Path(__file__).with_name("first.js")
# Before the first of Streamlit's own.
PLACE = b'<script type="module"'
# With these a browser is told that it has the page already, or is sent it packed: then it could not
# be put in.
UNASKED = (b"if-none-match", b"if-modified-since", b"accept-encoding")


def is_page(scope: "Scope") -> bool:
    """Whether a browser asks for a page, rather than for a file or for what is on a page."""
    accepted = dict(scope["headers"]).get(b"accept", b"")
    asks = scope["method"] == "GET" and b"text/html" in accepted
    return asks and "/media/" not in scope["path"]


def whole(scope: "Scope") -> "Scope":
    """The same request, answered with the page itself."""
    kept = [(name, value) for name, value in scope["headers"] if name.lower() not in UNASKED]
    return {**scope, "headers": kept}


def with_script(send: "Send") -> "Send":
    """Send a page with the script in its place; what is no page of Streamlit's stays as it is."""
    held: list[Message] = []

    async def sending(message: "Message") -> None:
        held.append(message)
        if message["type"] == "http.response.start" or message.get("more_body"):
            return
        start, *parts = held
        body = b"".join(part.get("body", b"") for part in parts)
        changed = body.replace(PLACE, _script() + PLACE, 1)
        headers = [
            (name, str(len(changed)).encode() if name.lower() == b"content-length" else value)
            for name, value in start.get("headers", ())
        ]
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": changed})

    return sending


@cache
def _script() -> bytes:
    return b"<script>" + SCRIPT.read_bytes() + b"</script>"
