"""Pictures of every page, made by the app itself: ``python -m tests.browser.screenshots docs``."""

import sys
import tempfile
from pathlib import Path

from pages.frame import declared
from tests.browser.conftest import browser_page, running_server, settle


def pictured(folder: Path) -> list[str]:
    """The pages of which the folder has a picture, or all of them where it has none."""
    keys = [page.key for page in declared.PAGES]
    return [key for key in keys if (folder / f"{key}.png").exists()] or keys


def main(folder: Path) -> None:
    """Run the faces example and photograph each page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        browser_page(height=1000) as page,
        running_server(Path(home)) as address,
    ):
        page.goto(address)
        page.get_by_role("button", name="Show me the modes of 400 faces").click()
        page.wait_for_url("**/modes**")
        page.goto(f"{address}/downstream")
        page.get_by_text("Held-out AUC of every").first.wait_for(timeout=120_000)
        for name in pictured(folder):
            page.goto(f"{address}/{name}")
            settle(page, 2500)
            page.screenshot(path=folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
