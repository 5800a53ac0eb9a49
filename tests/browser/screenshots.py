"""Pictures of pages, made by the app itself: ``python -m tests.browser.screenshots docs``.

A page is photographed with the runs that show best what it is for; which pages, is said by the
pictures that the folder holds. A folder without pictures gets one of every page in each of two
fields, to be looked at: quickly, with the finished analyses that come with the program and a few
chains beside them.
"""

import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from PIL import Image
from playwright.sync_api import TimeoutError

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore, load_sample, preset
from bnmf_core.runs.examples import EXAMPLES
from bnmf_core.share import opening
from pages.frame import declared
from tests.browser.conftest import browser_page, running_server, settle

# Runs of which a page is shown where they are not those of the first example.
TWO_ANSWERS, TILES = "two_solutions", "ink"
SHOWN_WITH = {"coverage": TWO_ANSWERS, "scoreboard": TWO_ANSWERS, "boolean": TILES}
RANKS_OF = "signatures"
# Colours of a picture: enough for charts, and a small file.
COLOURS = 128
PATIENCE = 900_000


# What every page is looked at with, and the pages that show chains or compare them with restarts.
FIELDS = ("digits", "signatures")
OF_CHAINS = ("traces", "quality", "coverage", "scoreboard", "discrepancy")
CHAINS = {"chains": 4, "warm_up": 50}
DRAWS, TALL = 200, 1800
# How long a page is waited for that still computes something, in milliseconds.
GLANCE = 90_000


def pictured(folder: Path) -> list[declared.Page]:
    """The pages of which the folder has a picture."""
    return [page for page in declared.PAGES if (folder / f"{page.key}.png").exists()]


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
            runner.wait(run_ids, PATIENCE / 1000)
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
    page.get_by_text("Posterior mass by likelihood power").first.wait_for(timeout=PATIENCE)


def compare_ranks(page, address: str, home: Path) -> str:
    """A study of ranks, so that the page Rank has something to show; the id of its data."""
    names = RunStore(home).datasets()
    (dataset_id,) = [key for key, name in names.items() if name == load_sample(RANKS_OF).name]
    page.goto(f"{address}/rank?data={dataset_id}")
    settle(page)
    page.get_by_role("button", name="Compare ranks").click()
    page.get_by_text("Flow of components").first.wait_for(timeout=PATIENCE)
    return dataset_id


def in_fields(folder: Path) -> None:
    """Every page in each field: a folder a field, and as many pictures as there are pages."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        store = RunStore(home)
        finished = {
            field: opening.open_archive(store, EXAMPLES[field].finished).run_ids for field in FIELDS
        }
        ink = load_sample(TILES)
        with closing(JobRunner(store)) as runner:
            chains = {field: runner.start(*_chains(field)) for field in FIELDS}
            tiles = runner.start(ink, preset(ink, 10, kind="tiles").specs)
            for run_ids in (*chains.values(), tiles):
                runner.wait(run_ids, PATIENCE / 1000)
        with browser_page(height=TALL) as page, running_server(home) as address:
            for field in FIELDS:
                (folder / field).mkdir(exist_ok=True)
                for shown in declared.PAGES:
                    runs = [*finished[field], *(chains[field] if shown.key in OF_CHAINS else ())]
                    runs = tiles if shown.key == "boolean" else runs
                    if shown.key == "rank" and field == RANKS_OF:
                        compare_ranks(page, address, home)
                    file = folder / field / f"{shown.key}.png"
                    data = store.run(runs[0]).dataset
                    photograph(page, address, shown, runs, file, data, GLANCE)


def _chains(field: str) -> tuple[Dataset, list[RunSpec]]:
    """A few chains of a field's example."""
    example = EXAMPLES[field]
    spec = RunSpec("gibbs", example.rank, particles=DRAWS, settings=CHAINS)
    return example.dataset(), [spec]


def photograph(
    page,
    address: str,
    shown: declared.Page,
    runs: Sequence[str],
    file: Path,
    data: str = "",
    patience: int = PATIENCE,
) -> None:
    """Open a page, wait until it is whole, and keep its picture.

    ``runs``, ``data`` : that it is opened with, as far as its address holds them.
    """
    given = {"runs": ",".join(runs), "data": data}
    told = [key for key in given if given[key] and key in shown.parameters]
    asked = "&".join(f"{key}={given[key]}" for key in told)
    page.goto(f"{address}/{shown.address}?{asked}")
    settle(page, 2500)
    try:  # what a comparison still computes is said in a line that goes away
        page.get_by_role("progressbar").first.wait_for(state="detached", timeout=patience)
    except TimeoutError:  # the picture shows what is still awaited
        print(f"{file.name}: still computing after {patience / 1000:.0f} s")
    settle(page, 2500)
    page.screenshot(path=file)


def shrink(file: Path) -> None:
    """Keep a picture with few colours."""
    with Image.open(file) as picture:
        # Colours as far apart as they come: a dot keeps its own beside pictures of many greys.
        few = picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1)
        few.save(file, optimize=True)


def main(folder: Path) -> None:
    """Photograph the pages that ``folder`` has pictures of, or every one in two fields."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pictured(folder)
    if not wanted:
        in_fields(folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        ids = made(home) if SHOWN_WITH.keys() & {shown.key for shown in wanted} else {}
        with browser_page(height=1000) as page, running_server(home) as address:
            prepare(page, address)
            for shown in wanted:
                data = compare_ranks(page, address, home) if shown.key == "rank" else ""
                runs = ids.get(SHOWN_WITH.get(shown.key, ""), ())
                file = folder / f"{shown.key}.png"
                photograph(page, address, shown, runs, file, data)
                shrink(file)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
