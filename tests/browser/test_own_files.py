"""From files to their findings in three minutes, as their owners would go."""

import time
from dataclasses import dataclass

import pytest

from benchmarks.harness import data_folder
from tests.browser.conftest import running_server, settle

pytestmark = [pytest.mark.browser, pytest.mark.long]

# Seconds from the page Data to findings on modes, components and labels.
PATIENCE = 180.0


@dataclass(frozen=True)
class Walk:
    """A file, and whether findings have to say something of a label."""

    file: str
    labelled: bool = False


WALKS = {
    "mutation spectra": Walk("breast21_signatures/Samples_SBS.txt"),
    "votes": Walk("congress_votes/house-votes-84.data", labelled=True),
}


@pytest.mark.parametrize("field", WALKS)
def test_from_a_file_to_its_findings(chromium, tmp_path, field, record_property):
    walk, folder = WALKS[field], data_folder()
    file = folder / walk.file
    if not file.exists():
        pytest.skip(f"{file.name} is not in {folder}; BNMF_DATA names the folder.")
    with chromium() as page, running_server(tmp_path) as address:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/data")
        began = time.monotonic()
        page.get_by_role("tab", name="Upload").click()
        page.locator('input[type="file"]').first.set_input_files(file)
        page.get_by_text("How it is read").wait_for()
        settle(page)
        page.get_by_role("button", name="Take these data").click()
        page.get_by_role("link", name="Analyse these data").click()
        page.wait_for_url("**/run**")
        settle(page)
        page.get_by_test_id("stBaseButton-primary").filter(has_text="Analyse").click()
        page.wait_for_url("**/findings**")
        page.get_by_text("ended in").first.wait_for(timeout=1000 * PATIENCE)
        if walk.labelled:
            page.get_by_text("the choice among").first.wait_for(timeout=1000 * PATIENCE)
        took = time.monotonic() - began
        record_property("seconds", round(took, 1))
        print(f"{field}: {took:.0f} s")
        assert took < PATIENCE
        assert errors == []
