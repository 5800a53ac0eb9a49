"""Sessions as browsers have them, without the browsers: what is asked for, and all that is sent."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

PATIENCE = 120.0


@dataclass
class Visitor:
    """One browser tab.

    address : of the server. cookies : those that the browser has.

    Attributes
    ----------
    waited : seconds between asking for a page and its last part, of every visit.
    """

    address: str
    cookies: Mapping[str, str]
    waited: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        there = urlsplit(self.address)
        sent = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self._open = ExitStack()
        self._line = self._open.enter_context(
            connect(
                f"ws://{there.netloc}/_stcore/stream",
                additional_headers={"Cookie": sent},
                origin=self.address,
                subprotocols=["streamlit"],
                max_size=None,
            )
        )

    def visit(self, page: str, **parameters: str) -> bytes:
        """Everything that the server sends for a page, as it comes over the line."""
        return self._answer(_asked(page, parameters))

    def press(self, page: str, label: str, **parameters: str) -> bytes:
        """What is sent when a button is pressed on a page, which may lead to another one."""
        self.visit(page, **parameters)
        (pressed,) = (
            button.id
            for message in self._received
            if (button := message.delta.new_element.button).label == label
        )
        asked = _asked(page, parameters)
        asked.rerun_script.widget_states.widgets.add(id=pressed, trigger_value=True)
        return self._answer(asked)

    def _answer(self, asked: BackMsg) -> bytes:
        began, sent = time.perf_counter(), []
        self._received: list[ForwardMsg] = []
        self._line.send(asked.SerializeToString())
        while True:
            sent.append(self._line.recv(timeout=PATIENCE))
            told = ForwardMsg.FromString(sent[-1])
            self._received.append(told)
            ended = told.WhichOneof("type") == "script_finished"
            if ended and told.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self.waited.append(time.perf_counter() - began)
                return b"".join(sent)

    def close(self) -> None:
        """Close the tab."""
        self._open.close()


def _asked(page: str, parameters: Mapping[str, str]) -> BackMsg:
    asked = BackMsg()
    asked.rerun_script.query_string = urlencode(parameters)
    asked.rerun_script.page_name = page
    return asked
