"""``python -m docs.making [FOLDER]``: the whole site, or a sentence that says what is wrong."""

import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.making.sources import stage

HERE = Path(__file__).resolve().parent


def build(output: Path) -> int:
    """Make the site in a folder; a warning, such as a broken link, is an error. Returns 0 or 1."""
    with tempfile.TemporaryDirectory() as temporary:
        source, kept = Path(temporary) / "source", Path(temporary) / "kept"
        stage(source)
        settings = ["-c", str(HERE), "-D", f"html_static_path={HERE / 'static'}"]
        strict = ["--fail-on-warning", "--keep-going", "--fresh-env", "--quiet", "-j", "auto"]
        return build_main([*settings, *strict, "-d", str(kept), str(source), str(output)])


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    failed = build(folder)
    if not failed:
        print(f"The site is in {folder}/index.html.")
    sys.exit(failed)
