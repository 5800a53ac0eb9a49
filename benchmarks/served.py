"""The app's server, which also logs the time of each answer.

``python -m benchmarks.served run app.py …`` is ``streamlit run app.py …``. Every run of a script
becomes a line of JSON in the file that ``BNMF_ANSWERS`` names: when it ``began`` and ``ended``,
what ``processor`` time passed, in seconds, the ``bytes`` that it sends to the browser, and how many
bytes of the machine's memory are ``resident`` then (0 where the system does not say).
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.web.cli import main

ANSWERS = "BNMF_ANSWERS"


def resident() -> int:
    """Bytes of memory that this process holds."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def watch(file: Path) -> None:
    """Log every run of a script from now on."""
    run, send = ScriptRunner._run_script, ScriptRunner._enqueue_forward_msg
    sent: dict[int, int] = {}

    def timed(self: ScriptRunner, *arguments: Any) -> None:
        sent[id(self)] = 0
        began, used = time.time(), time.process_time()
        try:
            run(self, *arguments)
        finally:
            answer = {
                "began": began,
                "ended": time.time(),
                "processor": time.process_time() - used,
                "bytes": sent.pop(id(self)),
                "resident": resident(),
            }
            with file.open("a") as lines:
                lines.write(json.dumps(answer) + "\n")

    def counted(self: ScriptRunner, message: Any) -> None:
        if id(self) in sent:
            sent[id(self)] += message.ByteSize()
        send(self, message)

    ScriptRunner._run_script = timed  # type: ignore[method-assign]
    ScriptRunner._enqueue_forward_msg = counted  # type: ignore[method-assign]


if __name__ == "__main__":
    watch(Path(os.environ[ANSWERS]))
    main(prog_name="streamlit")
