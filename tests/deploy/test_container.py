"""The container's file: what it copies is enough for the app, what it starts is well.

No container is made here, as that needs an engine; its steps are taken one by one.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from bnmf_core.core.limits import read_limits
from pages.serving import identity
from tests.browser.conftest import ROOT, running_server
from tests.pages.visitors import Visitor

SHIPPED = (ROOT / "deploy" / "Containerfile").read_text()
LEFT_OUT = (ROOT / ".dockerignore").read_text().split()
# Of the machine on which a test runs, not of a clone.
ELSEWHERE = ("build", "dist", "*.egg-info")


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Path:
    """What ``COPY . .`` puts into the image."""
    top = [name for name in LEFT_OUT if "/" not in name]
    deep = [name.removeprefix("**/") for name in LEFT_OUT if "/" in name]
    root = tmp_path_factory.mktemp("image") / "srv"

    def ignored(folder: str, names: list[str]) -> set[str]:
        patterns = [*deep, *ELSEWHERE, *(top if Path(folder) == ROOT else ())]
        return shutil.ignore_patterns(*patterns)(folder, names)

    shutil.copytree(ROOT, root, ignore=ignored)
    return root


def test_it_takes_the_versions_of_the_lock_and_of_the_smallest_python():
    assert "-r requirements.txt -c requirements.lock" in SHIPPED
    least = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert f"FROM python:{least[1]}-slim" in SHIPPED
    assert sys.version_info >= tuple(map(int, least[1].split(".")))


def test_it_does_not_run_as_root_and_keeps_runs_in_a_volume():
    user, started = SHIPPED.index("USER bnmf"), SHIPPED.index("ENTRYPOINT")
    assert user < started and "USER root" not in SHIPPED
    home = re.search(r"BNMF_HOME=(\S+)", SHIPPED)[1]
    assert f"VOLUME {home}\n" in SHIPPED and f"--home-dir {home} " in SHIPPED


@pytest.mark.slow
def test_what_it_copies_and_starts_is_an_app_that_is_well(copied, tmp_path, monkeypatch):
    assert not (copied / "tests").exists() and (copied / "app.py").exists()
    limits = re.search(r"BNMF_LIMITS=/srv/bnmf/(\S+)", SHIPPED)[1]
    assert read_limits(copied / limits).disk > 0
    monkeypatch.setenv("BNMF_SHARED", "1")
    monkeypatch.setenv("BNMF_LIMITS", str(copied / limits))
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(copied))
    command = json.loads(re.search(r"ENTRYPOINT (\[.*\])", SHIPPED)[1])
    assert command[:3] == ["streamlit", "run", "app.py"]
    # The port is that of the test, and nobody outside of it is asked in.
    assert command[3:] == ["--server.port", "8501", "--server.address", "0.0.0.0"]
    checked = re.search(r"127\.0\.0\.1:8501(/\w+)", SHIPPED)[1]
    with running_server(tmp_path, root=copied) as address:
        with urlopen(f"{address}{checked}") as answer:
            assert json.load(answer)["well"]
        somebody = Visitor(address, {identity.COOKIE: identity.signed(identity.new_owner())})
        for page, said in (("", b"Analyse"), ("runs", b"Nothing has been run yet"), ("study", b"")):
            sent = somebody.visit(page)
            assert said in sent and b"Traceback" not in sent
        somebody.close()
