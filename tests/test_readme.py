"""The README's example prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_example_prints_what_is_written_below_it():
    blocks = re.findall(r"```(python)?\n(.*?)```", README.read_text(), re.DOTALL)
    position = next(i for i, (language, _) in enumerate(blocks) if language == "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks[position][1], {})
    assert printed.getvalue().strip() == blocks[position + 1][1].strip()
