"""``python -m docs.making [FOLDER]``: the whole site, or a sentence that says what is wrong."""

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.making.sources import stage

# In every folder that Sphinx has made a site in.
MARK = ".buildinfo"
HERE = Path(__file__).resolve().parent


def build(output: Path) -> int:
    """Make the site in a folder; a warning, such as a broken link, is an error. Returns 0 or 1.

    A site that is there already makes way; anything else is left alone.
    """
    if output.is_dir() and any(output.iterdir()):
        if not (output / MARK).exists():
            sys.exit(f"{output} is not empty and holds no site; name another folder.")
        shutil.rmtree(output)
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
