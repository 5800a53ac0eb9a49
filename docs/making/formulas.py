"""Formulas as MathML, which browsers draw by themselves: no script, and nothing is fetched.

The font is STIX Two Math, so that they look the same everywhere.
"""

import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator

FONT = "STIXTwoMath-Regular.ttf"
# The converter sets the name of a function as close as a variable.
BEFORE, BEHIND = re.compile(r"(?<=[\w}])\s+\\log"), re.compile(r"\\log\s+(?!\()")


def as_mathml(latex: str, display: str) -> str:
    """One formula.

    Raises
    ------
    SphinxError
        Where it cannot be read, or part of it would be shown as it is written.
    """
    spaced = BEHIND.sub(r"\\log \\, ", BEFORE.sub(r" \\, \\log", latex))
    try:
        made: str = convert(spaced, display=display)
    except Exception as error:
        raise SphinxError(f"The formula {latex!r} cannot be read: {error}") from error
    if "\\" in made:
        raise SphinxError(f"A part of the formula {latex!r} is not known.")
    return made


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula in a sentence."""
    writer.body.append(as_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    writer.body.append(f'<div class="formula">{as_mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def copy_font(app: Sphinx) -> None:
    """Put the font beside the pages."""
    target = Path(app.outdir) / "_static" / FONT
    target.parent.mkdir(parents=True, exist_ok=True)
    with as_file(files("ziamath") / "fonts" / FONT) as font:
        shutil.copyfile(font, target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("builder-inited", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
