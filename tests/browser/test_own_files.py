"""From files to their findings in three minutes, as their owners would go."""

import time
from dataclasses import dataclass

import pytest

from benchmarks.harness import data_folder
from bnmf_core import RunStore
from tests.browser.conftest import running_server, settle

pytestmark = [pytest.mark.browser, pytest.mark.long]

# Seconds from the page Data to findings on modes, components and labels.
PATIENCE = 180.0


@dataclass(frozen=True)
class Walk:
    """A file with what lies beside it, what it must become, and what the page must say of it.

    shape : (D, N). said : on the page, before the data are taken. labelled : whether findings have
    to say something of a label. map_shape : of pixels that are observations.
    """

    file: str
    shape: tuple[int, int]
    said: str
    beside: tuple[str, ...] = ()
    labelled: bool = False
    map_shape: tuple[int, int] | None = None


WALKS = {
    "mutation spectra": Walk(
        "breast21_signatures/Samples_SBS.txt", (96, 21), "Is this right?", labelled=False
    ),
    "votes": Walk("congress_votes/house-votes-84.data", (16, 434), "Is this right?", labelled=True),
    "texts": Walk(
        "20newsgroups/20newsgroups-train.tab.gz",
        (5000, 11_293),
        "holds running text",
        labelled=True,
    ),
    "genes": Walk(
        "golub_all_aml/ALL_AML_data.txt",
        (5000, 38),
        "columns are the observations",
        ("golub_all_aml/ALL_AML_genes.txt", "golub_all_aml/ALL_AML_samples.txt"),
        labelled=True,
    ),
    "a cube of spectra": Walk(
        "jasper_ridge/jasperRidge2_R198.mat",
        (198, 10_000),
        "every pixel is an observation",
        map_shape=(100, 100),
    ),
}


@pytest.mark.parametrize("field", WALKS)
def test_from_a_file_to_its_findings(chromium, tmp_path, field, record_property):
    walk, folder = WALKS[field], data_folder()
    files = [folder / name for name in (walk.file, *walk.beside)]
    if missing := [file.name for file in files if not file.exists()]:
        pytest.skip(f"{missing} are not in {folder}; BNMF_DATA names the folder.")
    with chromium() as page, running_server(tmp_path) as address:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/data")
        began = time.monotonic()
        page.get_by_role("tab", name="Upload").click()
        page.locator('input[type="file"]').first.set_input_files(files[0])
        page.get_by_text("How it is read").wait_for()
        settle(page)
        if walk.beside:
            page.locator('input[type="file"]').nth(1).set_input_files(files[1:])
        page.get_by_text(walk.said).first.wait_for()
        settle(page)
        page.get_by_role("button", name="Take these data").click()
        page.get_by_role("link", name="Analyse these data").click()
        page.wait_for_url("**/run**")
        settle(page)
        page.get_by_test_id("stBaseButton-primary").filter(has_text="Analyse").click()
        page.wait_for_url("**/overview**")
        page.get_by_text("converged restarts").first.wait_for(timeout=1000 * PATIENCE)
        if walk.labelled:
            # With one mode there is nothing to choose, which is said of the label as well.
            of_label = page.get_by_text("the choice among").or_(page.get_by_text("one explanation"))
            of_label.first.wait_for(timeout=1000 * PATIENCE)
        took = time.monotonic() - began
        record_property("seconds", round(took, 1))
        print(f"{field}: {took:.0f} s")
        (entry,) = RunStore(tmp_path).dataset_entries()
        data = RunStore(tmp_path).dataset(entry.id)
        assert data.X.shape == walk.shape
        assert data.map_shape == walk.map_shape
        assert bool(data.labels) == walk.labelled
        assert took < PATIENCE
        assert errors == []
