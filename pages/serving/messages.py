"""Filter of a browser's websocket messages: it allows fewer than Streamlit.

Streamlit's own menu can clear the caches of all users, and its first page can have files written
into the program's folder. Hand-written messages could do so without the menu.
"""

from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg

from bnmf_core.core import events

if TYPE_CHECKING:
    from starlette.types import Message, Receive

ALLOWED = ("rerun_script", "stop_script", "file_urls_request", "app_heartbeat")
OPERATION, OPERATIONS = "backend_operation_request", ("deferred_file", "dataframe_chunk")
PROTOCOL_ERROR = 1002


def allowed(receive: "Receive") -> "Receive":
    """Receive the messages that pages need; an invalid message ends the connection."""

    async def receiving() -> "Message":
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            try:
                request = BackMsg.FromString(message.get("bytes") or b"")
            except DecodeError:
                events.tell("refused", what="message", why="not one of Streamlit's")
                return {"type": "websocket.disconnect", "code": PROTOCOL_ERROR}
            kind = request.WhichOneof("type")
            if kind == OPERATION:
                kind = request.backend_operation_request.WhichOneof("payload")
            if kind in (*ALLOWED, *OPERATIONS):
                return message
            events.tell("refused", what="message", why=kind or "empty")

    return receiving
