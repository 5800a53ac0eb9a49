"""Sessions as browsers have them, without the browsers: what is asked for, and all that is sent."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

PATIENCE = 120.0
# A browser shows that it can read this cookie; else the one of an account counts nothing.
XSRF = "_streamlit_xsrf"


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
                subprotocols=["streamlit", self.cookies.get(XSRF, "none")],
                max_size=None,
            )
        )

    def visit(self, page: str, **parameters: str) -> bytes:
        """Everything that the server sends for a page, as it comes over the line."""
        return self._answer(_asked(page, parameters))

    def ask(self, page: str, query: str) -> bytes:
        """What is sent for a page with a query that is written as it is."""
        asked = _asked(page, {})
        asked.rerun_script.query_string = query
        return self._answer(asked)

    def forge(self, page: str, kind: str, value: object, **parameters: str) -> bytes:
        """What is sent when every widget of the page that was visited last is told a value."""
        asked = _asked(page, parameters)
        for widget in dict.fromkeys(_ids(self._received)) or {"no_such_widget": None}:
            state = asked.rerun_script.widget_states.widgets.add(id=widget)
            if kind.endswith("_array_value"):
                getattr(state, kind).data.extend(value)
            elif kind == "string_trigger_value":
                state.string_trigger_value.data = str(value)
            else:
                setattr(state, kind, value)
        return self._answer(asked)

    @property
    def sent_to(self) -> list[str]:
        """Where the last answer sends the browser, to sign in."""
        return [
            message.auth_redirect.url for message in self._received if message.auth_redirect.url
        ]

    def send(self, message: BackMsg | bytes) -> None:
        """Send a message, or any bytes, and wait for no answer."""
        self._line.send(message if isinstance(message, bytes) else message.SerializeToString())

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


def _ids(messages: Iterable[ForwardMsg]) -> Iterator[str]:
    """The ids of the widgets that were sent."""
    for message in messages:
        element = message.delta.new_element
        if (kind := element.WhichOneof("type")) and hasattr(getattr(element, kind), "id"):
            yield str(getattr(element, kind).id)


def _asked(page: str, parameters: Mapping[str, str]) -> BackMsg:
    asked = BackMsg()
    asked.rerun_script.query_string = urlencode(parameters)
    asked.rerun_script.page_name = page
    return asked
