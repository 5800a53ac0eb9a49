"""Figures to touch: pages that hold some get the script that draws them, which lies beside them."""

import re
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs
from sphinx.application import Sphinx

from docs.making.atlas import figures

PLOTLY, DRAWING = "plotly.js", "figures.js"
HELD = re.compile(r'data-figure="([^"]+)"')


def _add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if names := HELD.findall(context.get("body", "")):
        for script in (PLOTLY, *(f"figures/{name}.js" for name in names), DRAWING):
            app.add_js_file(script)


def _write(app: Sphinx) -> None:
    """As scripts, which a browser loads from a folder too."""
    target = Path(app.outdir) / "_static"
    (target / "figures").mkdir(parents=True, exist_ok=True)
    (target / PLOTLY).write_text(get_plotlyjs(), "utf-8")
    for name, figure in figures().items():
        script = f'(window.figures ??= {{}})["{name}"] = {figure};\n'
        (target / "figures" / f"{name}.js").write_text(script, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _add_scripts)
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
