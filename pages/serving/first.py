"""A script in Streamlit's first HTML, which a browser runs before anything else."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

SCRIPT = Path(__file__).with_name("first.js")
# Inserted before Streamlit's first script.
PLACE = b'<script type="module"'
# With these headers a browser gets "not modified", or a compressed page, in which no script
# can be inserted.
UNASKED = (b"if-none-match", b"if-modified-since", b"accept-encoding")


def is_page(scope: "Scope") -> bool:
    """Whether a request is for a page, not for a file or the content of a page."""
    accepted = dict(scope["headers"]).get(b"accept", b"")
    asks = scope["method"] == "GET" and b"text/html" in accepted
    return asks and "/media/" not in scope["path"]


def whole(scope: "Scope") -> "Scope":
    """The same request without headers that allow caching or compression."""
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in UNASKED]
    return {**scope, "headers": headers}


def with_script(send: "Send") -> "Send":
    """Insert the script into a page of Streamlit; other answers stay as they are."""
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
