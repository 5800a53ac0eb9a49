"""Two panes, each a page of its own: what is set in one is set in the other."""

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from pages.frame import beside, link, unseen

SCRIPT = Path(__file__).with_name("linking.js")
# Values of addresses that mean the same on both sides.
SAME = ("metric", "threshold", "part", "relevance", "label", "quantity")
# By its name here, by its name there, and what is said there when it is nothing here.
SHARED = [(name, name, None) for name in SAME] + [("focus", "there", beside.EVERYTHING)]


def address(page: str, runs: Sequence[str], others: Sequence[str], lettered: Sequence[str]) -> str:
    """Where a page of these runs is, without menus, that knows what stands beside it."""
    sides = {"runs": runs, "beside": others, "lettered": lettered}
    values = {name: ",".join(ids) for name, ids in sides.items()} | {"embed": "true"}
    values |= {"shown": shown} if (shown := link.get("shown")) else {}
    return f"/{page}?" + urlencode(values, safe=",")


def draw() -> None:
    """Link the panes that are on the page."""
    unseen.draw("linking", unseen.script(SCRIPT, {"SHARED": json.dumps(SHARED)}))
