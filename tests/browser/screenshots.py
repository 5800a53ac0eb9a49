"""Pictures of every page, made by the app itself: ``python -m tests.browser.screenshots docs``."""

import sys
import tempfile
from pathlib import Path

from pages.frame import declared
from tests.browser.conftest import browser_page, running_server, settle


def pictured(folder: Path) -> list[declared.Page]:
    """The pages of which the folder has a picture, or all of them where it has none."""
    pages = declared.PAGES
    return [page for page in pages if (folder / f"{page.key}.png").exists()] or pages


def main(folder: Path) -> None:
    """Run the first example and photograph each page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        browser_page(height=1000) as page,
        running_server(Path(home)) as address,
    ):
        page.goto(address)
        page.get_by_role("button", name="Analyse 1,797 digits").click()
        page.wait_for_url("**/findings**")
        page.goto(f"{address}/downstream")
        page.get_by_text("How well labels kept").first.wait_for(timeout=120_000)
        page.goto(f"{address}/modes")
        # What the pictures are for: the masses, with what they depend on.
        page.get_by_text("of the posterior mass of").first.wait_for(timeout=600_000)
        page.get_by_text("Posterior mass by belief").first.wait_for(timeout=600_000)
        for shown in pictured(folder):
            page.goto(f"{address}/{shown.address}")
            settle(page, 2500)
            page.screenshot(path=folder / f"{shown.key}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
