"""Pictures of pages, made by the app itself: ``python -m tests.browser.screenshots docs``.

A page is photographed with the runs that show best what it is for; which pages, is said by the
pictures that the folder holds.
"""

import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from PIL import Image

from bnmf_core import JobRunner, RunStore, load_sample, preset
from bnmf_core.runs.examples import EXAMPLES
from pages.frame import declared
from tests.browser.conftest import browser_page, running_server, settle

# Runs of which a page is shown where they are not those of the first example.
TWO_ANSWERS, TILES = "two_solutions", "ink"
SHOWN_WITH = {"coverage": TWO_ANSWERS, "scoreboard": TWO_ANSWERS, "boolean": TILES}
RANKS_OF = "signatures"
# Colours of a picture: enough for charts, and a small file.
COLOURS = 128
PATIENCE = 900_000


def pictured(folder: Path) -> list[declared.Page]:
    """The pages of which the folder has a picture, or all of them where it has none."""
    pages = declared.PAGES
    return [page for page in pages if (folder / f"{page.key}.png").exists()] or pages


def made(home: Path) -> dict[str, Sequence[str]]:
    """Runs that are needed beside the first example, by what they are of; their ids."""
    example = EXAMPLES[TWO_ANSWERS]
    dataset, ink = example.dataset(), load_sample(TILES)
    store = RunStore(home)
    with closing(JobRunner(store)) as runner:
        ids = {
            TWO_ANSWERS: runner.start(dataset, example.runs(dataset)),
            TILES: runner.start(ink, preset(ink, 10, kind="tiles").specs),
        }
        for run_ids in ids.values():
            runner.wait(run_ids)
    store.add_dataset(load_sample(RANKS_OF))
    return ids


def prepare(page, address: str) -> None:
    """What is computed in the background of pages that are shown: masses, scores, ranks."""
    page.goto(address)
    page.get_by_role("button", name="Analyse 1,797 digits").click()
    page.wait_for_url("**/overview**")
    page.goto(f"{address}/downstream")
    page.get_by_text("AUC of each class").first.wait_for(timeout=PATIENCE)
    page.goto(f"{address}/overview?part=modes")
    # What the pictures are for: the masses, with what they depend on.
    page.get_by_text("of the posterior mass of").first.wait_for(timeout=PATIENCE)
    page.get_by_text("Posterior mass by belief").first.wait_for(timeout=PATIENCE)


def compare_ranks(page, address: str, home: Path) -> None:
    """A study of ranks, so that the page Rank has something to show."""
    names = RunStore(home).datasets()
    (dataset_id,) = [key for key, name in names.items() if name == load_sample(RANKS_OF).name]
    page.goto(f"{address}/rank?data={dataset_id}")
    settle(page)
    page.get_by_role("button", name="Compare ranks").click()
    page.get_by_text("Flow of components").first.wait_for(timeout=PATIENCE)


def photograph(page, address: str, shown: declared.Page, runs: Sequence[str], file: Path) -> None:
    """Open a page, wait until it is whole, and keep its picture with few colours."""
    asked = f"?runs={','.join(runs)}" if runs else ""
    page.goto(f"{address}/{shown.address}{asked}")
    settle(page, 2500)
    if runs:  # what a comparison still computes is said in a line that goes away
        page.get_by_role("progressbar").first.wait_for(state="detached", timeout=PATIENCE)
        settle(page, 2500)
    page.screenshot(path=file)
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(COLOURS).save(file, optimize=True)


def main(folder: Path) -> None:
    """Run the examples and photograph each page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pictured(folder)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        ids = made(home) if SHOWN_WITH.keys() & {shown.key for shown in wanted} else {}
        with browser_page(height=1000) as page, running_server(home) as address:
            prepare(page, address)
            for shown in wanted:
                if shown.key == "rank":
                    compare_ranks(page, address, home)
                runs = ids.get(SHOWN_WITH.get(shown.key, ""), ())
                photograph(page, address, shown, runs, folder / f"{shown.key}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
