"""Figures to touch: pages that hold some get the script that draws them, which lies beside them."""

from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs
from sphinx.application import Sphinx

SCRIPTS = ("plotly.js", "figures.js")
HOLDS = 'class="figure-to-touch"'


def _add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if HOLDS in context.get("body", ""):
        for script in SCRIPTS:
            app.add_js_file(script)


def _write_plotly(app: Sphinx) -> None:
    target = Path(app.outdir) / "_static" / SCRIPTS[0]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(get_plotlyjs(), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _add_scripts)
    app.connect("builder-inited", _write_plotly)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
