"""No page asks anything of another host, whatever is in the data; names are shown as they are."""

from urllib.parse import urlsplit

import numpy as np
import pytest

from bnmf_core import Dataset
from pages.frame import declared
from pages.frame.words import JOINER
from tests.browser.conftest import finished_runs, running_server, settle

pytestmark = pytest.mark.browser

HOSTILE = (
    "![f](http://127.0.0.2/p.png) [x](http://127.0.0.2) http://127.0.0.2 www.ab.org a@b.org **b** "
    "~~d~~ `e` <img src=http://127.0.0.2/z> :material/home: :smile: :red[g] $h$ &lt; -> -- >="
)


def hostile_data() -> Dataset:
    """Data in which every name is hostile, and none too long to be kept whole."""
    assert len(HOSTILE) <= 190
    rng = np.random.default_rng(0)
    names = [f"{HOSTILE} {n}" for n in range(9)]
    labels = {HOSTILE: [f"{HOSTILE} one", f"{HOSTILE} two"] * 12}
    return Dataset.from_array(rng.random((9, 24)), name=HOSTILE, features=names, labels=labels)


def test_no_page_asks_another_host_and_names_are_shown_as_they_are(chromium, tmp_path):
    finished_runs(tmp_path, hostile_data(), [HOSTILE, HOSTILE])
    hosts = set()
    with chromium() as page, running_server(tmp_path) as address:
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        for declared_page in declared.PAGES:
            page.goto(f"{address}/{declared_page.address}")
            page.get_by_role("heading", level=1).first.wait_for()
            settle(page, 600)
            assert page.get_by_text("Page not found").count() == 0
            assert page.locator("a[href*='127.0.0.2'], a[href*='ab.org']").count() == 0
            assert page.locator("img[src*='127.0.0.2']").count() == 0
            assert hosts <= {urlsplit(address).netloc, ""}, declared_page.key
            if "runs" in declared_page.parameters:
                shown = page.locator("[data-testid=stCaptionContainer]").all_inner_texts()
                said = " ".join(" ".join(shown).replace(JOINER, "").split())
                none = page.get_by_text("None of these runs").count()
                assert HOSTILE in said or none, declared_page.key
